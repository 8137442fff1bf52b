/** The sequential probability ratio test of two hypotheses about the strength of a player. */
import { passesRight } from './brownian.ts'
import { distributionOf, momentsOf, scoreOf, type Counts } from './elo.ts'
import { findRoot } from './find-root.ts'
import { logLikelihoodRatio, normalizedEloPerT, type EloModel } from './likelihood.ts'

export interface SprtOptions {
  readonly elo0: number
  readonly elo1: number
  /** How likely a player of strength elo0 is accepted. Default 0.05. */
  readonly alpha?: number
  /** How likely a player of strength elo1 is rejected. Default 0.05. */
  readonly beta?: number
  /** Default `normalized`. */
  readonly model?: EloModel
}

export interface SprtBounds {
  readonly lower: number
  readonly upper: number
}

export function sprtBounds({ alpha = 0.05, beta = 0.05 }: SprtOptions): SprtBounds {
  return { lower: Math.log(beta / (1 - alpha)), upper: Math.log((1 - beta) / alpha) }
}

export interface SprtEstimate extends SprtBounds {
  readonly llr: number
  /** Median-unbiased: it allows for the test having been stopped where it looked best or worst. */
  readonly elo: number
  readonly interval: readonly [number, number]
  readonly los: number
}

/** The LLR of a test, and the strength as the course of the test shows it. */
export function estimateSprt(counts: Counts, options: SprtOptions): SprtEstimate {
  const { elo0, elo1, model = 'normalized' } = options
  const bounds = sprtBounds(options)
  const llr = logLikelihoodRatio(counts, elo0, elo1, model)
  const test = stoppedTest(counts, options, bounds)
  const levels = [0.5, 0.025, 0.975].map((level) => strengthAt(test, options, level))
  const los = worseOutcome(test, 0)
  return { ...bounds, llr, elo: levels[0]!, interval: [levels[1]!, levels[2]!], los }
}

interface StoppedTest extends SprtBounds {
  readonly score0: number
  readonly score1: number
  /** Variance of one sample. */
  readonly variance: number
  /** Samples, and the LLR by the drift; both cut back to where the walk met a bound. */
  readonly time: number
  readonly llr: number
}

function stoppedTest(counts: Counts, options: SprtOptions, bounds: SprtBounds): StoppedTest {
  const { samples, seen } = distributionOf(counts)
  const { mean, variance } = momentsOf(seen)
  const toScore = scoreFor(counts, variance, options.model ?? 'normalized')
  const score0 = toScore(options.elo0)
  const score1 = toScore(options.elo1)
  const drift = driftAt(mean, { score0, score1, variance })
  const llr = Math.min(Math.max(samples * drift, bounds.lower), bounds.upper)
  const time = llr === samples * drift ? samples : llr / drift
  return { ...bounds, score0, score1, variance, time, llr }
}

/** What one sample adds to the LLR on average, to first order in the distance of the hypotheses. */
function driftAt(
  score: number,
  { score0, score1, variance }: Pick<StoppedTest, 'score0' | 'score1' | 'variance'>,
): number {
  return ((score1 - score0) * (score - (score0 + score1) / 2)) / variance
}

function scoreFor(counts: Counts, variance: number, model: EloModel): (elo: number) => number {
  if (model === 'logistic') return scoreOf
  const deviation = Math.sqrt(counts.length === 5 ? 2 * variance : variance)
  return (elo) => (elo / normalizedEloPerT) * deviation + 0.5
}

/** How likely a player of this logistic Elo has an outcome at most as good as the one that was seen. */
function worseOutcome(test: StoppedTest, elo: number): number {
  const { score0, score1, lower, upper, time, llr } = test
  const drift = driftAt(scoreOf(elo), test)
  const variance = (score1 - score0) ** 2 / test.variance
  return passesRight({ low: lower, high: upper, drift, variance }, time, llr)
}

/** Beyond this nothing is estimated. */
const strongest = 1_000

/** The strength at which an outcome at least as good has this probability. */
function strengthAt(test: StoppedTest, { elo0, elo1 }: SprtOptions, level: number): number {
  const f = (elo: number): number => worseOutcome(test, elo) - (1 - level)
  const middle = (elo0 + elo1) / 2
  for (let width = 30 * (elo1 - elo0); ; width *= 2) {
    const low = Math.max(middle - width, -strongest)
    const high = Math.min(middle + width, strongest)
    const root = findRoot(f, low, high)
    if (root !== undefined) return root
    if (low === -strongest && high === strongest) return f(low) > 0 ? high : low
  }
}

export type SprtState = 'running' | 'accepted' | 'rejected'

/** JSON: the record of a test's course, used to correct for the overshoot over its bounds (Siegmund 8.33). */
export interface OvershootState {
  readonly samples: number
  /** Samples that were not seen one by one. */
  readonly skipped: number
  /** The lowest LLR, the sum of the steps to new lows, and of their squares. */
  readonly low: Extreme
  readonly high: Extreme
}

interface Extreme {
  readonly at: number
  readonly sum: number
  readonly squares: number
}

const origin: Extreme = { at: 0, sum: 0, squares: 0 }

export const noOvershoot: OvershootState = { samples: 0, skipped: 0, low: origin, high: origin }

/**
 * The state after one more observation. Undefined when there are fewer samples than before: results were taken out, and
 * the test continues without the correction. More than `batch` samples at once means that observations were skipped: the
 * collection starts again from here.
 */
export function observeOvershoot(
  state: OvershootState,
  llr: number,
  samples: number,
  batch = 1,
): OvershootState | undefined {
  if (samples < state.samples) return undefined
  if (samples === state.samples) return state
  if (samples > state.samples + batch) {
    const here = { at: llr, sum: 0, squares: 0 }
    const skipped = state.skipped + (samples - state.samples) - 1
    return { samples, skipped, low: here, high: here }
  }
  const low = llr < state.low.at ? step(state.low, llr) : state.low
  const high = llr > state.high.at ? step(state.high, llr) : state.high
  return { samples, skipped: state.skipped, low, high }
}

function step({ at, sum, squares }: Extreme, llr: number): Extreme {
  const by = llr - at
  return { at: llr, sum: sum + by, squares: squares + by ** 2 }
}

/** Whether the test is decided. */
export function sprtState(
  llr: number,
  { lower, upper }: SprtBounds,
  overshoot: OvershootState | undefined,
): SprtState {
  const below = overshoot === undefined ? 0 : meanOvershoot(overshoot.low)
  const above = overshoot === undefined ? 0 : meanOvershoot(overshoot.high)
  if (llr < lower - below) return 'rejected'
  if (llr > upper - above) return 'accepted'
  return 'running'
}

/** Signed as the steps are: below 0 at the lower bound. */
function meanOvershoot({ sum, squares }: Extreme): number {
  return sum === 0 ? 0 : squares / sum / 2
}
