/**
 * The history of an acknowledged job: the rows that a run would have.
 *
 *   silent ── a retry, an error, a line of its log ──▶ told ── put back ──▶ left ── it runs again ──▶ told ──▶ ended
 *     └────────────────── its end ──────────────────▶ nothing was written
 *
 *  H1  A job that succeeds without a word has no rows but those of the store: its acknowledgement and its end.
 *  H2  With the first retry, error or line of its log it becomes a run of the journal, with all rows from its start on.
 *      `heddle runs show` prints it.
 *  H3  The store decides which jobs are open; the run only records. A row of it that cannot be written stops no job.
 *  H4  A run that an earlier process left is continued, and ended with its job.
 */
import { hostname } from 'node:os'
import { isError } from '@heddle/core'
import {
  describe,
  toErrorRecord,
  type Journal,
  type Kernel,
  type RunWriter,
} from '@heddle/core/lowlevel'
import { tenantLabel } from '../runs/run-tenants.ts'
import { nodesOf, type AcknowledgedWork } from './ledger.ts'
import type { ServedJob } from './served-job.ts'
import { Story, type StageRow } from './story.ts'

export interface JobHistoryOptions {
  readonly journal: Journal
  readonly kernel: Kernel
  readonly onProblem: (what: string, error: unknown) => void
}

/** Milliseconds for which a search for the left runs counts. */
const lookAgainAfter = 5_000

/** More were never open at a time: the queues are bounded. */
const mostLeft = 100_000

export class JobHistory {
  readonly #options: JobHistoryOptions
  /** Runs that jobs of this process have left. */
  readonly #left = new Set<string>()
  #earlier: Promise<ReadonlySet<string>> | undefined
  #lookedAt = -Infinity
  /** Rows on their way to the journal. */
  readonly #writing = new Set<Promise<unknown>>()

  constructor(options: JobHistoryOptions) {
    this.#options = options
  }

  /** @param isRecalled Whether rows of it may be there already. */
  of(id: string, served: ServedJob, work: AcknowledgedWork, isRecalled: boolean): History {
    const find = async (): Promise<RunWriter | undefined> => {
      const wasLeft = this.#left.delete(id) || (isRecalled && (await this.#interrupted()).has(id))
      return wasLeft ? this.#resume(id) : undefined
    }
    return new History({
      find,
      open: async () => (await find()) ?? this.#open(id, served, work),
      onLeft: () => void this.#left.add(id),
      onProblem: (error) =>
        this.#options.onProblem(
          `What happened to ${work.handle} could not be written`,
          describe(error),
        ),
      now: () => this.#options.kernel.clock.wallTime(),
      track: (writing) => this.#track(writing),
      hasItems: served.item !== undefined,
    })
  }

  /** Resolves when all earlier rows are written, or have failed. *Cancellation*: none: it waits for the journal. */
  async settled(): Promise<void> {
    while (this.#writing.size > 0) await Promise.allSettled(this.#writing)
  }

  #track(writing: Promise<unknown>): void {
    this.#writing.add(writing)
    const remove = (): void => void this.#writing.delete(writing)
    writing.then(remove, remove)
  }

  async #open(id: string, served: ServedJob, work: AcknowledgedWork): Promise<RunWriter> {
    const { journal, kernel } = this.#options
    const { handle, priority, tenant } = work
    const at = kernel.clock.wallTime()
    const writer = await journal.openRun({
      id,
      title: work.job,
      startedAt: at,
      ...holder(),
      options: { service: true, store: true, handle, priority, labels: tenantLabel(tenant) },
      nodes: nodesOf(served),
    })
    // H3: a reader of the run finds its input if it could be written.
    writer
      .commit({ node: 'input', state: 'succeeded', attempt: 0, at }, work)
      .catch(() => undefined)
    return writer
  }

  async #resume(id: string): Promise<RunWriter | undefined> {
    try {
      return await this.#options.journal.resumeRun(id, holder())
    } catch (error) {
      if (isError(error, 'HDL_UNKNOWN_RUN')) return undefined
      throw error
    }
  }

  /** One query for all that are recalled together. */
  #interrupted(): Promise<ReadonlySet<string>> {
    const { journal, kernel } = this.#options
    const now = kernel.clock.now()
    if (this.#earlier === undefined || now - this.#lookedAt >= lookAgainAfter) {
      this.#lookedAt = now
      this.#earlier = journal
        .runs({ state: 'interrupted', limit: mostLeft })
        .then((runs) => new Set(runs.map(({ id }) => id)))
    }
    return this.#earlier
  }
}

