/** What the loop and the threads of a journal exchange: see sqlite/messages.ts for what is around it. */
import type {
  Durability,
  HistoryEntry,
  JournaledState,
  NodeSnapshot,
  RunHolder,
  RunSnapshot,
  RunSummary,
} from '../journal.ts'

/** One field of a row. */
export type Cell = number | string | null

/** Cells of a row: run, kind, node, state, attempt, at, detail. The position is counted. */
export const cellsPerRow = 7

/** A change of a run's own record. It is part of the batch that holds the row it comes with. */
export type RunChange =
  | {
      readonly type: 'open'
      readonly run: number
      readonly id: string
      readonly title: string
      readonly startedAt: number
      readonly holder: RunHolder
      readonly options: Uint8Array
    }
  | { readonly type: 'resume'; readonly run: number; readonly holder: RunHolder }
  | {
      readonly type: 'state'
      readonly run: number
      readonly state: number
      readonly endedAt: number | null
    }
  /** Nobody writes it any more. */
  | { readonly type: 'leave'; readonly run: number }

/**
 * Rows that were handed in at about the same time.
 *
 * Flat arrays are the cheapest form in which they cross: docs/decisions/0091.
 */
export interface BatchWire {
  readonly batch: number
  /** Position of the first row. */
  readonly first: number
  readonly rows: readonly Cell[]
  /** In pairs: the number of a row in this batch, and the length of its result or the name of its file. */
  readonly results: readonly (number | string)[]
  /** Whether there is a result that is a file. */
  readonly hasFiles: boolean
  /** The results that are not files, one behind the other. */
  readonly bodies: Uint8Array<ArrayBuffer> | undefined
  readonly changes: readonly RunChange[]
}

export interface WriterData {
  readonly file: string
  readonly durability: Durability
  readonly pid: number
  /** Milliseconds since 1970: the thread has no clock of its own. */
  readonly openedAt: number
}

/** Finds a run by its id. */
export interface WriterQuestion {
  readonly run: string
}

export interface Opened {
  readonly session: number
  /** The last position and the last run that were ever used. */
  readonly position: number
  readonly run: number
}

export interface FoundRun {
  readonly run: number
  readonly state: number
}

export interface ReaderData {
  readonly file: string
  readonly address: string
  /** The session of the writer in this process, if there is one: then nobody else can write. */
  readonly session: number | undefined
}

export type ReaderQuestion =
  | {
      readonly type: 'runs'
      readonly state: JournaledState | undefined
      readonly limit: number
    }
  | { readonly type: 'counts'; readonly run: string }
  | { readonly type: 'snapshot'; readonly run: string; readonly upTo: number }
  | { readonly type: 'nodes'; readonly snapshot: number }
  | { readonly type: 'history'; readonly run: string; readonly from: number }
  | { readonly type: 'value'; readonly run: string; readonly node: string }
  | { readonly type: 'results'; readonly run: string; readonly from: number }

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

export interface ReaderAnswers {
  readonly runs: readonly RunSummary[]
  readonly counts: RunSummary['counts']
  readonly snapshot: SnapshotHead
  /** Empty when there are no more. */
  readonly nodes: readonly NodeSnapshot[]
  /** Empty when there are no more. */
  readonly history: readonly HistoryEntry[]
  readonly value: StoredResult
  /** Empty when there are no more. */
  readonly results: readonly NodeResult[]
}
