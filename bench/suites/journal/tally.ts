import type { Figures } from '../../harness/row.ts'

/** The name of the figure: all threads of the program, not its database. */
export const cpuFigure = 'CPU per transition'

/** Times that are kept: enough for a p99, few enough to cost nothing. */
const keptTimes = 100_000

/** Counts acknowledged changes in a round of fixed duration. */
export class Tally {
  readonly #start = performance.now()
  readonly #end: number
  readonly #times = new Float64Array(keptTimes)
  readonly #cpu = process.cpuUsage()
  #last = this.#start
  #count = 0
  #calls = 0

  constructor(milliseconds: number) {
    this.#end = this.#start + milliseconds
  }

  /** No more work is to be started. Work under way still counts, and so does its time. */
  get isOver(): boolean {
    return this.#last >= this.#end
  }

  /** This many changes are durable now; the wait for them began at `since`. */
  acknowledge(changes: number, since: number): void {
    this.#last = performance.now()
    this.#count += changes
    // The first ones are overwritten when there are more.
    this.#times[this.#calls++ % keptTimes] = this.#last - since
  }

  /** Changes per second until the last of them, the time that one of them took, and its CPU, in microseconds. */
  figures(): Figures {
    const sorted = this.#times.subarray(0, this.#calls).toSorted()
    const { user, system } = process.cpuUsage(this.#cpu)
    const at = (share: number): number => (sorted[Math.floor(sorted.length * share)] ?? 0) * 1000
    return {
      value: (this.#count / (this.#last - this.#start)) * 1000,
      also: { p50: at(0.5), p99: at(0.99), [cpuFigure]: (user + system) / this.#count },
    }
  }
}
