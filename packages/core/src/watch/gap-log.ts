import { Histogram, type HistogramSnapshot } from '../kernel/histogram.ts'

/** What was seen on the loop while it was stuck. */
export interface Evidence {
  readonly label: string | undefined
  readonly stack: readonly string[]
  readonly certain: boolean
}

/** A time in which the event loop did not turn. */
export interface LoopGap {
  /** Milliseconds since 1970. */
  readonly startedAt: number
  /** How long the loop was stuck, exact to within one interval. */
  readonly ms: number
  /** The label of {@link runBlamed}: which job or route it was. */
  readonly label: string | undefined
  /** User code first, `function (file:line:column)`, innermost call first. Empty when none could be taken. */
  readonly stack: readonly string[]
  /**
   * Whether label and stack were taken while the loop was stuck. False when it was inside native
   * code that cannot be interrupted: they were taken right after it and may belong to what came next.
   */
  readonly certain: boolean
}

export interface GapLogOptions {
  readonly interval: number
  readonly threshold: number
  readonly keep: number
}

/**
 * Tells gaps from ordinary jitter, and remembers a bounded number of them.
 *
 * With beats every `interval`, a beat that comes `late` means that the loop was stuck for at least
 * `late` and at most `interval + late`. A gap is therefore reported when it was certainly as long
 * as the threshold: every block of `threshold + interval` is reported, none shorter than
 * `threshold`. Its length is then completed by the loop's busy time since the last beat.
 */
export class GapLog {
  readonly #interval: number
  readonly #threshold: number
  readonly #keep: number
  readonly #delays = new Histogram()
  readonly #recent: LoopGap[] = []
  #longest = 0
  #gaps = 0

  constructor(options: GapLogOptions) {
    this.#interval = options.interval
    this.#threshold = options.threshold
    this.#keep = options.keep
  }

  /** Enters one beat. Returns the gap that it ended, if there was one. */
  record(
    elapsed: number,
    busy: number,
    wallTime: number,
    evidence: Evidence | undefined,
  ): LoopGap | undefined {
    const late = Math.max(0, elapsed - this.#interval)
    // A beat that is late because the whole process stood still is nobody's fault.
    const stuck = Math.min(late, busy)
    const ms = late < this.#interval ? stuck : Math.min(elapsed, busy)
    this.#delays.record(ms)
    this.#longest = Math.max(this.#longest, ms)
    if (stuck < this.#threshold || stuck === 0) return undefined
    const gap: LoopGap = {
      startedAt: wallTime - ms,
      ms,
      label: evidence?.label,
      stack: evidence?.stack ?? [],
      certain: evidence?.certain ?? false,
    }
    this.#gaps++
    this.#recent.push(gap)
    if (this.#recent.length > this.#keep) this.#recent.shift()
    return gap
  }

  /** The longest gap, also when it was below the threshold. */
  get longest(): number {
    return this.#longest
  }

  /** How many gaps were reported. */
  get gaps(): number {
    return this.#gaps
  }

  /** The last reported gaps, oldest first. */
  get recent(): readonly LoopGap[] {
    return [...this.#recent]
  }

  /** How late the beats were. */
  get delays(): HistogramSnapshot {
    return this.#delays.snapshot()
  }
}

/** Who is to blame, in one line. */
export function describeGap(gap: LoopGap): string {
  const where = gap.stack[0]
  if (gap.label === undefined && where === undefined) return 'no stack could be taken'
  const who = [gap.label, where].filter((part) => part !== undefined).join(' at ')
  return gap.certain ? who : `${who} (seen right after native code ended)`
}
