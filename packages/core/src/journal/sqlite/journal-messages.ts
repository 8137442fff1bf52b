/** The messages between the loop and the threads of a journal: see sqlite/host-messages.ts for their envelopes. */
import type { ErrorWire } from '../../threads/error-wire.ts'
import type { BatchWire } from '../batch.ts'
import type {
  Durability,
  HistoryEntry,
  JournaledState,
  NodeSnapshot,
  PartEntry,
  RunHolder,
  RunListOptions,
  RunListPage,
  RunOverview,
  RunSnapshot,
  RunSummary,
} from '../journal.ts'
import type { PostedMessage, WantedMail } from '../mailbox.ts'
import type { RunOutcome } from '../run-outcome.ts'
import type { AgedRun } from '../prune.ts'

/** Takes a run for this session: a new one, which readers do not see yet, or one that no process holds. */
export type ClaimWire =
  | {
      readonly claim: 'new'
      readonly id: string
      readonly key: string | undefined
      readonly title: string
      readonly startedAt: number
      readonly holder: RunHolder
      readonly options: Uint8Array
    }
  | { readonly claim: 'held'; readonly id: string }

export type ClaimAnswer =
  | { readonly run: number }
  | { readonly refused: 'exists' | 'unknown' }
  /** Another run has the key. */
  | { readonly refused: 'key'; readonly by: string }
  | { readonly refused: 'held'; readonly holder: RunHolder }

/** A message to the process that runs a run. */
export interface PostWire {
  readonly post: 'cancel' | 'signal'
  readonly to: string
  readonly sender: string
  /** Only for a signal. */
  readonly name?: string
  readonly value?: Uint8Array<ArrayBuffer>
}

/** Whether it was posted. */
export type PostAnswer = 'posted' | 'unknown' | 'ended'

/** What goes into a transaction of the writing thread. */
export type WriterChange = BatchWire | ClaimWire | PostWire | PruneWire

/** The number of the commit that a batch was part of, with the runs that another process has taken, if any. */
export type BatchAnswer = number | { readonly commit: number; readonly lost: readonly number[] }

export type WriterAnswer = BatchAnswer | ClaimAnswer | PostAnswer | PruneAnswer

/** It could not be written, and is kept in the thread, to be tried again. */
export interface Stalled {
  readonly stalled: ErrorWire
}

/** A step of removing runs. Each is a transaction of a few milliseconds. */
export type PruneWire =
  /** Removes some rows of runs, one run after the other; a run is hidden first, and its record goes last. */
  | { readonly prune: 'rows'; readonly runs: readonly ChosenRun[] }
  /** Reads some outcomes of acknowledged jobs, those whose names come after one, and removes the older ones. */
  | {
      readonly prune: 'outcomes'
      readonly after: string
      readonly before: number
    }
  /** Gives free pages back to the file system. */
  | { readonly prune: 'pages' }

/** A run as it was when it was chosen: one that has got rows since then stays. */
export interface ChosenRun {
  readonly run: number
  /** The position of its last row, which grows with each resume; 0 without rows. */
  readonly last: number
}

/** Whether there is more of it to do. */
export interface PruneAnswer {
  readonly more: boolean
  /** Runs, from the first on, with which it is done. */
  readonly done?: number
  /** Those of them that stay: a process writes them, or has written them since they were chosen. */
  readonly kept?: readonly number[]
  /** Older outcomes, and the last one that was read. */
  readonly outcomes?: number
  readonly last?: string
}

export interface WriterData {
  readonly file: string
  readonly durability: Durability
  readonly pid: number
  /** The name of the lock that proves the session alive. */
  readonly lock: string
  /** Milliseconds since 1970: the thread has no clock of its own. */
  readonly openedAt: number
}

