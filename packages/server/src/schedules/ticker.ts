/**
 * Looks at what is due, when it is due.
 *
 *   idle ── start ─▶ waiting ── due, poke, time ─▶ looking ─▶ waiting …
 *                       └── stop ─▶ stopped (a look under way ends first)
 *
 *  K1  One look at a time.
 *  K2  A poke during a look is followed by another look.
 *  K3  A look that fails is logged once, and repeated: the store may come back.
 */
import {
  endsBefore,
  Life,
  type Clock,
  type ServiceState,
  type StopOptions,
  type Tables,
  type Timer,
} from '@heddle/core/lowlevel'

/** What is looked at. */
export interface Ticked {
  /** `now` is the time of the store. Gives the instant at which it wants to be looked at again. */
  look(now: number, signal: AbortSignal): Promise<number | undefined>
}

export interface TickerOptions {
  readonly parts: readonly Ticked[]
  readonly tables: Pick<Tables, 'now'>
  readonly clock: Clock
  readonly log: (level: 'info' | 'warning', text: string) => void
  /** Milliseconds between looks, when nothing is due: where other servers may change something. Infinity when absent. */
  readonly every?: number
  /** What is looked at, in words. Default `Schedules`. */
  readonly what?: string
}

/** Milliseconds after which a look that failed is repeated. */
const retryAfter = 5_000

export class Ticker {
  readonly #options: TickerOptions
  #timer: Timer | undefined
  #looking: Promise<void> | undefined
  #isPoked = false
  #isFailing = false
  /** Aborts when this life of it ends. */
  #stopped = new AbortController()
  readonly #life: Life

  constructor(options: TickerOptions) {
    this.#options = options
    this.#life = new Life({
      what: 'The ticker',
      clock: options.clock,
      deadline: 30_000,
      start: () => this.#begin(),
      stop: (enough) => this.#end(enough),
    })
  }

  start(): Promise<void> {
    return this.#life.start()
  }

  #begin(): void {
    this.#stopped = new AbortController()
    this.#wait(0)
  }

  /** Looks soon: something has changed. */
  poke(): void {
    this.#isPoked = true
    if (this.#looking === undefined) this.#wait(0)
  }

  /** Waits for the look under way. *Cancellation*: at the deadline it is left alone; its signal has aborted. */
  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  stats(): { readonly state: ServiceState } {
    return { state: this.#life.state }
  }

  async #end(enough: AbortSignal): Promise<void> {
    this.#stopped.abort()
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#looking !== undefined) {
      await endsBefore(enough, this.#looking, this.#options.clock)
    }
  }

  #wait(delay: number): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#life.state === 'stopped' || this.#stopped.signal.aborted) return
    if (delay === Infinity) return
    this.#timer = this.#options.clock.setTimer(delay, () => this.#lookNow())
  }

  #lookNow(): void {
    this.#timer = undefined
    if (this.#looking !== undefined) return
    const looking = this.#look().then((delay) => {
      this.#looking = undefined
      this.#wait(this.#isPoked ? 0 : delay)
    })
    this.#looking = looking
  }

  /** Gives the milliseconds until the next look. Does not throw. */
  async #look(): Promise<number> {
    this.#isPoked = false
    const { parts, tables, clock, log, every = Infinity, what = 'Schedules' } = this.#options
    const { signal } = this.#stopped
    try {
      const now = await tables.now()
      const began = clock.now()
      const wanted: number[] = []
      for (const part of parts) wanted.push((await part.look(now, signal)) ?? Infinity)
      this.#isFailing = false
      const passed = clock.now() - began
      return Math.max(0, Math.min(every, Math.min(...wanted) - now - passed))
    } catch (error) {
      if (!this.#isFailing) log('warning', `${what} cannot be looked at now: ${String(error)}`)
      this.#isFailing = true
      return retryAfter
    }
  }
}
