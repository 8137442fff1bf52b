import { PerformanceObserver } from 'node:perf_hooks'

/** The pauses of V8's garbage collector in the thread that made it. */
export interface Collector extends Disposable {
  /** Milliseconds of collection between two times of the clock, as far as they have been reported; see {@link turnsUntilReported}. */
  within(from: number, to: number): number
}

/**
 * Turns of the loop after which a pause has been reported: Node notes it in the next turn and notifies observers in the turn
 * after that, or in the third when that one has begun.
 */
export const turnsUntilReported = 3

/** Pauses that are remembered: those of one gap. A gap with more of them is long without the older ones. */
const keptPauses = 1000

interface Pause {
  readonly from: number
  readonly to: number
}

class SystemCollector implements Collector {
  #pauses: Pause[] = []
  readonly #observer = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) {
      this.#pauses.push({ from: startTime, to: startTime + duration })
    }
    if (this.#pauses.length > 2 * keptPauses) this.#pauses = this.#pauses.slice(-keptPauses)
  })

  constructor() {
    this.#observer.observe({ entryTypes: ['gc'] })
  }

  within(from: number, to: number): number {
    let sum = 0
    for (const pause of this.#pauses) {
      sum += Math.max(0, Math.min(to, pause.to) - Math.max(from, pause.from))
    }
    return sum
  }

  [Symbol.dispose](): void {
    this.#observer.disconnect()
  }
}

/** The collector of the thread that calls this. Dispose it to stop listening. */
export function openCollector(): Collector {
  return new SystemCollector()
}
