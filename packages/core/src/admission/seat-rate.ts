import { checkOptions, type OptionNames } from '../kernel/check.ts'
import { systemKernel, type Kernel } from '../kernel/kernel.ts'
import { DrainRate, RetryAfter } from './drain-rate.ts'

export interface SeatRateOptions {
  /** Time and randomness. Real ones when absent. */
  readonly kernel?: Kernel | undefined
}

const optionNames = { kernel: 1 } satisfies OptionNames<SeatRateOptions>

/** How fast the seats of a list become free, so that a caller that finds none learns when to come back. */
export class SeatRate {
  readonly #rate: DrainRate
  readonly #retryAfter: RetryAfter

  constructor(options: SeatRateOptions = {}) {
    checkOptions(options, optionNames)
    const { clock, random } = options.kernel ?? systemKernel
    this.#rate = new DrainRate(clock)
    this.#retryAfter = new RetryAfter({}, random)
  }

  taken(): void {
    this.#rate.started()
  }

  freed(): void {
    this.#rate.stopped()
    this.#rate.completed()
  }

  /** Milliseconds until a seat is free, with jitter. A second while nothing was measured. */
  retryAfter(): number {
    return this.#retryAfter.after(1, this.#rate.interval)
  }
}
