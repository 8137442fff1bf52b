/**
 * The machine's time and its task queues. Only `kernel/` touches them.
 *
 * Everything else takes a {@link Clock}, so a test can replace time by a virtual clock and an
 * explorer can drive the order of wake-ups. A test forbids `setTimeout`, `queueMicrotask`, `Date.now`,
 * `performance` and their like everywhere else. Related parts are beside the clock:
 * `beat.ts` measures this very loop, in `turn.ts` no time passes.
 */

/** A timer that has not fired yet. Cancelling twice, or after it fired, is harmless. */
export interface Timer {
  cancel(): void
  /** Lets the process end before it fires. Absent where time does not keep a process alive. */
  unref?(): void
}

/** A source of time. Users may implement it; every method must be non-blocking. */
export interface Clock {
  /** Monotonic milliseconds: differences are meaningful, the value itself is not. */
  now(): number
  /** Milliseconds since 1970, for people and journals. It may jump: never subtract two of them. */
  wallTime(): number
  /** Calls `callback` once, `delay` milliseconds from now. Keeps the process alive until then. */
  setTimer(delay: number, callback: () => void): Timer
  /** Calls `callback` after timers and sockets that are due now have had their turn. */
  afterIo(callback: () => void): void
}

/** Node stores timer delays in a signed 32-bit integer and fires at once when it overflows. */
const longestNativeDelay = 2 ** 31 - 1

class SystemTimer implements Timer {
  #native: NodeJS.Timeout
  readonly #callback: () => void
  #remaining: number
  #isBackground = false

  constructor(delay: number, callback: () => void) {
    this.#callback = callback
    this.#remaining = delay
    this.#native = this.#arm()
  }

  #arm(): NodeJS.Timeout {
    const step = Math.min(this.#remaining, longestNativeDelay)
    this.#remaining -= step
    const native = setTimeout(() => {
      if (this.#remaining > 0) this.#native = this.#arm()
      else this.#callback()
    }, step)
    if (this.#isBackground) native.unref()
    return native
  }

  unref(): void {
    this.#isBackground = true
    this.#native.unref()
  }

  cancel(): void {
    clearTimeout(this.#native)
  }
}

/** Real time. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wallTime: () => Date.now(),
  setTimer: (delay, callback) => new SystemTimer(Math.max(0, delay), callback),
  afterIo: (callback) => {
    setImmediate(callback)
  },
}

/** Calls `callback` when the code that runs now has finished, before any timer or socket. */
export function soon(callback: () => void): void {
  queueMicrotask(callback)
}
