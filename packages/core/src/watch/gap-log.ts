import type { Pulse } from '../kernel/beat.ts'
import { Histogram, type HistogramSnapshot } from '../kernel/histogram.ts'

/** The samples from the loop while it was stuck. */
export interface Evidence {
  readonly label: string | undefined
  readonly stack: readonly string[]
  readonly certain: boolean
  /** Whether it was inside a function of Node, which may sleep without using the processor. */
  readonly inNode?: boolean
}

/** A time in which the event loop did not turn. */
export interface LoopGap {
  /** Milliseconds since 1970. */
  readonly startedAt: number
  /**
   * How long the code held the loop, exact to within one interval. The time in which the machine had
   * no processor for this thread is not in it.
   */
  readonly ms: number
  /** For how long the machine had no processor for this thread besides, when it was a millisecond or more. */
  readonly starved?: number
  /** How much of it the garbage collector took, when it was a millisecond or more. */
  readonly collector?: number
  /** True for a gap that is too short to report without its garbage collection: then there is no label and no stack. */
  readonly isCollection?: true
  /** The label of {@link runBlamed}: which job or route it was. */
  readonly label: string | undefined
  /** User code first, `function (file:line:column)`, innermost call first. Empty when none could be taken. */
  readonly stack: readonly string[]
  /**
   * Whether label and stack were taken while the loop was stuck. False when it was inside native
   * code that cannot be interrupted: they were taken right after it and may belong to the next work.
   */
  readonly certain: boolean
}

/** Gaps that the machine caused: it had no processor for the loop's thread. */
export interface StarvedGaps {
  readonly gaps: number
  /** The longest time without a processor in one of them, in milliseconds. */
  readonly longest: number
}

/** Measures of one beat, in milliseconds. */
interface Measured {
  readonly late: number
  readonly starved: number
  /** The time for which the loop was certainly held. */
  readonly stuck: number
  readonly ms: number
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
 *
 * Time in which the thread was ready and the machine ran something else is taken off first: on a
 * busy machine any line can take a second, and none of them is to blame (I7).
 *
 * A gap that is shorter than the threshold without the pauses of the garbage collector in it is reported as the collector's:
 * the line that allocated last is not to blame for what all the others have left (I9).
 */
export class GapLog {
  readonly #interval: number
  readonly #threshold: number
  readonly #keep: number
  #delays = new Histogram()
  readonly #recent: LoopGap[] = []
  #longest = 0
  #gaps = 0
  #starvedGaps = 0
  #longestStarved = 0

  constructor(options: GapLogOptions) {
    this.#interval = options.interval
    this.#threshold = options.threshold
    this.#keep = options.keep
  }

  /** Whether this beat ends a gap that is reported. */
  isGap(pulse: Pulse, evidence: Evidence | undefined): boolean {
    const { stuck } = this.#measure(pulse, evidence)
    return stuck > 0 && stuck >= this.#threshold
  }

  #measure(pulse: Pulse, evidence: Evidence | undefined): Measured {
    const { elapsed, busy } = pulse
    const late = Math.max(0, elapsed - this.#interval)
    const starved = Math.min(busy, starvedTime(pulse, evidence))
    const own = Math.max(0, busy - starved)
    // A beat that is late because the whole process stood still is the fault of no code.
    const stuck = Math.min(late, own)
    const ms = late < this.#interval ? stuck : Math.min(elapsed, own)
    return { late, starved, stuck, ms }
  }

  /** Enters one beat. Returns the gap that it ended, if there was one. `collected`: milliseconds of the collector in it. */
  record(
    pulse: Pulse,
    wallTime: number,
    evidence: Evidence | undefined,
    collected = 0,
  ): LoopGap | undefined {
    const { late, starved, stuck, ms } = this.#measure(pulse, evidence)
    this.#delays.record(ms)
    this.#longest = Math.max(this.#longest, ms)
    if (stuck < this.#threshold || stuck === 0) {
      if (Math.min(late, pulse.busy) >= this.#threshold) this.#recordStarved(starved)
      return undefined
    }
    // The collector, too, is kept waiting by a busy machine: of its time as much is its own as of the whole.
    const { busy } = pulse
    const collector = Math.min(ms, (Math.min(collected, busy) * (busy - starved)) / busy)
    const isCollection = collector > 0 && stuck - collector < this.#threshold
    const blamed = isCollection ? undefined : evidence
    const gap: LoopGap = {
      startedAt: wallTime - ms - starved,
      ms,
      ...(starved >= 1 && { starved }),
      ...(collector >= 1 && { collector }),
      ...(isCollection && { isCollection }),
      label: blamed?.label,
      stack: blamed?.stack ?? [],
      certain: isCollection || (evidence?.certain ?? false),
    }
    this.#gaps++
    this.#recent.push(gap)
    if (this.#recent.length > this.#keep) this.#recent.shift()
    return gap
  }

  #recordStarved(milliseconds: number): void {
    this.#starvedGaps++
    this.#longestStarved = Math.max(this.#longestStarved, milliseconds)
  }

  /** Resets all figures. */
  forget(): void {
    this.#delays = new Histogram()
    this.#recent.length = 0
    this.#longest = 0
    this.#gaps = 0
    this.#starvedGaps = 0
    this.#longestStarved = 0
  }

  /** Gaps that the machine caused and no code is blamed for. */
  get starved(): StarvedGaps {
    return { gaps: this.#starvedGaps, longest: this.#longestStarved }
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

/**
 * The time in which the machine kept the thread waiting.
 *
 * Where the system counts the time in the run queue, that is the figure: a thread that sleeps in a
 * system call is not in it. Elsewhere it is the busy time minus the time on a processor,
 * unless the code was inside a function of Node, such as `execFileSync`, that sleeps by itself.
 *
 * When no code was found on the stack, or only some that may have come later, nothing is known that
 * could have slept: what is not time on a processor was spent on pages that were read back in, or on
 * the collector's starved helpers.
 */
function starvedTime({ busy, ran, queued }: Pulse, evidence: Evidence | undefined): number {
  const notRun = ran === undefined ? 0 : Math.max(0, busy - ran)
  const isInNode = evidence?.inNode === true
  if (!isInNode && !(evidence?.certain === true && evidence.stack.length > 0)) {
    return Math.max(notRun, queued ?? 0)
  }
  return queued ?? (isInNode ? 0 : notRun)
}

/** The blamed code, in one line. */
export function describeGap(gap: LoopGap): string {
  if (gap.isCollection === true) return `the garbage collector, ${describeCollection(gap)}`
  const where = gap.stack[0]
  if (gap.label === undefined && where === undefined) return 'no stack could be taken'
  const who = [gap.label, where].filter((part) => part !== undefined).join(' at ')
  return gap.certain ? who : `${who} (seen late: it may be what ran next)`
}

/** How much of a gap the garbage collector took: "30 of 34 ms". */
export function describeCollection({ collector = 0, ms }: LoopGap): string {
  return `${Math.round(collector)} of ${Math.round(ms)} ms`
}
