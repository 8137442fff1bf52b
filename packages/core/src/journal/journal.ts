import type { RunningService, ServiceState, StopOptions } from '../kernel/service.ts'
import type { ArtifactStore } from '../artifacts/artifact-store.ts'
import type { HeddleError } from '../errors.ts'
import type { PlaceName } from '../graph/job.ts'
import type { Redact } from '../graph/redact.ts'
import type { WaitOptions } from '../kernel/waiters.ts'
import type { RunState } from '../scheduler/events.ts'
import type { NodeState } from '../scheduler/node.ts'
import type { RunOutcome } from './run-outcome.ts'

/*
 * The durable record of runs: every transition of every node is a row, in the order in which it happened.
 * Several processes may write to one journal at the same time, each its own runs.
 *
 * A run in the journal:
 *
 *     openRun ──▶ running ──▶ finished | cancelled        written by setState
 *                 ▲  │               │
 *                 │  └─ writer gone ─┼─▶ interrupted      never written: a reader derives it for a run
 *                 │                  │        │           that has not ended and that no process holds
 *                 └──── resumeRun ───┴────────┘           unless everything in it has succeeded
 *
 * Invariants, quoted by the conformance suite, which every implementation runs:
 *  J1  The rows of a run are readable in the order in which they were added.
 *  J2  Durability is a prefix of each run: if a row survives a crash, so do all rows of its run before it.
 *  J3  commit() resolves only when its row is durable, as the journal's durability says.
 *  J4  A row is never changed. It is removed only together with its whole run; no run id is used twice.
 *  J5  At most one writer for each run, proven alive by a lock that the system or the database frees when it dies. A
 *      second one is refused with the holder's name; readers never are. A writer that has lost its run to
 *      another is refused in the transaction that writes.
 *  J6  A failed write is tried again for a while, and nothing behind it is acknowledged meanwhile. When it has not
 *      succeeded by then, every waiting caller gets its error, and all later writes fail too: there is never a gap in
 *      the history of a run.
 *  J7  The loop never waits for the disk and never encodes a large value in one go.
 *  J8  A key belongs to one run of the journal, until that run is removed: if two calls start a key at the same
 *      moment, one opens the run and the other is refused with its id.
 *  J9  Any process may send a message to a run. The process that writes the run receives it within a second or so,
 *      once: its removal is written together with the rows that it led to.
 *  J10 The guard of a success is closed when the value is encoded, before its row is written. A commit that it drops
 *      writes no row.
 *
 * Readers see durable rows. A row that happened cannot be refused, so append() always takes it;
 * a caller that adds rows without waiting for a commit waits for room from time to time (law 4). Log lines
 * are refused when there is no room, and the caller gets an error.
 *
 * Values are plain data, as the cache keeps them: anything else is refused with `HDL_NOT_CLONEABLE`,
 * and the row with it. So is a value that throws when it is read, and a large one that is changed before its
 * commit is over: the stored value existed as a whole (docs/decisions/0140).
 */

/** Says how much a crash may take. */
export type Durability =
  /** Acknowledged means fsynced: it survives power loss. The default. */
  | 'fsync'
  /** Acknowledged means handed to the operating system: it survives kill -9, not power loss. */
  | 'process'

/** A node as the journal knows it. */
export interface NodeHeader {
  readonly name: string
  readonly job: string
  readonly place: PlaceName
  readonly after: readonly string[]
  /** The fingerprint of its fixed input, to notice that it changed. */
  readonly input?: string
  /** The sub-graph that it belongs to. */
  readonly parent?: string
  /** Whether it stands for the elements of a list, or builds a graph. */
  readonly grows?: 'map' | 'subgraph'
  /** For a map: the options that decide its elements and its result, in words. */
  readonly map?: Readonly<Record<string, string>>
  /** It runs whatever the outcome of its dependencies. */
  readonly when?: 'always'
  /** The version of its job, where it has one. */
  readonly version?: string
  /** The redacted parts of its result. */
  readonly redact?: Redact
}

/** The data of a run that is known at its start. */
export interface RunHeader {
  /** Unique in all journals: see newRunId(). */
  readonly id: string
  /** A name that the caller has chosen for this piece of work: unique in its journal (J8). */
  readonly key?: string
  /** The title for people: the file or the program that was run. */
  readonly title: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly pid: number
  readonly host: string
  /** The command line, without secrets. */
  readonly command: string
  /** Limits of the run, as plain data. */
  readonly options: Readonly<Record<string, unknown>>
  readonly nodes: readonly NodeHeader[]
}

