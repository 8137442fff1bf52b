/**
 * The life of the whole server.
 *
 *   accepting ── begin ─▶ draining ── all work ended, or the deadline ─▶ stopped
 *
 * D1. It is begun once; whoever begins it again waits for the same end, and of all deadlines the earliest counts.
 * D2. The door is closed in the step in which it begins.
 * D3. Nothing is left behind: no timer, and no listener on the signals of those who began it.
 */
import { HeddleError } from '@heddle/core'
import type { Clock, Timer } from '@heddle/core/lowlevel'
import type { JobService } from '../service/service.ts'

export type ServerState = 'accepting' | 'draining' | 'stopped'

export interface DrainOptions {
  /** Milliseconds for work that was admitted. The server's own when absent. */
  readonly deadline?: number | undefined
  /** Ends the waiting, as the deadline does. */
  readonly signal?: AbortSignal | undefined
}

export interface Drained {
  /** Whether all work ended by itself: what was acknowledged before the start too. */
  readonly isClean: boolean
  /** True when the store could not be written: what was done may be done again after the next start. */
  readonly isStoreFailed?: boolean
}

export interface DrainSettings {
  readonly deadline: number
  readonly clock: Clock
  /** In the step in which it begins. */
  readonly onBegin?: ((deadline: number) => void) | undefined
}

export class Drain {
  readonly #service: Pick<JobService, 'drain'>
  readonly #settings: DrainSettings
  readonly #ended = Promise.withResolvers<Drained>()
  readonly #stop = new AbortController()
  readonly #cleanup: (() => void)[] = []
  #state: ServerState = 'accepting'
  /** On the clock's scale. */
  #dueAt = Infinity
  #timer: Timer | undefined

  constructor(service: Pick<JobService, 'drain'>, settings: DrainSettings) {
    this.#service = service
    this.#settings = settings
    this.#cleanup.push(() => this.#timer?.cancel())
  }

  get state(): ServerState {
    return this.#state
  }

  /** Resolves when it is over, whoever began it. */
  get ended(): Promise<Drained> {
    return this.#ended.promise
  }

  /**
   * Closes the door and waits until all work has ended; at the deadline those who still wait are told
   * `HDL_DRAINING`.
   *
   * *Cancellation*: the signal counts as the deadline.
   */
  begin({ deadline = this.#settings.deadline, signal }: DrainOptions = {}): Promise<Drained> {
    if (this.#state === 'stopped') return this.ended
    this.#limit(deadline)
    if (signal !== undefined) this.#follow(signal)
    if (this.#state === 'accepting') void this.#drain(deadline)
    return this.ended
  }

  async #drain(deadline: number): Promise<void> {
    this.#state = 'draining'
    // The deadline is kept here, where it can become an earlier one.
    const drained = this.#service.drain(Infinity, this.#stop.signal)
    this.#settings.onBegin?.(deadline)
    const how = await drained
    this.#state = 'stopped'
    for (const undo of this.#cleanup.splice(0)) undo()
    this.#ended.resolve(how)
  }

  #limit(deadline: number): void {
    const { clock } = this.#settings
    const dueAt = clock.now() + deadline
    if (dueAt >= this.#dueAt) return
    this.#dueAt = dueAt
    this.#timer?.cancel()
    this.#timer = clock.setTimer(deadline, () =>
      this.#stop.abort(new HeddleError('HDL_DRAINING', { what: 'The server' })),
    )
  }

  #follow(signal: AbortSignal): void {
    const hurry = (): void => this.#limit(0)
    if (signal.aborted) return hurry()
    signal.addEventListener('abort', hurry, { once: true })
    this.#cleanup.push(() => signal.removeEventListener('abort', hurry))
  }
}
