/** The messages between the loop and the thread that hosts a SQLite file. */
import type { ErrorWire } from '../threads/error-wire.ts'

/** `role` is the number of the role in its file. A request is answered once, under its id. */
export type HostRequest =
  /** Opens the file. The first request to a thread; those behind it wait. */
  | { readonly id: number; readonly open: true }
  | { readonly id: number; readonly role: number; readonly ask: unknown }
  /** Goes into the next commit. */
  | { readonly id: number; readonly role: number; readonly change: unknown }
  /** A large value: begin, pieces, and end or abort. It becomes a change when it has ended. */
  | { readonly id: number; readonly role: number; readonly begin: unknown }
  | { readonly id: number; readonly piece: Uint8Array<ArrayBuffer> }
  | { readonly id: number; readonly end: true }
  | { readonly id: number; readonly abort: true }
  /** Commits earlier requests, then closes the file. */
  | { readonly id: number; readonly close: unknown }

export interface HostMessage {
  /** Milliseconds since 1970: the thread has no clock of its own. */
  readonly now: number
  readonly requests: readonly HostRequest[]
}

export type HostAnswer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: ErrorWire }
  /** This many bytes of a large value have been written: as many may follow. */
  | { readonly id: number; readonly credit: number }

export interface HostAnswers {
  readonly answers: readonly HostAnswer[]
  /** The file's report about itself, if any. */
  readonly report: unknown
}
