/**
 * Checks at each due time, by the clock of the store.
 *
 * K3  A check that fails is logged once, and repeated: the store may come back.
 */
import type { Clock, ServiceState, StopOptions, Tables } from '@heddle/core/lowlevel'
import { RepeatedLook } from '../repeated-look.ts'

/** The object that is checked. */
export interface Ticked {
  /** `now` is the time of the store. Resolves with the instant of the next check. */
  look(now: number, signal: AbortSignal): Promise<number | undefined>
}

export interface TickerOptions {
  readonly parts: readonly Ticked[]
  readonly tables: Pick<Tables, 'now'>
  readonly clock: Clock
  readonly log: (level: 'info' | 'warning', text: string) => void
  /**
   * Milliseconds between checks, when nothing is due: where other servers may change something. Infinity when absent.
   */
  readonly every?: number
  /** The name of the checked object. Default `Schedules`. */
  readonly what?: string
}

/** Milliseconds after which a failed check is repeated. */
const retryAfter = 5_000

export class Ticker {
  readonly #options: TickerOptions
  readonly #looks: RepeatedLook
  #isFailing = false

  constructor(options: TickerOptions) {
    this.#options = options
    this.#looks = new RepeatedLook({
      what: 'The ticker',
      clock: options.clock,
      deadline: 30_000,
      first: 0,
      look: (signal) => this.#look(signal),
    })
  }

  start(): Promise<void> {
    return this.#looks.start()
  }

  /** Looks soon: something has changed. */
  poke(): void {
    this.#looks.poke()
  }

  /** See RepeatedLook.stop(). */
  stop(options: StopOptions = {}): Promise<void> {
    return this.#looks.stop(options)
  }

  stats(): { readonly state: ServiceState } {
    return this.#looks.stats()
  }

  /** Resolves with the milliseconds until the next check. Does not throw. */
  async #look(signal: AbortSignal): Promise<number> {
    const { parts, tables, clock, log, every = Infinity, what = 'Schedules' } = this.#options
    try {
      const now = await tables.now()
      const began = clock.now()
      const wanted: number[] = []
      for (const part of parts) wanted.push((await part.look(now, signal)) ?? Infinity)
      this.#isFailing = false
      const passed = clock.now() - began
      return Math.max(0, Math.min(every, Math.min(...wanted) - now - passed))
    } catch (error) {
      if (!this.#isFailing) log('warning', `${what} cannot be read now: ${String(error)}`)
      this.#isFailing = true
      return retryAfter
    }
  }
}
