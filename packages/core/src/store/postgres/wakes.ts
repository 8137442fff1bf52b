/**
 * Hints between servers that a shard has mail: NOTIFY and LISTEN on a connection of their own, because NOTIFY inside a
 * writing transaction makes all of them wait for each other.
 *
 *  W1  A wake is a hint (C7): it may be lost, doubled or late. Where LISTEN does not work, as behind pgbouncer in transaction
 *      mode, there are none, and readers poll.
 *  W2  At most one NOTIFY every 20 ms, with all shards that were announced meanwhile.
 */
import type { Clock, Timer } from '../../kernel/clock.ts'
import { systemKernel } from '../../kernel/kernel.ts'
import { openScope, type Scope } from '../../sync/scope.ts'
import type { PostgresAddress } from './address.ts'
import { Link } from './database-link.ts'

const notifyEvery = 20
const listenAgainAfter = 1_000

/** PostgreSQL limits a payload to 8,000 bytes: enough for every shard. */
const readPayload = (payload: string): number[] => payload.split(' ').map(Number)

export class Wakes {
  readonly #link: Link
  readonly #clock: Clock
  readonly #channel: string
  readonly #announced = new Set<number>()
  #onWake: ((shards: readonly number[]) => void) | undefined
  #timer: Timer | undefined
  #again: Timer | undefined
  #isStopped = false
  /** Calls under way. */
  readonly #scope: Scope

  constructor(address: PostgresAddress, clock: Clock) {
    this.#clock = clock
    this.#scope = openScope({ name: 'wakes', kernel: { ...systemKernel, clock } })
    this.#channel = `${address.schema}_wake`
    this.#link = new Link({
      address,
      clock,
      name: 'heddle wakes',
      prepare: async (client) => {
        if (this.#onWake === undefined) return
        client.on('notification', ({ payload }) => {
          if (payload !== undefined) this.#onWake?.(readPayload(payload))
        })
        await client.query(`LISTEN ${this.#channel}`)
      },
      onLost: () => this.#listenLater(),
    })
  }

  /** Another process may wait for messages posted to this shard. */
  announce(shard: number): void {
    if (this.#isStopped) return
    this.#announced.add(shard)
    this.#timer ??= this.#clock.setTimer(notifyEvery, () => {
      if (!this.#isStopped) this.#scope.launch(() => this.#notify())
    })
  }

  /** Call it once, before the first announce(). */
  listen(onWake: (shards: readonly number[]) => void): void {
    this.#onWake = onWake
    this.#scope.launch(() => this.#connect())
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#again?.cancel()
    this.#scope.cancel('the store is stopped', { source: 'shutdown' })
    await this.#link.close()
    await this.#scope.join()
  }

  async #notify(): Promise<void> {
    const payload = [...this.#announced].join(' ')
    this.#announced.clear()
    this.#timer = undefined
    try {
      await this.#link.call('notify', 'SELECT pg_notify($1, $2)', [this.#channel, payload])
    } catch {
      // W1: callers poll instead.
    }
  }

  async #connect(): Promise<void> {
    try {
      await this.#link.call('listen', 'SELECT 1')
    } catch {
      this.#listenLater()
    }
  }

  #listenLater(): void {
    if (this.#onWake === undefined || this.#isStopped) return
    this.#again?.cancel()
    this.#again = this.#clock.setTimer(listenAgainAfter, () => {
      if (!this.#isStopped) this.#scope.launch(() => this.#connect())
    })
  }
}
