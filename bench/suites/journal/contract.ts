/** The entrants of the rows of the journal: ours, the floor, and libraries that keep jobs. */

/**
 * What an acknowledged transition survives. Everyone is set to the nearest that it has:
 *
 * | | `fsync`: power loss | `process`: kill -9 of the program |
 * |---|---|---|
 * | ours, SQLite libraries | `synchronous=FULL` | `synchronous=NORMAL` |
 * | Redis | `appendfsync always` | `appendfsync everysec` |
 * | PostgreSQL | `synchronous_commit=on` | `synchronous_commit=off` |
 */
export type Durability = 'fsync' | 'process'

/** A step in the life of a node: ready, running, succeeded. */
export type Step = 0 | 1 | 2

/** Makes the steps of nodes durable. */
export interface Ledger extends AsyncDisposable {
  /** Resolves when the step is durable, and with it all earlier steps. */
  commit(node: string, step: Step): Promise<void>
  /** Does not wait: the step is durable with the next that is committed. */
  append(node: string, step: Step): void
}

/** Opens a ledger at the address of a journal, or in a file. */
export type OpenLedger = (at: string, durability: Durability) => Promise<Ledger>

/** The options with which a library that keeps jobs is opened. Jobs are numbers. */
export interface QueueOptions {
  readonly durability: Durability
  /** Jobs that may run at once. */
  readonly concurrency: number
  /** The job itself. The library calls it once for each, when the job is durably taken. */
  readonly run: (job: number) => void
  /** Called when it is durable that the job has succeeded. */
  readonly onDone: (job: number) => void
}

export interface JobQueue {
  /** Durable changes that the library makes in the life of one job. */
  readonly transitions: number
  /** Resolves when all of them are durably added. */
  add(jobs: readonly number[]): Promise<unknown>
}

export type OpenQueue = (options: QueueOptions) => Promise<JobQueue>
