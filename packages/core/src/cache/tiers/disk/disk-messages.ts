/** The messages between the loop and the thread of the disk tier: see sqlite/host-messages.ts for their envelopes. */
import type { ParentVersion } from '../../tier.ts'

/** Values up to this many bytes are rows of the database; larger ones are files beside it. */
export const maxRowBytes = 128 * 1024

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

export type DiskChange =
  | { readonly type: 'write'; readonly meta: WireMeta; readonly body: Uint8Array<ArrayBuffer> }
  | { readonly type: 'delete'; readonly key: string; readonly version: number }
  | { readonly type: 'clear' }

export type DiskQuestion =
  | { readonly type: 'read'; readonly key: string }
  | { readonly type: 'peek'; readonly key: string }
