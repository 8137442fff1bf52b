/** What the loop and the thread of the disk tier say to each other. */
import type { ErrorCode } from '../../../errors.ts'
import type { ParentVersion, TierEntry, TierMeta, TierStats } from '../../tier.ts'

/** Values up to this many bytes are rows of the database; larger ones are files beside it. */
export const maxRowBytes = 128 * 1024

/** Bytes of one large value on their way to the thread before it has written any of them. */
export const windowBytes = 4 * 2 ** 20

export interface DiskThreadData {
  readonly directory: string
  /** The name of the cache's own directory inside of it. */
  readonly name: string
  readonly maxBytes: number
  /** Whether a change survives power loss, not only the end of the process. */
  readonly durable: boolean
}

/** An entry without its bytes, as it crosses. */
export interface WireMeta {
  readonly key: string
  readonly version: number
  readonly createdAt: number
  readonly ttl: number
  readonly parent: ParentVersion | undefined
}

/** Changes that are complete: they go into the next commit. */
export type StoreRequest =
  | {
      readonly id: number
      readonly type: 'write'
      readonly meta: WireMeta
      readonly body: Uint8Array
    }
  | {
      readonly id: number
      readonly type: 'delete'
      readonly key: string
      readonly version: number
    }
  | { readonly id: number; readonly type: 'clear' }

/** A large value: begin, pieces, and end or abort. */
export type StreamRequest =
  | { readonly id: number; readonly type: 'begin'; readonly meta: WireMeta }
  | { readonly id: number; readonly type: 'piece'; readonly bytes: Uint8Array }
  | { readonly id: number; readonly type: 'end' }
  | { readonly id: number; readonly type: 'abort' }

export type LookRequest =
  | { readonly id: number; readonly type: 'read'; readonly key: string }
  | { readonly id: number; readonly type: 'peek'; readonly key: string }

export type DiskRequest =
  | StoreRequest
  | StreamRequest
  | LookRequest
  | { readonly id: number; readonly type: 'open' | 'close' }

/** One message to the thread. */
export interface DiskBatch {
  /** Milliseconds since 1970: the thread has no clock of its own. */
  readonly now: number
  readonly requests: readonly DiskRequest[]
}

export interface WireError {
  readonly code: ErrorCode
  readonly details: never
}

export type AnswerValue = number | boolean | TierEntry | TierMeta | undefined

export type DiskAnswer =
  | { readonly id: number; readonly value: AnswerValue }
  | { readonly id: number; readonly error: WireError }
  /** So many bytes of a large value have been written: as many may follow. */
  | { readonly id: number; readonly credit: number }

/** One message from the thread. */
export interface DiskAnswers {
  readonly answers: readonly DiskAnswer[]
  /** Absent while the store is not open. */
  readonly stats: TierStats | undefined
}
