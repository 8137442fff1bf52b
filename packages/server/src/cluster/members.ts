/**
 * Which server owns what: read from the store, because only the store knows.
 *
 *  M1  A shard is local while this server trusts its lease. Otherwise the owner is looked up, at most once in `readEvery`.
 *  M2  A server is reached at the address that it has written when it started.
 */
import { HeddleError } from '@heddle/core'
import {
  erase,
  shardOf,
  write,
  type Clock,
  type OpenStore,
  type Shards,
  type StoredRecord,
  type Table,
} from '@heddle/core/lowlevel'

interface ServerRecord extends StoredRecord {
  readonly address: string
  readonly startedAt: number
}

/** Shared: each server writes its own record. */
export const serverTable: Table<ServerRecord> = {
  name: 'cluster_server',
  columns: { address: 'text', startedAt: 'number' },
  indexes: [['startedAt']],
}

/** Milliseconds between two reads of the owners. */
const readEvery = 500

/** A server that was never stopped leaves its record. */
const recordAge = 30 * 86_400_000

export interface MembersOptions {
  readonly shards: Shards
  readonly database: OpenStore
  readonly clock: Clock
}

export class Members {
  readonly #options: MembersOptions
  #owners: readonly (string | undefined)[] = []
  readonly #addresses = new Map<string, string>()
  #readAt = -Infinity
  #reading: Promise<void> | undefined

  constructor(options: MembersOptions) {
    this.#options = options
  }

  /** *Cancellation*: none; it waits for the store. */
  async announce(address: string): Promise<void> {
    const { shards, database, clock } = this.#options
    const startedAt = clock.wallTime()
    await database.tables.removeBelow(serverTable, 'startedAt', startedAt - recordAge)
    await database.tables.change([write(serverTable, { id: shards.server, address, startedAt })])
  }

  /** *Cancellation*: none; it waits for the store. */
  async leave(): Promise<void> {
    const { shards, database } = this.#options
    await database.tables.change([erase(serverTable, shards.server)])
  }

  isLocal(handle: string): boolean {
    return this.#options.shards.ownership.trusts(shardOf(handle))
  }

  /**
   * The address of the server that owns the shard of a handle; undefined when it is this one.
   *
   * *Cancellation*: none; it waits for the store.
   * @throws `HDL_NOT_OWNER` when no server owns it, as during a take-over, or its owner cannot be reached.
   */
  async addressOf(handle: string): Promise<string | undefined> {
    if (this.isLocal(handle)) return undefined
    await this.#read()
    if (this.isLocal(handle)) return undefined
    const shard = shardOf(handle)
    const owner = this.#owners[shard]
    const address = owner === undefined ? undefined : this.#addresses.get(owner)
    if (owner === this.#options.shards.server || address === undefined) {
      throw new HeddleError('HDL_NOT_OWNER', { shard, retryAfter: readEvery })
    }
    return address
  }

  /**
   * Where the other servers that own shards are reached; `unknown` is how many have written no address.
   *
   * *Cancellation*: none; it waits for the store.
   */
  async others(): Promise<{ readonly addresses: readonly string[]; readonly unknown: number }> {
    await this.#read()
    const servers = new Set(this.#owners.filter((owner) => owner !== undefined))
    servers.delete(this.#options.shards.server)
    const addresses = [...servers].flatMap((server) => this.#addresses.get(server) ?? [])
    return { addresses, unknown: servers.size - addresses.length }
  }

  async #read(): Promise<void> {
    if (this.#options.clock.now() - this.#readAt < readEvery) return
    this.#reading ??= this.#readNow()
    try {
      await this.#reading
    } finally {
      this.#reading = undefined
    }
  }

  async #readNow(): Promise<void> {
    const { database, clock } = this.#options
    this.#owners = await database.owners()
    const unknown = new Set(this.#owners.filter((owner) => owner !== undefined))
    for (const owner of this.#addresses.keys()) unknown.delete(owner)
    for (const found of await database.tables.byIds(serverTable, [...unknown])) {
      if (found !== undefined) this.#addresses.set(found.id, found.address)
    }
    this.#readAt = clock.now()
  }
}
