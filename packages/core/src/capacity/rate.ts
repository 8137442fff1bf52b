import { HeddleError } from '../errors.ts'
import { checkCount, checkDuration, checkOptions, type OptionNames } from '../kernel/check.ts'
import { soon, type Clock } from '../kernel/clock.ts'
import type { Meter } from '../kernel/permits.ts'

/** At most `limit` starts in any interval of `per` milliseconds. */
export interface RateOptions {
  readonly limit: number
  readonly per: number
}

/**
 * An exact sliding window: the times of the last `limit` starts.
 *
 *  R1  In no interval of `per` milliseconds there are more than `limit` starts, wherever it begins. A token
 *      bucket would allow twice as many around its refill.
 *  R2  A start counts from the moment in which the code that was started has given the loop back. A job that
 *      reads the clock itself cannot see more starts in an interval than R1 allows.
 */
export class Rate implements Meter {
  readonly isTimed = true
  readonly limit: number
  readonly per: number
  readonly #clock: Clock
  /** A ring that grows up to `limit`: a rate of a million a day rarely needs a million times. */
  #times: number[] = []
  #first = 0
  #size = 0
  /** The last ones: started, but not over with their first synchronous stretch. */
  #fresh = 0

  constructor(options: RateOptions, clock: Clock) {
    this.limit = options.limit
    this.per = options.per
    this.#clock = clock
  }

  /** Starts inside the window that ends now. */
  get used(): number {
    this.#forget(this.#clock.now())
    return this.#size
  }

  hasRoom(count: number): boolean {
    if (this.#size + count <= this.limit) return true
    this.#forget(this.#clock.now())
    return this.#size + count <= this.limit
  }

  hasReservedRoom(): boolean {
    return false
  }

  take(count: number): number {
    const now = this.#clock.now()
    for (let taken = 0; taken < count; taken++) this.#add(now)
    if (this.#fresh === 0) soon(this.#stamp)
    this.#fresh += count
    return 0
  }

  giveBack(): void {
    // A start stays in the window, however short the job was.
  }

  canEverHave(count: number): boolean {
    return count <= this.limit
  }

  opensIn(count: number): number {
    if (count > this.limit) return Infinity
    const now = this.#clock.now()
    this.#forget(now)
    const tooMany = this.#size + count - this.limit
    if (tooMany <= 0) return 0
    const last = this.#times[(this.#first + tooMany - 1) % this.#times.length]!
    return Math.max(0, last + this.per - now)
  }

  /** R2. */
  readonly #stamp = (): void => {
    const now = this.#clock.now()
    for (; this.#fresh > 0; this.#fresh--) {
      this.#times[(this.#first + this.#size - this.#fresh) % this.#times.length] = now
    }
  }

  #add(now: number): void {
    if (this.#size === this.#times.length) this.#grow()
    this.#times[(this.#first + this.#size) % this.#times.length] = now
    this.#size++
  }

  #grow(): void {
    const times = this.#times
    const larger: number[] = []
    for (let index = 0; index < this.#size; index++) {
      larger.push(times[(this.#first + index) % times.length]!)
    }
    while (larger.length < Math.max(8, 2 * this.#size)) larger.push(0)
    this.#times = larger
    this.#first = 0
  }

  #forget(now: number): void {
    while (this.#size > this.#fresh && this.#times[this.#first]! + this.per <= now) {
      this.#first = (this.#first + 1) % this.#times.length
      this.#size--
    }
  }
}

const optionNames = { limit: 1, per: 1 } satisfies OptionNames<RateOptions>

/** @throws `HDL_BAD_OPTION`, `HDL_UNKNOWN_OPTION`. */
export function makeRate(option: string, options: RateOptions, clock: Clock): Rate {
  checkOptions(options, optionNames, option)
  const { limit, per } = options
  checkCount(`${option}.limit`, limit)
  if (checkDuration(`${option}.per`, per) === Infinity) {
    throw new HeddleError('HDL_BAD_OPTION', {
      option: `${option}.per`,
      value: per,
      expected: `a finite number of milliseconds: after the first ${limit} starts there would never be another`,
    })
  }
  return new Rate({ limit, per }, clock)
}
