import { hostname } from 'node:os'
import { HeddleError } from '../errors.ts'
import type { Graph } from '../graph/graph.ts'
import type { Journal, RunWriter } from '../journal/journal.ts'
import { CleanupStack } from '../kernel/cleanup.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { openJournal } from '../journal/open.ts'
import { newRunId } from '../journal/run-id.ts'
import { headersOf } from './compare.ts'
import { Recorder } from './recorder.ts'
import { continueRun, findRun } from './resume.ts'

export interface JournalOptions {
  /** Where the run is recorded: `sqlite:runs.db`, `memory`, or a journal that the caller opened and closes. */
  readonly journal?: string | Journal
  /** Goes on with a run of the journal: its id, or `true` for the last with something left to do. */
  readonly resume?: string | boolean
  /** Resumes although the graph has changed. What stands unchanged is kept, the rest runs. */
  readonly allowChanges?: boolean
  /** What the run is called in lists. */
  readonly title?: string
}

/** A run's connection to its journal. */
export interface Session {
  readonly runId: string
  readonly recorder: Recorder
  /** Nodes that an earlier process finished, with their results. */
  readonly finished: ReadonlyMap<string, unknown>
  /** Makes everything durable and lets go of the journal. */
  close(): Promise<void>
}

/**
 * Opens the journal, and in it a new run or the one to go on with.
 *
 * When it fails nothing is left open, and the run in the journal is as it was.
 */
export async function openSession(
  graph: Graph,
  options: JournalOptions & { readonly limits: Readonly<Record<string, unknown>> },
  kernel: Kernel,
): Promise<Session> {
  const { journal: where, resume = false, allowChanges = false } = options
  if (where === undefined) {
    const expected = 'absent, or with the journal that holds the run'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'resume', value: resume, expected })
  }
  const { clock } = kernel
  await using opened = new CleanupStack()
  const journal =
    typeof where === 'string' ? opened.use(await openJournal(where, { kernel })) : where
  const by = { pid: process.pid, host: hostname(), command: process.argv.slice(1).join(' ') }
  const nodes = await headersOf(graph, clock)

  let writer: RunWriter
  let finished: ReadonlyMap<string, unknown> = new Map()
  if (resume === false) {
    const { title = 'run', limits } = options
    const startedAt = clock.wallTime()
    const header = { id: newRunId(kernel), title, startedAt, ...by, options: limits, nodes }
    writer = opened.use(await journal.openRun(header))
  } else {
    const run = await findRun(journal, resume)
    const from = await continueRun(journal, run, nodes, { allowChanges, clock })
    writer = opened.use(await journal.resumeRun(run.id, by))
    from.announce(writer)
    ;({ finished } = from)
  }
  const held = opened.move()
  return {
    runId: writer.runId,
    recorder: new Recorder(writer, clock),
    finished,
    close: async () => {
      // In one turn: the end of the run, and that nobody holds it any more, become durable together.
      const outcomes = await Promise.allSettled([writer.flush(), held[Symbol.asyncDispose]()])
      const lost = outcomes.find((each) => each.status === 'rejected')
      if (lost !== undefined) throw lost.reason
    },
  }
}
