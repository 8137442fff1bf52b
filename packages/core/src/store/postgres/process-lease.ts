/**
 * This process's lease on the runs and artifacts that it writes: one row for all of them.
 *
 * A lease says that the process is alive; the epoch of each run is what keeps a process that was silent from writing to
 * a run that another has taken. So a lease that has run out does no harm: the process continues where no other has taken
 * its run.
 */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { startBeat, type Beat } from '../../kernel/beat.ts'
import type { Link } from './database-link.ts'

/** Milliseconds, as for shards (C1). */
const ttl = 6_000
const renewEvery = 2_000

/** The process behind the `holder` of a lease. */
export function processOf(holder: string): { readonly pid: number; readonly host: string } {
  const [host = '', pid] = holder.split('/')
  return { pid: Number(pid), host }
}

export class ProcessLease {
  readonly holder = `${hostname()}/${process.pid}/${randomBytes(6).toString('hex')}`
  readonly #link: Link
  readonly #schema: string
  #beat: Beat | undefined
  #first: Promise<void> | undefined
  #isRenewing = false
  /** The last renewal. Never rejects. */
  #renewal = Promise.resolve()

  constructor(link: Link, schema: string) {
    this.#link = link
    this.#schema = schema
  }

  /** Resolves when the lease lasts. The first call starts renewing it. */
  async hold(): Promise<void> {
    this.#first ??= this.#start()
    try {
      await this.#first
    } catch (error) {
      this.#first = undefined
      throw error
    }
  }

  /** The runs that are still held are interrupted at once. Harmless twice, and before the start. */
  async release(): Promise<void> {
    if (this.#beat === undefined) return
    this.#beat.stop()
    this.#beat = undefined
    await this.#renewal
    // The lease runs out by itself when this fails.
    await this.#renew(0).catch(() => undefined)
  }

  async #start(): Promise<void> {
    await this.#renew(ttl)
    // Not a timer of the clock: a lease must not keep a process alive that has nothing left to do.
    this.#beat = startBeat(renewEvery, () => {
      if (!this.#isRenewing) this.#renewal = this.#renewAgain()
    })
  }

  async #renewAgain(): Promise<void> {
    this.#isRenewing = true
    // The database is away: the next beat tries again.
    await this.#renew(ttl).catch(() => undefined)
    this.#isRenewing = false
  }

  async #renew(milliseconds: number): Promise<void> {
    const statement = `SELECT ${this.#schema}.hold_1($1, $2)`
    await this.#link.call('hold its runs', statement, [this.holder, milliseconds])
  }
}
