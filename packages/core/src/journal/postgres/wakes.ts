/**
 * Hints between processes that a run has mail: NOTIFY and LISTEN on a connection of their own, because NOTIFY inside a
 * writing transaction makes all of them wait for each other.
 *
 *  W1  A wake is a hint (C7): it may be lost, doubled or late. Where LISTEN does not work, as behind pgbouncer in transaction
 *      mode, there are none, and readers poll.
 *  W2  At most one NOTIFY statement every 20 ms, with all runs that were announced meanwhile. The first goes out at once.
 *  W3  A process that posts and ends has sent its wakes: stop() sends what is left.
 */
import type { Clock, Timer } from '../../kernel/clock.ts'
import { systemKernel } from '../../kernel/kernel.ts'
import { openScope, type Scope } from '../../sync/scope.ts'
import type { PostgresAddress } from '../../store/postgres/address.ts'
import { Link } from '../../store/postgres/database-link.ts'

const notifyEvery = 20
const listenAgainAfter = 1_000

/** PostgreSQL limits a payload to 8,000 bytes, and a number of a run has at most 16 digits. */
const runsPerPayload = 400

function payloadsOf(runs: readonly number[]): string[] {
  const payloads: string[] = []
  for (let from = 0; from < runs.length; from += runsPerPayload) {
    payloads.push(runs.slice(from, from + runsPerPayload).join(' '))
  }
  return payloads
}

const readPayload = (payload: string): number[] => payload.split(' ').map(Number)

export class Wakes {
  readonly #link: Link
  readonly #clock: Clock
  readonly #channel: string
  #announced = new Set<number>()
  #onWake: ((runs: readonly number[]) => void) | undefined
  /** Sends what was announced. Never rejects. */
  #notifying: Promise<void> | undefined
  /** Ends the pause after a NOTIFY. */
  #endPause: (() => void) | undefined
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
        client.on('notification', ({ payload }) => {
          if (payload !== undefined) this.#onWake?.(readPayload(payload))
        })
        if (this.#onWake !== undefined) await client.query(this.#listening)
      },
      onLost: () => this.#listenLater(),
    })
  }

  /** Another process may wait for messages that were posted to this run. */
  announce(run: number): void {
    if (this.#isStopped) return
    this.#announced.add(run)
    this.#notifying ??= this.#notifyAll()
  }

  /** Calls back with runs that other processes have announced. A second call changes nothing. */
  listen(onWake: (runs: readonly number[]) => void): void {
    if (this.#onWake !== undefined || this.#isStopped) return
    this.#onWake = onWake
    this.#scope.launch(() => this.#connect())
  }

  /** W3. It waits for the connection as long as a call does. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#again?.cancel()
    this.#endPause?.()
    await this.#notifying
    this.#scope.cancel('the journal is stopped', { source: 'shutdown' })
    await this.#link.close()
    await this.#scope.join()
  }

  get #listening(): string {
    return `LISTEN ${this.#channel}`
  }

  async #notifyAll(): Promise<void> {
    while (this.#announced.size > 0) {
      const runs = [...this.#announced]
      this.#announced = new Set()
      await this.#notify(runs)
      if (!this.#isStopped) await this.#pause()
    }
    this.#notifying = undefined
  }

  async #notify(runs: readonly number[]): Promise<void> {
    const statement = 'SELECT pg_notify($1, payload) FROM unnest($2::text[]) payload'
    try {
      await this.#link.call('notify', statement, [this.#channel, payloadsOf(runs)])
    } catch {
      // W1: readers poll instead.
    }
  }

  async #pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#endPause = resolve
    const timer = this.#clock.setTimer(notifyEvery, resolve)
    await promise
    timer.cancel()
  }

  async #connect(): Promise<void> {
    try {
      await this.#link.call('listen', this.#listening)
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
    this.#again.unref?.()
  }
}