/** The process that runs a run. */
export type RunHolder = Pick<RunHeader, 'pid' | 'host' | 'command'>

/** An error as plain data. Very long messages and stacks are cut when they are written. */
export interface ErrorRecord {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
  readonly cause?: ErrorRecord
  /** For an error that stands for several, such as an AggregateError: the first of them. */
  readonly errors?: readonly ErrorRecord[]
}

/** One step in the life of a node. */
export interface Transition {
  readonly node: string
  readonly state: NodeState
  /** Counts from 0. */
  readonly attempt: number
  /** Milliseconds since 1970. */
  readonly at: number
  readonly error?: ErrorRecord
  /** Milliseconds until the next attempt, when retrying. */
  readonly delay?: number
  readonly blockedBy?: string
  /** On the first row of an attempt that was written after its input was made. */
  readonly input?: InputRecord
  /** It is not the node that moves but a part of it: an element of a map, or a step (docs/design/growing.md). */
  readonly part?: PartDetail
}

/** The input of an attempt, as it is shown to people: nothing is computed from it. */
export interface InputRecord {
  /** JSON text (recorded/json-value.ts), without the fields that `job({ redact })` names. */
  readonly text: string
  /** The text is only the beginning of the input. */
  readonly isCut?: true
}

/** The part of a node that a row concerns, and the data needed to resume it. */
export interface PartDetail {
  /**
   * `[12]`, `[key=page-7]`, `run:pay#0`, `key:order-7`, `sleep#0`, `wait:approval#0`. Empty: earlier rows are no longer
   * valid, failures when the state is `waiting`, everything when it is `skipped`.
   */
  readonly path: string
  /** The job of a step. */
  readonly job?: string
  /** The fingerprint of the input of a step, to notice that it changed. */
  readonly input?: string
  /** The version of the job of a step, where it has one. */
  readonly version?: string
  /** When a sleep or a wait ends, in milliseconds since 1970. */
  readonly until?: number
  /** For a wait for a signal: it has lost a race, and the job has continued without it. */
  readonly isLeft?: boolean
}

/** A row of a part as it is read back, with its result if requested. */
export interface PartEntry extends Transition {
  readonly position: number
  readonly part: PartDetail
  readonly value?: unknown
}

export interface LogLine {
  readonly node: string
  readonly attempt: number
  readonly at: number
  readonly text: string
}

/** One row of the history. `position` grows along each run and is never reused in it. */
export type HistoryEntry =
  | ({ readonly kind: 'node'; readonly position: number } & Transition)
  | ({ readonly kind: 'part' } & PartEntry)
  | ({ readonly kind: 'log'; readonly position: number } & LogLine)
  | {
      readonly kind: 'run'
      readonly position: number
      readonly at: number
      readonly state: RunState
      /** The process that runs it from here on: at its start and where it was resumed. */
      readonly by?: RunHolder
      /** At its end: see {@link RunSummary.elapsed}. */
      readonly elapsed?: number
    }
  | {
      /** The nodes of the header come first, before the run's first state. */
      readonly kind: 'nodes'
      readonly position: number
      readonly at: number
      readonly added: readonly NodeHeader[]
    }

/** How a run stands. `interrupted`: it has not ended, and the process that ran it is gone. */
export type JournaledState = RunState | 'interrupted'

export interface RunSummary {
  readonly id: string
  readonly key?: string
  readonly title: string
  readonly startedAt: number
  readonly endedAt?: number
  /**
   * Milliseconds in which a process ran it, without the time between an interruption and the resume: the one duration
   * of a run. A snapshot always has it, a list only of runs that have ended.
   */
  readonly elapsed?: number
  readonly state: JournaledState
  readonly pid: number
  readonly host: string
  readonly command: string
  /** How many nodes are in each state. */
  readonly counts: Readonly<Partial<Record<NodeState, number>>>
}

/** One node as it stood at some point of the history. */
export interface NodeSnapshot extends NodeHeader {
  readonly state: NodeState
  readonly attempt: number
  readonly readyAt?: number
  readonly startedAt?: number
  readonly endedAt?: number
  readonly blockedBy?: string
  /** Errors of all attempts, in order. */
  readonly errors: readonly ErrorRecord[]
  readonly hasValue: boolean
  /** How often the process has ended while it was running, since it last came to an end. None when absent. */
  readonly interruptions?: number
  /** How many of its parts have ended, where it has any. */
  readonly parts?: { readonly succeeded: number; readonly failed: number }
  /** The rows of its parts that stand come after this position. Absent where it never had any. */
  readonly partsFrom?: number
  /** The row that has the input of its last attempt. Absent where none was recorded. */
  readonly inputAt?: number
  /** Sleeps and waits for a signal that have begun and not ended: the first hundred, where it has any. */
  readonly waits?: readonly OpenWait[]
}

