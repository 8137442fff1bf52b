import type { Resources } from '../capacity/resources.ts'
import type { Job } from '../graph/job.ts'
import type { HistoryEntry } from '../journal/journal.ts'
import type { VirtualClock } from '../kernel/virtual-clock.ts'

/** How a job ended, as its caller learns it. */
export interface JobEnd {
  readonly state: 'succeeded' | 'failed' | 'cancelled'
  readonly value?: unknown
  /** Why it failed, as text. */
  readonly message?: string
}

/** One job that was started. */
export interface StartedJob {
  /** Waits for its end without time passing. */
  ended(): Promise<JobEnd>
  cancel(): Promise<void> | void
  /** Its rows in the journal, in order: see {@link attemptRow}. */
  rows(): Promise<readonly string[]>
}

/** Something that runs jobs: graph runs, a server, a worker. Made for one case, on a clock of its own. */
export interface AttemptsDriver extends AsyncDisposable {
  readonly clock: VirtualClock
  /** Whether a job that succeeds without a word leaves no rows in the journal, as one that a server has acknowledged. */
  readonly isQuiet?: boolean
  /**
   * Waits until the events of jobs have reached the counters of attempts, and waiting attempts have started: for jobs
   * elsewhere.
   */
  arrived?(): Promise<void>
  /** Starts the jobs, in this order, with `null` as input. Called once. */
  start(): Promise<readonly StartedJob[]>
}

export interface OpenAttempts {
  /** The jobs, each with a different name. */
  readonly jobs: readonly Job[]
  /** How many of them run at a time. */
  readonly permits: number
  /** Named resources that they may need in addition. */
  readonly resources?: Resources
}

/** Makes a driver for one case. */
export type OpenAttemptsDriver = (wanted: OpenAttempts) => Promise<AttemptsDriver>

/** One row of a journal as the cases read it: `running 0`, `log 0 hello`, `failed 1 (no paper < no ink)`. */
export function attemptRow(row: HistoryEntry): string | undefined {
  if (row.kind === 'log') return `log ${row.attempt} ${row.text}`
  if (row.kind !== 'node') return undefined
  const messages: string[] = []
  for (let error = row.error; error !== undefined; error = error.cause) messages.push(error.message)
  const why = messages.length === 0 ? '' : ` (${messages.join(' < ')})`
  return `${row.state} ${row.attempt}${why}`
}
