/** The fleet of a server on a real store and the real clock, as the server puts it together. */
import { randomUUID } from 'node:crypto'
import { HeddleError, isError } from '@heddle/core'
import { Shards, systemKernel, type OpenStore, type StoreDatabase } from '@heddle/core/lowlevel'
import { openFleetRoom, type FleetRoom } from '../../src/fleet/fleet-room.ts'
import type { FleetJobs } from '../../src/fleet/fleet-jobs.ts'
import type { Lease } from '../../src/fleet/lease.ts'
import { nextCheck, until } from '../../../core/test/kernel/until.ts'
import { callOf } from './kit.ts'

const shardsOfAll = 256

export class StoreServer implements AsyncDisposable {
  readonly shards: Shards
  readonly room: FleetRoom
  readonly jobs: FleetJobs
  readonly #wire: Wire

  private constructor(store: StoreDatabase) {
    this.#wire = new Wire(store)
    this.shards = new Shards({
      server: `server-${randomUUID()}`,
      database: this.#wire.database,
      kernel: systemKernel,
    })
    this.room = openFleetRoom(
      {
        kernel: systemKernel,
        log: () => undefined,
        cluster: undefined,
        shards: this.shards,
        // The test closes it.
        store: store as OpenStore,
        artifacts: undefined,
        exported: undefined,
      },
      { isLazy: false, people: { refusedSince: async () => new Set<string>() } },
    )
    this.jobs = this.room.dispatch as FleetJobs
  }

  /** Resolves when it owns every shard, and has read them. */
  static async open(store: StoreDatabase): Promise<StoreServer> {
    const server = new StoreServer(store)
    await server.room.start()
    await until(() => server.shards.ownership.stats().shards === shardsOfAll)
    await server.room.campaigns.waitRead()
    await server.jobs.waitRead()
    return server
  }

  /** Simulates kill -9: nothing that it sends arrives any more. */
  kill(): void {
    this.#wire.cut('everything')
  }

  /** Simulates SIGSTOP: its lease runs out while its memory is intact. */
  freeze(): void {
    this.#wire.cut('renewals')
  }

  thaw(): void {
    this.#wire.mend()
  }

  /** Claims and accepts; asks again while the server is not sure of its shards. */
  async lease(worker: string, job = 'play'): Promise<Lease> {
    const { fleet } = this.room
    return insist(async () => {
      const answer = await fleet.claim({
        description: {
          id: worker,
          name: worker,
          threads: 1,
          memory: 1_000,
          capabilities: [],
          tags: [],
          system: 'linux-x64',
          jobs: [{ name: job, version: '1' }],
        },
        identity: { owner: 'ann', tenant: 'default', address: '10.0.0.1' },
        request: randomUUID(),
        wait: 0,
      })
      if (answer.kind === 'empty') throw new Error(answer.message)
      return fleet.accept(callOf(answer.lease))
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.room.stop()
    await this.shards.stop({ deadline: 0 })
  }
}

/** A database behind a line that can be cut. */
class Wire {
  readonly database: StoreDatabase
  #isCut: 'nothing' | 'renewals' | 'everything' = 'nothing'

  constructor(store: StoreDatabase) {
    this.database = new Proxy(store, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target)
        if (typeof value !== 'function' || typeof key === 'symbol') return value
        const call = value as (...given: unknown[]) => unknown
        return (...given: unknown[]) => this.#pass(key) ?? call.apply(target, given)
      },
    })
  }

  cut(what: 'renewals' | 'everything'): void {
    this.#isCut = what
  }

  mend(): void {
    this.#isCut = 'nothing'
  }

  #pass(name: string): Promise<never> | undefined {
    if (this.#isCut === 'nothing') return undefined
    if (this.#isCut === 'renewals' && name !== 'renew') return undefined
    const cause = 'the line is cut'
    return Promise.reject(
      new HeddleError('HDL_STORE_FAILED', { store: 'The database', action: name, cause }),
    )
  }
}

/** Retries like a worker, while the failure may pass. */
export async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (let checks = 1; ; checks++) {
    try {
      return await call()
    } catch (error) {
      const mayPass = isError(error, 'HDL_NOT_OWNER') || isError(error, 'HDL_STORE_FAILED')
      const isUnsure = error instanceof Error && error.message.includes('not sure of its shards')
      if (!mayPass && !isUnsure) throw error
      await nextCheck(checks)
    }
  }
}