/** A sleep, or a wait for a signal, of a job that is suspended. */
export interface OpenWait {
  /** The part: see PartDetail. */
  readonly path: string
  /** The signal that ends it; a sleep has none. */
  readonly signal?: string
  /** When it ends by itself, in milliseconds since 1970. */
  readonly until?: number
}

export interface RunSnapshot extends RunSummary {
  readonly options: Readonly<Record<string, unknown>>
  readonly nodes: readonly NodeSnapshot[]
  /** The last row that was taken into account. */
  readonly position: number
}

/** A run in a list. */
export interface RunListEntry extends RunSummary {
  /** The labels of the run's options: how it was started, in words. */
  readonly labels: Readonly<Record<string, string>>
}

/** Which runs a page of a list holds. */
export interface RunListOptions {
  /** Only runs with one of these outcomes. All runs when absent. */
  readonly outcomes?: readonly RunOutcome[]
  /** A part of the id, the key or the title; case does not count. */
  readonly text?: string
  /** Runs whose labels have these values; undefined: runs without that label. */
  readonly labels?: Readonly<Record<string, string | undefined>>
  /** `next` of the page before. */
  readonly before?: number
  /** The page size, at most 1,000. */
  readonly limit: number
  /** How many runs are read. Default 10,000. */
  readonly most?: number
}

/** Some of the runs of a list, newest first. */
export interface RunListPage {
  readonly runs: readonly RunListEntry[]
  /** Where the next page begins; undefined when there is none. A page may be short and have a next one. */
  readonly next: number | undefined
}

/** A run without its nodes. */
export interface RunOverview extends RunSummary {
  readonly options: Readonly<Record<string, unknown>>
  /** Positions of the first and the last row. */
  readonly rows: readonly [first: number, last: number]
}

/** A message to the process that runs a run. */
export type RunMessage =
  | {
      readonly kind: 'cancel'
      /** The sender, for people. */
      readonly by: string
    }
  | {
      /** A message for `ctx.waitFor(name)`. It stays in the mailbox until a job takes it. */
      readonly kind: 'signal'
      readonly name: string
      /** Plain data. */
      readonly value: unknown
      readonly by: string
    }

/** A write has failed. */
export interface JournalTrouble {
  readonly error: HeddleError
  /** When true, the write is not tried again and every waiting caller gets the error. Otherwise it is tried again. */
  readonly isFinal: boolean
}

/** The notifications for the owner of a run. */
export interface WriterWatcher {
  /** Called when writes begin to fail, when they are given up, and with undefined when they succeed again. */
  onTrouble?(trouble: JournalTrouble | undefined): void
  /**
   * Rows that it adds before it returns are written together with the removal of a `cancel`. A `signal` stays in the
   * mailbox until {@link RunWriter.commit} is given its number: the removal is written together with that row.
   */
  onMessage?(message: RunMessage, mail: number): void
}

/** How long a failed write is tried again. Users of one file in a process write one queue: the longest of their times counts, and the shortest pause. */
export interface JournalRetry {
  /** Milliseconds from the first failure after which the journal fails. 0: it is not tried again. Default 30,000. */
  readonly for?: number
  /** Milliseconds between two tries. Default 500. */
  readonly every?: number
}

/** Which runs to remove. A run goes when one of the bounds says so. */
export interface PruneOptions {
  /** Those that ended before this time, in milliseconds since 1970. */
  readonly before?: number
  /** Keeps this many of the newest runs. */
  readonly keep?: number
  /** The oldest ones, until all that are left take no more bytes than this. */
  readonly maxBytes?: number
  /** Whether interrupted runs may be removed too; otherwise only ended ones. */
  readonly interrupted?: boolean
  /** Only says what would go. */
  readonly dryRun?: boolean
  /** Ends it after the current run; removed runs stay removed. */
  readonly signal?: AbortSignal
}

export interface PruneReport {
  /** The runs that were removed, or would be, newest first. */
  readonly runs: readonly RunSummary[]
  /** Bytes of their rows and results, about. */
  readonly bytes: number
  /** Outcomes of acknowledged jobs of that time, in the store at the same address. */
  readonly outcomes: number
}

