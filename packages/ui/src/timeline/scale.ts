/**
 * From time to place on a time axis on which idle gaps are folded to a fixed width.
 *
 *     time    ├──work──┤········ 9 h idle ········├─work─┤
 *     shown   ├──work──┤≈≈├─work─┤
 *
 * "Shown time" is milliseconds after the gaps were folded; pixels are a linear function of it.
 *
 * Invariants, quoted by the tests:
 *  S1  toShown never falls and toTime(toShown(t)) is t, up to rounding.
 *  S2  Outside of folded gaps distances are kept.
 *  S3  Every folded gap is as long as `foldTo`, and none shorter than `foldFrom` is folded.
 */
export interface Gap {
  readonly from: number
  readonly to: number
}

export interface ScaleOptions {
  /** Milliseconds a gap must have to be folded. */
  readonly foldFrom: number
  /** Milliseconds it takes on the axis then. */
  readonly foldTo: number
}

interface Fold extends Gap {
  /** Shown time of its start. */
  readonly shown: number
  /** Milliseconds left out up to its end. */
  readonly removed: number
}

export class TimeScale {
  readonly length: number
  /** Shown milliseconds. */
  readonly shownLength: number
  readonly folds: readonly Fold[]
  readonly #foldTo: number

  constructor(length: number, gaps: readonly Gap[], { foldFrom, foldTo }: ScaleOptions) {
    const folds: Fold[] = []
    let removed = 0
    for (const gap of gaps) {
      const width = gap.to - gap.from
      if (width < foldFrom || width <= foldTo) continue
      const shown = gap.from - removed
      removed += width - foldTo
      folds.push({ from: gap.from, to: gap.to, shown, removed })
    }
    this.length = length
    this.folds = folds
    this.#foldTo = foldTo
    this.shownLength = Math.max(0, length - removed)
  }

  /** Called for every edge of every bar that is drawn: most runs have no fold. */
  toShown(time: number): number {
    if (this.folds.length === 0) return time
    const fold = this.#foldBefore((each) => each.from < time)
    if (fold === undefined) return time
    if (time >= fold.to) return time - fold.removed
    return fold.shown + ((time - fold.from) / (fold.to - fold.from)) * this.#foldTo
  }

  toTime(shown: number): number {
    const fold = this.#foldBefore((each) => each.shown < shown)
    if (fold === undefined) return shown
    if (shown >= fold.shown + this.#foldTo) return shown + fold.removed
    return fold.from + ((shown - fold.shown) / this.#foldTo) * (fold.to - fold.from)
  }

  /** The last fold for which the condition holds; it holds for a first part of them. */
  #foldBefore(holds: (fold: Fold) => boolean): Fold | undefined {
    let low = 0
    let high = this.folds.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (holds(this.folds[middle]!)) low = middle + 1
      else high = middle
    }
    return this.folds[low - 1]
  }
}

/**
 * Stretches in which nothing ran, from the bars of all lanes. `started` must ascend.
 */
export function idleGaps(
  started: ArrayLike<number>,
  ended: ArrayLike<number>,
  count: number,
  length: number,
): Gap[] {
  const gaps: Gap[] = []
  let until = 0
  for (let bar = 0; bar < count; bar++) {
    if (started[bar]! > until) gaps.push({ from: until, to: started[bar]! })
    until = Math.max(until, ended[bar]!)
  }
  if (length > until) gaps.push({ from: until, to: length })
  return gaps
}

/** How gaps are folded in a run of this length: what takes more than a twelfth of it takes a fortieth. */
export function foldingFor(length: number, gaps: readonly Gap[]): ScaleOptions {
  const idle = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0)
  const busy = Math.max(1, length - idle)
  return { foldFrom: Math.max(1_000, busy / 8), foldTo: busy / 40 }
}

/** Round times for the marks of an axis, with at least `distance` shown milliseconds between them. */
export function ticks(scale: TimeScale, from: number, to: number, distance: number): number[] {
  const step = roundStep(distance)
  const found: number[] = []
  let last = -Infinity
  const first = Math.ceil(scale.toTime(from) / step) * step
  const end = scale.toTime(to)
  for (let time = first; time <= end && found.length < 200;) {
    const shown = scale.toShown(time)
    if (shown - last >= distance * 0.75) {
      found.push(time)
      last = shown
    }
    // Over a fold in one step: it may be as long as a million ticks.
    const fold = scale.folds.find((each) => each.from < time && time < each.to)
    time = fold === undefined ? time + step : Math.ceil(fold.to / step) * step
  }
  return found
}

const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500].concat(
  [1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1_000),
  [1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  [1, 2, 3, 6, 12, 24, 48, 168].map((hours) => hours * 3_600_000),
)

function roundStep(distance: number): number {
  const found = steps.find((step) => step >= distance)
  return found ?? Math.ceil(distance / 86_400_000) * 86_400_000
}