export type WriterQuestion =
  /** Finds a run by its id. */
  | { readonly type: 'find'; readonly run: string }
  /** Tries again to write rows that could not be written. */
  | { readonly type: 'retry' }
  /** Nothing is written any more. */
  | { readonly type: 'give up'; readonly error: ErrorWire }
  /** Messages for the runs of this session. */
  | { readonly type: 'mail'; readonly wanted: WantedMail }
  /** Removes large values that no row names. Answers with their bytes. */
  | { readonly type: 'sweep' }

export interface WriterAnswers {
  readonly find: FoundRun | undefined
  /** The answers for the kept rows, in order. */
  readonly retry: { readonly answers: readonly WriterAnswer[] } | Stalled
  readonly 'give up': undefined
  readonly mail: readonly PostedMessage[]
  readonly sweep: number
}

export interface Opened {
  readonly session: number
}

export interface FoundRun {
  readonly run: number
  readonly state: number
}

export interface ReaderData {
  readonly file: string
  readonly address: string
  /** The session of the writer in this process, if there is one. */
  readonly session: number | undefined
}

export type ReaderQuestion =
  | { readonly type: 'list'; readonly options: RunListOptions }
  | { readonly type: 'tally' }
  | { readonly type: 'overview'; readonly run: string }
  | {
      readonly type: 'runs'
      readonly state: JournaledState | undefined
      readonly key: string | undefined
      readonly limit: number
    }
  /** Whether a run is still there: `HDL_UNKNOWN_RUN` when it is not. */
  | { readonly type: 'check'; readonly run: string }
  | { readonly type: 'counts'; readonly run: string }
  | { readonly type: 'snapshot'; readonly run: string; readonly upTo: number }
  | { readonly type: 'nodes'; readonly snapshot: number }
  | { readonly type: 'history'; readonly run: string; readonly from: number }
  | { readonly type: 'value'; readonly run: string; readonly node: string }
  | { readonly type: 'results'; readonly run: string; readonly from: number }
  | {
      readonly type: 'parts'
      readonly run: string
      readonly node: string
      readonly from: number
      readonly values: boolean
    }
  /** Runs from before this one, newest first: what decides whether a prune removes them. */
  | { readonly type: 'ages'; readonly before: number }
  /** What runs take in the file and beside it, about. */
  | { readonly type: 'sizes'; readonly runs: readonly number[] }
  | { readonly type: 'summaries'; readonly runs: readonly number[] }
  /** How many outcomes of acknowledged jobs are older than this. */
  | { readonly type: 'outcomes'; readonly before: number }

/** A snapshot without its nodes, which follow page by page. */
export interface SnapshotHead {
  readonly snapshot: number
  readonly run: Omit<RunSnapshot, 'nodes' | 'options'>
  readonly options: Uint8Array<ArrayBuffer>
}

/** Bytes, or the name of the file that holds them. */
export type StoredResult = Uint8Array<ArrayBuffer> | string

export interface NodeResult {
  readonly position: number
  readonly node: string
  readonly value: StoredResult
}

/** A row of a part, with its result. */
export interface PartResult {
  readonly entry: PartEntry
  readonly value: StoredResult | undefined
}

export interface ReaderAnswers {
  readonly list: RunListPage
  readonly tally: Readonly<Partial<Record<RunOutcome, number>>>
  readonly overview: RunOverview
  readonly runs: readonly RunSummary[]
  readonly check: void
  readonly counts: RunSummary['counts']
  readonly snapshot: SnapshotHead
  /** Empty when there are no more. */
  readonly nodes: readonly NodeSnapshot[]
  /** Empty when there are no more. */
  readonly history: readonly HistoryEntry[]
  readonly value: StoredResult
  /** Empty when there are no more. */
  readonly results: readonly NodeResult[]
  /** Empty when there are no more. */
  readonly parts: readonly PartResult[]
  /** Empty when there are no more. */
  readonly ages: readonly RunAge[]
  readonly sizes: readonly number[]
  readonly summaries: readonly (RunSummary | undefined)[]
  readonly outcomes: number
}

export interface RunAge extends AgedRun, ChosenRun {
  /** It was being opened or removed when its process was killed: only its leftovers are there. */
  readonly isLeftOver: boolean
}