/** Says whether a success that is on its way to the journal is still wanted. */
export interface CommitGuard {
  /** Looked at between two slices of a large value. True: the commit is dropped. */
  readonly cancelled: boolean
  /**
   * Called when the value is encoded, before anything can be read of the row: from here on the commit is not
   * dropped. It answers true again when a failed write is tried again. False: the commit is dropped.
   */
  close(): boolean
}

/** Writes one run. Made by {@link Journal.openRun} and {@link Journal.resumeRun}. */
export interface RunWriter extends AsyncDisposable {
  readonly runId: string
  /**
   * Adds a row without waiting. Its order is kept; it is durable no later than the next commit.
   * When the journal has failed it does nothing: the next commit or flush says so.
   * @throws `HDL_CLOSED`; `HDL_RUN_ENDED` after the run's end was written.
   */
  append(transition: Transition): void
  /**
   * Adds a row, with the node's result where it succeeded, and waits until it is durable.
   *
   * *Cancellation*: by the guard of a success, until its value is encoded (J10). Then none: a row that was added is
   * written. It fails when the journal fails (J6).
   * *Fairness*: rows become durable in order; those of one moment together.
   * @throws `HDL_NOT_CLONEABLE` for a value that is not plain data: no row is written, nothing else is
   * harmed. `HDL_CANCELLED` when the guard has dropped it: no row is written. `HDL_STORE_FAILED` when the journal
   * fails.
   * @param mail The number of the signal whose delivery this row records: it is removed from the mailbox together with it.
   */
  commit(transition: Transition, value?: unknown, guard?: CommitGuard, mail?: number): Promise<void>
  /** Adds a line of a node's log. False: there is no room, or the run has ended; it was not taken. */
  log(line: LogLine): boolean
  /** Nodes that were added after the start. */
  addNodes(nodes: readonly NodeHeader[]): void
  /** `elapsed`, with the last state: see {@link RunSummary.elapsed}. */
  setState(state: RunState, at: number, elapsed?: number): void
  /**
   * Waits until everything so far is durable.
   *
   * *Cancellation*: ends the wait; the rows are written all the same.
   * *Fairness*: in the order of the rows.
   */
  flush(options?: WaitOptions): Promise<void>
  /**
   * Waits until fewer rows are pending than the journal's bound: for callers that append many rows
   * without committing any.
   *
   * *Cancellation*: leaves nothing behind.
   * *Fairness*: every caller that waits is woken at once.
   */
  waitRoom(options?: WaitOptions): Promise<void>
  /** Reports failed writes and messages to this watcher from here on. There is one at a time. */
  watch(watcher: WriterWatcher): void
}

/**
 * A store of runs. Users may implement it; `journalConformance` from `@heddle/core/testing` says
 * whether they got it right.
 */
