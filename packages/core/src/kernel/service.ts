/**
 * The life of a part: one state machine for everything that is started and stopped.
 *
 *   stopped ──start()──▶ starting ──▶ running ──stop()──▶ stopping ──▶ stopped
 *      ▲                    │ └─ stop() ────────────────────▲
 *      └── start failed ────┘
 *
 * A part without a start step runs from the moment it is made, and never again after its stop.
 *
 * Invariants, quoted by the tests and by `serviceConformance`:
 *  V1  The start step and the stop step never overlap. The stop step is called only after the start step has succeeded.
 *  V2  start() twice starts once. start() while the part stops starts it when it has stopped.
 *  V3  stop() before the start, during the start, twice, or after the stop is harmless. All callers wait for the same
 *      end.
 *  V4  The last of start() and stop() decides. A start() that a stop() overtook resolves: the part is not
 *      started then, and nothing has failed.
 *  V5  Of all deadlines and signals of the callers of stop(), the earliest counts.
 *  V6  After the stop no timer and no abort listener of it is left.
 */
import { cancelled, HeddleError } from '../errors.ts'
import { AbortCallback } from './abort.ts'
import { callAsync } from './call.ts'
import { checkOptions, type OptionNames } from './check.ts'
import type { Clock, Timer } from './clock.ts'
import { checkWait } from './waiters.ts'

export type ServiceState = 'stopped' | 'starting' | 'running' | 'stopping'

export interface StopOptions {
  /** Milliseconds for work under way; unfinished work is then cut off. The part's own default when absent. */
  readonly deadline?: number | undefined
  /** Its abort counts as the deadline. */
  readonly signal?: AbortSignal | undefined
}

/** A part that runs from the moment it is made until it is stopped. */
export interface RunningService {
  stop(options?: StopOptions): Promise<void>
  stats(): { readonly state: ServiceState }
}

/** A part with a life. It can be started again after it was stopped. */
export interface Service extends RunningService {
  start(): Promise<void>
}

export interface LifeOptions {
  /** The part, as errors name it. */
  readonly what: string
  readonly clock: Clock
  /** Milliseconds that stop() gives work under way when the caller sets no deadline. */
  readonly deadline: number
  /** Absent: the part runs already. The signal aborts when stop() is called before this has ended. */
  readonly start?: (signal: AbortSignal) => PromiseLike<void> | void
  /** Ends the work under way, and cuts off the rest when `enough` aborts. */
  readonly stop: (enough: AbortSignal) => PromiseLike<void> | void
}

const lifeOptionNames = {
  what: 1,
  clock: 1,
  deadline: 1,
  start: 1,
  stop: 1,
} satisfies OptionNames<LifeOptions>

/** Implements start() and stop() of a {@link Service} from its two steps. */
export class Life {
  readonly #options: LifeOptions
  #state: ServiceState
  /** The last of start() and stop(). */
  #wanted: boolean
  #starting = Promise.resolve()
  #stopping = Promise.resolve()
  #startSignal = new AbortController()
  #enough = new AbortController()
  /** The due time on the clock's scale. */
  #dueAt = Infinity
  #timer: Timer | undefined
  readonly #callers: AbortCallback[] = []

  constructor(options: LifeOptions) {
    checkOptions(options, lifeOptionNames)
    this.#options = options
    this.#wanted = options.start === undefined
    this.#state = this.#wanted ? 'running' : 'stopped'
  }

  get state(): ServiceState {
    return this.#state
  }

  /** Whether the part takes new work. */
  get isRunning(): boolean {
    return this.#state === 'running'
  }

  /** What callers get after stop(). */
  closed(): HeddleError<'HDL_CLOSED'> {
    return new HeddleError('HDL_CLOSED', { what: this.#options.what })
  }

  /**
   * Calls the start step, unless the part runs.
   *
   * *Cancellation*: by stop(): see V4.
   * @throws the error of the start step; the part is stopped then.
   */
  start(): Promise<void> {
    this.#wanted = true
    switch (this.#state) {
      case 'running':
        return Promise.resolve()
      case 'starting':
        // A stop() has overtaken it: the part starts again after that.
        if (this.#startSignal.signal.aborted) return this.#startAgain(this.#stopping)
        return this.#starting
      case 'stopping':
        return this.#startAgain(this.#stopping)
      case 'stopped':
        return this.#begin()
    }
  }

  async #startAgain(stopped: Promise<void>): Promise<void> {
    // Failures there are reported to the callers of stop().
    await Promise.allSettled([stopped])
    if (this.#wanted) await this.start()
  }

  #begin(): Promise<void> {
    this.#state = 'starting'
    this.#startSignal = new AbortController()
    const { signal } = this.#startSignal
    this.#starting = callAsync(() => this.#options.start!(signal)).then(
      () => {
        this.#state = 'running'
      },
      (error: unknown) => {
        this.#state = 'stopped'
        // Overtaken by stop(): that is not a failure (V4).
        if (!signal.aborted) throw error
      },
    )
    return this.#starting
  }

  /**
   * Calls the stop step, unless the part is stopped.
   *
   * *Cancellation*: deadline and signal end the waits of the part, not the stop itself.
   * @throws the error of the stop step; the part is stopped all the same. `HDL_BAD_OPTION`, `HDL_UNKNOWN_OPTION`.
   */
  stop(options: StopOptions = {}): Promise<void> {
    checkWait(options)
    const { deadline = this.#options.deadline, signal } = options
    this.#wanted = false
    if (this.#state === 'stopped') return this.#stopping
    this.#limit(deadline)
    if (signal !== undefined) this.#follow(signal)
    const isAsked = this.#state === 'stopping' || this.#startSignal.signal.aborted
    if (isAsked) return this.#stopping
    if (this.#state === 'starting') {
      const reason = 'it was stopped while it was starting'
      this.#startSignal.abort(cancelled(this.#options.what, reason, 'shutdown'))
      this.#stopping = this.#starting.then(() => this.#end())
    } else this.#stopping = this.#end()
    return this.#stopping
  }

  async #end(): Promise<void> {
    try {
      // A start that was overtaken and failed has left nothing to stop.
      if (this.#state !== 'running') return
      this.#state = 'stopping'
      await this.#options.stop(this.#enough.signal)
    } finally {
      this.#state = 'stopped'
      this.#timer?.cancel()
      for (const caller of this.#callers.splice(0)) caller[Symbol.dispose]()
      this.#timer = undefined
      this.#dueAt = Infinity
      this.#enough = new AbortController()
    }
  }

  /** V5. */
  #limit(deadline: number): void {
    const { clock, what } = this.#options
    const dueAt = clock.now() + deadline
    if (dueAt >= this.#dueAt) return
    this.#dueAt = dueAt
    this.#timer?.cancel()
    const cut = (): void =>
      this.#enough.abort(
        new HeddleError('HDL_TIMEOUT', { what: `Stopping ${what}`, limit: deadline }),
      )
    if (deadline === 0) cut()
    else this.#timer = clock.setTimer(deadline, cut)
  }

  #follow(signal: AbortSignal): void {
    if (signal.aborted) this.#limit(0)
    else this.#callers.push(new AbortCallback(signal, () => this.#limit(0)))
  }
}
