/** What the loop and the thread of a store in a file exchange. */
import type { Grant, ServerId, SessionId, ShardBatch } from '../database.ts'
import type { StoreRow } from '../roles.ts'
import type { AnyQuery, AnyTable, TableChange } from '../tables.ts'

/** Goes into a transaction with the other waiting changes. */
export type StoreChange =
  | { readonly type: 'declare'; readonly tables: readonly AnyTable[] }
  | { readonly type: 'open session'; readonly session: SessionId }
  | { readonly type: 'renew'; readonly server: ServerId; readonly ttl: number }
  | { readonly type: 'acquire'; readonly server: ServerId; readonly most: number }
  | { readonly type: 'release'; readonly server: ServerId; readonly grants: readonly Grant[] }
  | {
      readonly type: 'commit'
      readonly session: SessionId
      readonly number: number
      readonly batches: readonly ShardBatch<StoreRow>[]
      /** The tables that rows name, as this version declares them. */
      readonly tables: readonly AnyTable[]
    }
  | { readonly type: 'fence'; readonly session: SessionId }
  | {
      readonly type: 'change'
      readonly changes: readonly TableChange[]
      readonly tables: readonly AnyTable[]
    }
  | {
      readonly type: 'remove below'
      readonly table: AnyTable
      readonly by: string
      readonly below: number
      readonly limit: number
    }

export type StoreQuestion =
  | { readonly type: 'open jobs'; readonly shards: readonly number[] }
  | { readonly type: 'family outcomes'; readonly word: string }
  | { readonly type: 'owners' }
  | { readonly type: 'by ids'; readonly table: AnyTable; readonly ids: readonly string[] }
  | { readonly type: 'of shards'; readonly table: AnyTable; readonly shards: readonly number[] }
  | { readonly type: 'list'; readonly table: AnyTable; readonly query: AnyQuery }
