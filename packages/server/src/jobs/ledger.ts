/**
 * What was acknowledged and is not done: the journal of the service.
 *
 * Work that was acknowledged with a handle is a run of the journal with two or three nodes: the input,
 * which has succeeded by then and whose value is the request, and the stages. A run that has not
 * ended is found at the next start, and its input is submitted again. So `heddle runs` shows what a
 * server was asked to do, how long it took and why it failed.
 *
 * Known limit: the journal keeps its history; nothing removes old runs yet.
 */
import { hostname } from 'node:os'
import { isError } from '@heddle/core'
import {
  newRunId,
  toErrorRecord,
  type Journal,
  type Kernel,
  type NodeHeader,
  type RunWriter,
} from '@heddle/core/lowlevel'
import type { ServedJob } from './served-job.ts'
import type { StageRow } from './story.ts'

export interface AcknowledgedWork {
  readonly job: string
  readonly handle: string
  readonly input: unknown
  /** Absent in rows that were written before there were tenants. */
  readonly tenant?: string | undefined
  readonly priority: number
  /** Of the job that the handle was made for. */
  readonly version: string
  /** What was stored does not count. */
  readonly force: boolean
}

/** Work of an earlier process that has not ended. */
export interface Unfinished {
  readonly runId: string
  readonly work: AcknowledgedWork
  /** How often it was gone on with, and the process ended without a word before it was done or put back. */
  readonly crashes: number
}

export type StageName = 'prepare' | 'items'

/** Work that is in the journal. */
export interface LedgerEntry {
  readonly runId: string
  /** A step of a stage, or a line that its job has logged. */
  write(row: StageRow): void
  /** It is about to be stopped, and is gone on with later: whatever happens next is not its fault. */
  putBack(): void
  /** The end: nothing is written after it. */
  end(how: 'finished' | 'cancelled'): void
}

/** Where a service writes what it has acknowledged: the journal of this file, or a store of several servers. */
export interface AcknowledgementLog extends Pick<Ledger, 'acknowledge' | 'unfinished' | 'resume'> {
  /** What was interrupted too often, of the shards of this server. Absent where the service itself sets aside. */
  setAside?(): readonly SetAsideWork[]
  /** Runs it again as if it had just been acknowledged. *Cancellation*: none. @throws `HDL_NOT_OWNER`. */
  retry?(handle: string): Promise<void>
  /** Ends it without a result. *Cancellation*: none. @throws `HDL_NOT_OWNER`. */
  endSetAside?(handle: string): Promise<void>
}

export interface SetAsideWork extends Pick<AcknowledgedWork, 'job' | 'handle' | 'tenant'> {
  readonly interruptions: number
}

/** Marks the runs of a service among others. */
const serviceOption = 'service'

export class Ledger {
  readonly #journal: Journal
  readonly #kernel: Kernel

  constructor(journal: Journal, kernel: Kernel) {
    this.#journal = journal
    this.#kernel = kernel
  }

  /**
   * Resolves when the work is durable.
   *
   * *Cancellation*: none: it waits for the disk and for nobody else.
   * @throws `HDL_STORE_FAILED`.
   */
  async acknowledge(served: ServedJob, work: AcknowledgedWork): Promise<LedgerEntry> {
    const now = this.#kernel.clock.wallTime()
    const writer = await this.#journal.openRun({
      id: newRunId(this.#kernel),
      title: work.job,
      startedAt: now,
      ...holder(),
      options: { [serviceOption]: true, handle: work.handle, priority: work.priority },
      nodes: nodesOf(served),
    })
    await writer.commit({ node: 'input', state: 'succeeded', attempt: 0, at: now }, work)
    return this.#entry(writer, served)
  }

  /** What was acknowledged before the last stop and is not done. Read before anything is acknowledged. */
  async unfinished(): Promise<readonly Unfinished[]> {
    const found: Unfinished[] = []
    for (const { id } of await this.#journal.runs({
      state: 'interrupted',
      limit: mostUnfinished,
    })) {
      const { options } = await this.#journal.snapshot(id)
      if (options[serviceOption] !== true) continue
      try {
        found.push({
          runId: id,
          work: (await this.#journal.valueOf(id, 'input')) as AcknowledgedWork,
          crashes: await this.#crashesOf(id),
        })
      } catch (error) {
        // It was killed before it was acknowledged: nobody was told.
        if (!isError(error, 'HDL_NO_RESULT')) throw error
      }
    }
    // Oldest first, as they came.
    return found.reverse()
  }

  async #crashesOf(id: string): Promise<number> {
    // Its own start is a row too.
    let crashes = -1
    for await (const row of this.#journal.history(id)) {
      if (row.kind === 'run' && row.by !== undefined) crashes++
      if (row.kind === 'node' && row.state === 'waiting') crashes = 0
    }
    return crashes
  }

  /** Goes on with work of an earlier process: before it is started, so that it is known if it ends this one too. */
  async resume(runId: string, served: ServedJob): Promise<LedgerEntry> {
    return this.#entry(await this.#journal.resumeRun(runId, holder()), served)
  }

  #entry(writer: RunWriter, served: ServedJob): LedgerEntry {
    const { clock } = this.#kernel
    return {
      runId: writer.runId,
      write: (row) => {
        if (row.kind === 'log') {
          const { node, attempt, at, text } = row
          writer.log({ node, attempt, at, text })
          return
        }
        const { kind: _kind, error, ...transition } = row
        writer.append({
          ...transition,
          ...(error !== undefined && { error: toErrorRecord(error) }),
        })
        const isOver = row.state === 'failed' || row.state === 'cancelled'
        if (!isOver || row.node === 'items' || served.item === undefined) return
        writer.append({
          node: 'items',
          state: 'blocked',
          attempt: 0,
          at: row.at,
          blockedBy: row.node,
        })
      },
      putBack: () =>
        writer.append({ node: 'prepare', state: 'waiting', attempt: 0, at: clock.wallTime() }),
      end: (how) => {
        writer.setState(how, clock.wallTime())
        // A journal that fails tells everyone who waits for it; nobody waits for an end.
        void Promise.resolve(writer[Symbol.asyncDispose]()).catch(() => undefined)
      },
    }
  }
}

/** The queues are bounded, so more were never acknowledged at a time. */
const mostUnfinished = 100_000

function holder(): { pid: number; host: string; command: string } {
  return { pid: process.pid, host: hostname(), command: 'heddle serve' }
}

function nodesOf(served: ServedJob): readonly NodeHeader[] {
  const { name, prepare, item } = served
  return [
    { name: 'input', job: name, place: 'loop', after: [] },
    { name: 'prepare', job: prepare.name, place: prepare.place, after: ['input'] },
    ...(item === undefined
      ? []
      : [{ name: 'items', job: item.name, place: item.place, after: ['prepare'] }]),
  ]
}