interface HistoryOptions {
  /** The run that an earlier process left, if there is one. */
  readonly find: () => Promise<RunWriter | undefined>
  readonly open: () => Promise<RunWriter>
  readonly onLeft: () => void
  readonly onProblem: (error: unknown) => void
  readonly now: () => number
  /** Tracks writes under way until they have settled. It does not reject. */
  readonly track: (writing: Promise<unknown>) => void
  readonly hasItems: boolean
}

/** The history of one acknowledgement. */
export class History {
  readonly #options: HistoryOptions
  readonly #story = new Story()
  /** Settled after all earlier rows. */
  #writing: Promise<RunWriter | undefined> | undefined

  constructor(options: HistoryOptions) {
    this.#options = options
  }

  write(row: StageRow): void {
    if (this.#writing !== undefined) return this.#then((writer) => this.#add(writer, row))
    this.#story.add(row)
    if (isNotable(row)) this.tell()
  }

  /** From here on it is a run of the journal (H2). */
  tell(): void {
    this.#writing ??= this.#options.open()
    for (const row of this.#story.rows()) this.#then((writer) => this.#add(writer, row))
  }

  putBack(): void {
    if (this.#writing === undefined) return
    this.#options.onLeft()
    this.#then((writer) => {
      writer.append({ node: 'prepare', state: 'waiting', attempt: 0, at: this.#options.now() })
      return this.#close(writer)
    })
  }

  end(how: 'finished' | 'cancelled', isRecalled: boolean): void {
    if (this.#writing === undefined) {
      if (!isRecalled) return
      // H4
      this.#writing = this.#options.find()
      this.tell()
    }
    this.#then((writer) => {
      writer.setState(how, this.#options.now())
      return this.#close(writer)
    })
  }

  async #close(writer: RunWriter): Promise<void> {
    await writer[Symbol.asyncDispose]()
  }

  #then(write: (writer: RunWriter) => Promise<void> | void): void {
    this.#writing = this.#writing!.then(
      async (writer) => {
        // H3: a row that cannot be written does not keep those behind it.
        try {
          if (writer !== undefined) await write(writer)
        } catch (error) {
          this.#options.onProblem(error)
        }
        return writer
      },
      (error: unknown) => {
        this.#options.onProblem(error)
        return undefined
      },
    )
    this.#options.track(this.#writing)
  }

  #add(writer: RunWriter, row: StageRow): void {
    if (row.kind === 'log') {
      const { node, attempt, at, text } = row
      writer.log({ node, attempt, at, text })
      return
    }
    const { kind: _kind, error, ...transition } = row
    writer.append({ ...transition, ...(error !== undefined && { error: toErrorRecord(error) }) })
    const isOver = row.state === 'failed' || row.state === 'cancelled'
    if (!isOver || row.node === 'items' || !this.#options.hasItems) return
    const { node: blockedBy, at } = row
    writer.append({ node: 'items', state: 'blocked', attempt: 0, at, blockedBy })
  }
}

/** H2: rows for which a run of the journal is made. */
function isNotable(row: StageRow): boolean {
  return row.kind === 'log' || row.error !== undefined || row.state === 'failed'
}

function holder(): { pid: number; host: string; command: string } {
  return { pid: process.pid, host: hostname(), command: 'heddle serve' }
}
