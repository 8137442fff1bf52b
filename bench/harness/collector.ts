import { PerformanceObserver } from 'node:perf_hooks'
import { setImmediate as turn } from 'node:timers/promises'
import type { Stretch } from './gap-meter.ts'

/** Notes when the collector of this thread works. */
export class CollectorLog {
  #pauses: Stretch[] = []
  readonly #observer = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) {
      this.#pauses.push({ from: startTime, to: startTime + duration })
    }
  })

  constructor() {
    this.#observer.observe({ entryTypes: ['gc'] })
  }

  /** The pauses since the last call, once those of this moment have been reported. */
  async take(): Promise<readonly Stretch[]> {
    // Node delivers them one turn later, and the observer gets them in the turn after that.
    for (let turns = 0; turns < 3; turns++) await turn()
    const pauses = this.#pauses
    this.#pauses = []
    return pauses
  }
}
