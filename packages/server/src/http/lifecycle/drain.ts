/**
 * The life of the whole server.
 *
 *   accepting ── begin ─▶ draining ── all work ended, or the deadline ─▶ stopped
 *
 * D1. It is begun once; a second call waits for the same end, and the earliest of all deadlines counts.
 * D2. The door is closed in the step in which it begins.
 * D3. Nothing is left behind: no timer, and no listener on the signals of its callers.
 *
 * D1 and D3 are those of every part with a life: see `Life` in core.
 */
import {
  Life,
  checkOptions,
  type Clock,
  type OptionNames,
  type ServiceState,
  type StopOptions,
} from '@heddle/core/lowlevel'
import type { Drained, Room } from '../room.ts'

export type ServerState = 'accepting' | 'draining' | 'stopped'

/** The deadline is for work that was admitted: that of the server when absent. */
export interface DrainOptions extends StopOptions {
  /**
   * The process ends by an error that was not caught: jobs that run count as interrupted, and after three times they are set
   * aside. Default false: what a drain cuts off is run again as if it had never begun.
   */
  readonly isCrash?: boolean | undefined
}

export type { Drained }

const drainOptionNames = { deadline: 1, signal: 1, isCrash: 1 } satisfies OptionNames<DrainOptions>

export interface DrainSettings {
  readonly deadline: number
  readonly clock: Clock
  /** Before anything is cut off. */
  readonly onCrash?: (() => void) | undefined
  /** In the step in which it begins. */
  readonly onBegin?: ((deadline: number) => void) | undefined
}

const stateNames: Readonly<Record<ServiceState, ServerState>> = {
  starting: 'accepting',
  running: 'accepting',
  stopping: 'draining',
  stopped: 'stopped',
}

export class Drain {
  readonly #rooms: readonly Pick<Room, 'drain'>[]
  readonly #settings: DrainSettings
  readonly #ended = Promise.withResolvers<Drained>()
  readonly #life: Life
  /** Deadline of the caller that began the drain. */
  #deadline: number
  #drained: Drained = { isClean: true }
  #isHurried = false

  constructor(rooms: readonly Pick<Room, 'drain'>[], settings: DrainSettings) {
    this.#rooms = rooms
    this.#settings = settings
    this.#deadline = settings.deadline
    const { deadline, clock } = settings
    this.#life = new Life({
      what: 'The server',
      clock,
      deadline,
      stop: (enough) => this.#drain(enough),
    })
  }

  get state(): ServerState {
    return stateNames[this.#life.state]
  }

  /** Whether it has to stop at once. */
  get isHurried(): boolean {
    return this.#isHurried
  }

  /** Resolves when the drain is over, whichever caller began it. */
  get ended(): Promise<Drained> {
    return this.#ended.promise
  }

  /**
   * Closes the door. `ended` resolves when all work has ended; at the deadline callers that still wait get
   * `HDL_DRAINING`, and the signal counts as the deadline.
   */
  begin(options: DrainOptions = {}): void {
    checkOptions(options, drainOptionNames)
    const { deadline = this.#settings.deadline, signal } = options
    if (options.isCrash === true) this.#settings.onCrash?.()
    if (this.#life.isRunning) this.#deadline = deadline
    if (deadline === 0) this.#isHurried = true
    const stopped = this.#life.stop({ signal, deadline })
    stopped.then(() => this.#ended.resolve(this.#drained), this.#ended.reject)
  }

  async #drain(enough: AbortSignal): Promise<void> {
    // All doors are closed in one step (D2).
    const drained = this.#rooms.map((room) => room.drain({ signal: enough }))
    this.#settings.onBegin?.(this.#deadline)
    const ends = await Promise.all(drained)
    const isClean = ends.every((end) => end.isClean)
    const isStoreFailed = ends.some((end) => end.isStoreFailed === true)
    this.#drained = isStoreFailed ? { isClean, isStoreFailed } : { isClean }
  }
}
