/** Rows on their way to a database, in the form that every journal writes them in. */
import type { RunHolder } from './journal.ts'

/** One field of a row. */
export type Cell = number | string | null

/** Cells of a row: run, kind, node, state, attempt, at, detail. The position is counted. */
export const cellsPerRow = 7

/** A change of a run's own record. It is part of the batch that holds the row it comes with. */
export type RunChange =
  /** From here on readers see the run. */
  | { readonly type: 'open'; readonly run: number }
  | { readonly type: 'resume'; readonly run: number; readonly holder: RunHolder }
  | {
      readonly type: 'state'
      readonly run: number
      readonly state: number
      readonly endedAt: number | null
    }
  /** No process writes it any more. */
  | { readonly type: 'leave'; readonly run: number }
  /** A message was carried out; the rows it caused are in the same batch. */
  | { readonly type: 'taken'; readonly run: number; readonly mail: number }

/**
 * Rows that were added at about the same time.
 *
 * Flat arrays are the cheapest form in which they cross: docs/decisions/0091.
 */
export interface BatchWire {
  readonly batch: number
  readonly rows: readonly Cell[]
  /** In pairs: the number of a row in this batch, and the length of its result or the name of its file. */
  readonly results: readonly (number | string)[]
  /** Whether there is a result that is a file. */
  readonly hasFiles: boolean
  /** The results that are not files, one behind the other. */
  readonly bodies: Uint8Array<ArrayBuffer> | undefined
  readonly changes: readonly RunChange[]
}

/** Values of more bytes do not lie in a row: they are a file, or chunks. */
export const inlineLimit = 64 * 1024

/** A value as its row keeps it. */
export type StoredValue = { readonly body: Uint8Array<ArrayBuffer> } | { readonly file: string }
