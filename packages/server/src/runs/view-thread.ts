/** Answers about runs are made in a thread: those of a run of 100,000 nodes take seconds and megabytes. */
import { job } from '@heddle/core'
import { openJournal, systemKernel } from '@heddle/core/lowlevel'
import { RunViews, type ViewQuestion } from './run-views.ts'

export interface ThreadQuestion {
  /** Address of a journal that can be opened here. */
  readonly address: string
  readonly question: ViewQuestion
}

/** Kept by the thread for as long as it lives. */
const opened = new Map<string, Promise<RunViews>>()

async function open(address: string): Promise<RunViews> {
  const journal = await openJournal(address, { readOnly: true })
  return new RunViews(journal, systemKernel.clock)
}

export const viewJob = job(
  { name: 'run view', place: 'thread', module: import.meta.url },
  async ({ address, question }: ThreadQuestion): Promise<Uint8Array> => {
    let views = opened.get(address)
    if (views === undefined) {
      views = open(address)
      opened.set(address, views)
      // The next question tries again.
      views.catch(() => opened.delete(address))
    }
    return new TextEncoder().encode(await (await views).answer(question))
  },
)