export interface Journal extends RunningService, AsyncDisposable {
  /** How to open it again: `sqlite:runs.db`, `memory`. */
  readonly address: string
  /** Files that jobs of its runs leave; removed with their run. Absent where there is no place for them. */
  readonly artifacts?: ArtifactStore
  /** @throws `HDL_RUN_EXISTS`; `HDL_KEY_TAKEN` with the run that has the key. */
  openRun(header: RunHeader): Promise<RunWriter>
  /**
   * Resumes a run that was interrupted, cancelled, or finished with failures.
   * @throws `HDL_UNKNOWN_RUN`; `HDL_RUN_ENDED` when all of its nodes have succeeded; `HDL_LOCKED` when
   * it is being written.
   */
  resumeRun(id: string, by: RunHolder): Promise<RunWriter>
  /** The runs, newest first. At most 1,000 when there is no limit. */
  runs(options?: {
    readonly state?: JournaledState
    /** Only the run that has this key. */
    readonly key?: string
    readonly limit?: number
  }): Promise<readonly RunSummary[]>
  /** A page of runs, newest first: costs the same however many runs there are. */
  list(options: RunListOptions): Promise<RunListPage>
  /**
   * Runs that have not ended and that no process holds, newest first, at most 1,000: cheap enough to ask every second. Absent
   * where one process writes at a time.
   */
  leftRuns?(): Promise<readonly string[]>
  /** How many runs have which outcome. */
  tally(): Promise<Readonly<Partial<Record<RunOutcome, number>>>>
  /**
   * A run without its nodes: costs the same however many it has.
   * @throws `HDL_UNKNOWN_RUN`.
   */
  overview(id: string): Promise<RunOverview>
  /**
   * A run as it stood after row `upTo`, or as it stands.
   * @throws `HDL_UNKNOWN_RUN`.
   */
  snapshot(id: string, options?: { readonly upTo?: number }): Promise<RunSnapshot>
  /** All rows of a run in order, from after row `from`. Reads a page at a time. */
  history(id: string, options?: { readonly from?: number }): AsyncIterable<HistoryEntry>
  /**
   * What a node returned.
   * @throws `HDL_NO_RESULT`, `HDL_UNKNOWN_RUN`.
   */
  valueOf(id: string, node: string): Promise<unknown>
  /**
   * What nodes returned, in the order in which they succeeded; of one that succeeded again the last
   * counts. Reads a page at a time: for many results it is far cheaper than asking for each.
   * @throws `HDL_UNKNOWN_RUN`.
   */
  results(id: string): AsyncIterable<readonly [node: string, value: unknown]>
  /**
   * The rows of the parts of a node in order, from after row `from`. Reads a page at a time.
   * @throws `HDL_UNKNOWN_RUN`.
   */
  parts(id: string, node: string, options?: PartsOptions): AsyncIterable<PartEntry>
  /**
   * Sends a message to a run. A signal to a run that was interrupted waits until it is resumed. Absent where that is not possible.
   * @throws `HDL_UNKNOWN_RUN`; `HDL_RUN_ENDED`.
   */
  post?(id: string, message: RunMessage): Promise<void>
  /**
   * Removes runs that no process writes, with their results and large values. Their keys are free afterwards, their
   * ids and positions are not used again. Absent where that is done by other means.
   *
   * *Cancellation*: by its signal, between two runs.
   * @throws `HDL_BAD_OPTION` when there is no bound.
   */
  prune?(options: PruneOptions): Promise<PruneReport>
  /**
   * Takes a run of another journal over, row by row. It is not visible before it is complete; one whose copy was cut off is
   * taken over from its beginning. When the process of that copy has died, it waits until the database knows. Absent where
   * runs cannot be copied to.
   *
   * *Cancellation*: the wait ends by its signal.
   * @throws `HDL_RUN_EXISTS`; `HDL_LOCKED` while another process copies it; `HDL_KEY_TAKEN` with the run that has the key.
   */
  restoreRun?(header: Omit<RunHeader, 'nodes'>, options?: RestoreOptions): Promise<RunRestorer>
  /**
   * Writes pending rows and releases the store. Calling it again is harmless. Runs that have not
   * ended are interrupted.
   *
   * *Cancellation*: at the deadline (60 s when absent) or by its signal it stops waiting for pending rows: callers that
   * wait for a row get an error.
   * @throws what made the journal fail, unless a writer has reported it already.
   */
  stop(options?: StopOptions): Promise<void>
  stats(): JournalStats
}

export interface RestoreOptions {
  /** Ends the wait for a copy whose process has died. */
  readonly signal?: AbortSignal | undefined
  /** Called when such a wait begins, with the longest time that it takes. */
  readonly onWait?: ((wait: CopyWait) => void) | undefined
}

/** A wait for the reservation of a copy that was cut off. */
export interface CopyWait {
  readonly run: string
  /** The process that has reserved the run, and has died. */
  readonly holder: Pick<RunHolder, 'pid' | 'host'>
  readonly milliseconds: number
}

/** Writes the rows of a run that another journal has recorded. Made by {@link Journal.restoreRun}. */
export interface RunRestorer extends AsyncDisposable {
  /**
   * Adds a row as it was recorded, with its time. `stored`: the result that came with it. Resolves when there is room for
   * more.
   */
  add(entry: HistoryEntry, stored?: { readonly value: unknown }): Promise<void>
  /** How many rows and results of the run are durable. */
  count(): Promise<CopiedRows>
  /** The run is complete: it is seen from here on. */
  finish(end: { readonly state: RunState; readonly endedAt?: number }): Promise<void>
}

export interface CopiedRows {
  readonly rows: number
  readonly results: number
}

export interface PartsOptions {
  readonly from?: number
  /** Whether values are read as well. Default true. */
  readonly values?: boolean
}

export interface JournalStats {
  readonly state: ServiceState
  /** Rows that were added and are not yet durable. */
  readonly pending: number
  /** Rows made durable since the journal was opened. */
  readonly rows: number
  /** Groups of rows that were made durable together. */
  readonly commits: number
  readonly failed: boolean
}
