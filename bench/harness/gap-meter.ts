/**
 * How long the loop could not serve a timer, and how much of that the collector took.
 *
 * A timer asks to be called every millisecond; the gap is how late a call is, counted from the
 * moment it was due. The last, unfinished gap counts too: a run that never gives the loop a turn
 * would otherwise look perfect, because the ticker never ran.
 *
 * Known limits: Node's timers are whole milliseconds, so an idle loop shows 1 to 2 ms. Pauses of the
 * collector are wall time: on a busy machine they hold waiting for a processor too, as gaps do.
 */

/** A stretch of time in milliseconds, on the scale of `performance.now()`. */
export interface Stretch {
  readonly from: number
  readonly to: number
}

/** The gaps of a round, in milliseconds. */
export interface Gaps {
  /** The longest gap. */
  readonly longest: number
  /** The longest gap when the time of the collector is taken off each. */
  readonly own: number
  /** The collector's share of the longest gap. */
  readonly collector: number
}

/** Shorter ones are the timer's own. */
const shortestGap = 2

export class GapMeter {
  #due = 0
  #gaps: Stretch[] = []
  /** The longest of those that are too short to keep. */
  #longestShort = 0
  #timer: NodeJS.Timeout | undefined
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  start(): void {
    this.#gaps = []
    this.#longestShort = 0
    this.#arm()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#note()
  }

  /** The gaps between the last `start` and `stop`. `pauses`: when the collector worked, in order of their start. */
  read(pauses: readonly Stretch[] = []): Gaps {
    const apart = joinOverlapping(pauses)
    let longest = this.#longestShort
    let own = longest
    let collector = 0
    for (const gap of this.#gaps) {
      const length = gap.to - gap.from
      const collected = sharedTime(gap, apart)
      own = Math.max(own, length - collected)
      if (length > longest) [longest, collector] = [length, collected]
    }
    return { longest, own, collector }
  }

  #arm(): void {
    this.#due = this.#now() + 1
    this.#timer = setTimeout(() => {
      this.#note()
      this.#arm()
    }, 1)
  }

  #note(): void {
    const to = this.#now()
    const late = to - this.#due
    if (late >= shortestGap) this.#gaps.push({ from: this.#due, to })
    else this.#longestShort = Math.max(this.#longestShort, late)
  }
}

/** One pause may contain another: time counts once. */
function joinOverlapping(pauses: readonly Stretch[]): Stretch[] {
  const joined: Stretch[] = []
  for (const { from, to } of pauses.toSorted((a, b) => a.from - b.from)) {
    const last = joined.at(-1)
    if (last !== undefined && from <= last.to) {
      joined[joined.length - 1] = { from: last.from, to: Math.max(last.to, to) }
    } else joined.push({ from, to })
  }
  return joined
}

function sharedTime(gap: Stretch, pauses: readonly Stretch[]): number {
  let shared = 0
  for (const { from, to } of pauses) {
    if (from >= gap.to) break
    shared += Math.max(0, Math.min(to, gap.to) - Math.max(from, gap.from))
  }
  return shared
}
