import type { NodeRow } from '../model/run-model.ts'
import type { Symbols } from '../text/symbols.ts'

/** A gap of the event loop that is worth a line. */
export interface GapNotice {
  readonly ms: number
  /** Printable. */
  readonly blame: string
}

/** A node that does not run, and why. */
export interface WaitingNotice {
  readonly row: NodeRow
  /** The state at the time of the question: the node may have left it since. */
  readonly state: 'waiting' | 'ready'
  /** Printable. */
  readonly text: string
}

/** Everything a frame depends on besides the model and the user's choices. */
export interface Viewport {
  readonly columns: number
  readonly rows: number
  /** The time on the clock's monotonic scale. */
  readonly now: number
  /** Milliseconds until the run ends, where that is known; `Infinity` while a node waits for something without a known end. */
  readonly remaining: number | undefined
  /** What will start next. */
  readonly waiting: readonly WaitingNotice[]
  /** The longest gap of the event loop. */
  readonly gap: GapNotice | undefined
  /** The last message: for example the state of a cancel. */
  readonly notice: string | undefined
  /** How far the work is in its own words. */
  readonly progress?: string | undefined
  /** Whether the run can be resumed after its process has ended. */
  readonly canLeave?: boolean
  /** Whether keys are heard. */
  readonly keys: boolean
  readonly symbols: Symbols
}
