/**
 * Looks at something again and again: the one timer with a life of this package.
 *
 *   idle ── start ─▶ waiting ── its time, poke ─▶ looking ─▶ waiting …
 *                       └── stop ─▶ stopped (a check under way ends first)
 *
 * K1  One check at a time.
 * K2  A poke during a check is followed by another check.
 */
import {
  endsBefore,
  Life,
  type Clock,
  type ServiceState,
  type StopOptions,
  type Timer,
} from '@heddle/core/lowlevel'

export interface RepeatedLookOptions {
  /** What has this life, for errors. */
  readonly what: string
  readonly clock: Clock
  /** Milliseconds that stop() waits for a check under way. */
  readonly deadline: number
  /** Milliseconds until the first check. */
  readonly first: number
  /**
   * Resolves with the milliseconds until the next check; Infinity: until a poke. Never rejects.
   *
   * *Cancellation*: the signal: it is stopped.
   */
  readonly look: (signal: AbortSignal) => Promise<number>
  /** The work after the last check, with the rest of the deadline. */
  readonly end?: () => Promise<unknown>
}

export class RepeatedLook {
  readonly #options: RepeatedLookOptions
  readonly #life: Life
  #timer: Timer | undefined
  #looking: Promise<void> | undefined
  #isPoked = false
  /** Aborts when this life of it ends. */
  #stopped = new AbortController()

  constructor(options: RepeatedLookOptions) {
    this.#options = options
    const { what, clock, deadline, first } = options
    this.#life = new Life({
      what,
      clock,
      deadline,
      start: () => {
        this.#stopped = new AbortController()
        this.#wait(first)
      },
      stop: (enough) => this.#end(enough),
    })
  }

  start(): Promise<void> {
    return this.#life.start()
  }

  /** Waits for the check under way. *Cancellation*: at the deadline it is left alone; its signal has aborted. */
  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  stats(): { readonly state: ServiceState } {
    return { state: this.#life.state }
  }

  /** Looks soon: something has changed. */
  poke(): void {
    this.#isPoked = true
    if (this.#looking === undefined) this.#wait(0)
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
    this.#isPoked = false
    this.#looking = this.#options.look(this.#stopped.signal).then((delay) => {
      this.#looking = undefined
      this.#wait(this.#isPoked ? 0 : delay)
    })
  }

  async #end(enough: AbortSignal): Promise<void> {
    this.#stopped.abort()
    this.#timer?.cancel()
    this.#timer = undefined
    const { clock, end } = this.#options
    const looking = this.#looking ?? Promise.resolve()
    await endsBefore(enough, end === undefined ? looking : looking.then(end), clock)
  }
}
