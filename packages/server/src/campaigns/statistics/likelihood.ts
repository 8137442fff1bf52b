/**
 * Log-likelihood ratios of match results: two hypotheses about the strength, each taken at the distribution that it
 * makes most likely (generalised SPRT).
 */
import { distributionOf, momentsOf, scoreOf, type Counts, type Distribution } from './elo.ts'
import { findRoot } from './find-root.ts'

export type EloModel = 'logistic' | 'normalized'

/** Normalised Elo per unit of (score − ½) / deviation of a game. */
export const normalizedEloPerT = 800 / Math.LN10

/** LLR of `elo1` against `elo0`. */
export function logLikelihoodRatio(
  counts: Counts,
  elo0: number,
  elo1: number,
  model: EloModel,
): number {
  const { samples, seen } = distributionOf(counts)
  if (model === 'logistic') {
    return samples * meanJump(seen, withMean(seen, scoreOf(elo0)), withMean(seen, scoreOf(elo1)))
  }
  const perGame = counts.length === 5 ? Math.SQRT2 : 1
  const t0 = (elo0 / normalizedEloPerT) * perGame
  const t1 = (elo1 / normalizedEloPerT) * perGame
  return samples * meanJump(seen, withT(seen, t0), withT(seen, t1))
}

/** The distribution with this mean under which the observed counts are most likely. */
function withMean(seen: Distribution, mean: number): Distribution {
  const shifted = seen.map(([value, probability]) => [value - mean, probability] as const)
  const x = tilt(shifted)
  return seen.map(
    ([value, probability], index) => [value, probability / (1 + x * shifted[index]![0])] as const,
  )
}

/**
 * The distribution with this (mean − ½) / deviation under which the observed counts are most
 * likely.
 */
function withT(seen: Distribution, t: number): Distribution {
  // Starts from the uniform distribution, and usually ends after three or four rounds.
  let likely: Distribution = seen.map(([value]) => [value, 1 / seen.length] as const)
  for (let round = 0; round < 10; round++) {
    const before = likely
    likely = nearer(seen, before, t)
    if (changeOf(before, likely) < 1e-9) break
  }
  const isFound = likely.every(([, probability]) => probability > 0) && isNear(tOf(likely), t)
  return isFound ? likely : withFarT(seen, t)
}

/** For a strength that is far from what was seen: begins where the strength is right, and goes half of each way. */
function withFarT(seen: Distribution, t: number): Distribution {
  const at = (slope: number): Distribution => weighted(seen, slope)
  let likely = at(findRoot((slope) => tOf(at(slope)) - t, -mostSlope, mostSlope) ?? 0)
  for (let round = 0; round < 200; round++) {
    const before = likely
    const next = nearer(seen, before, t)
    likely = next.map(([value, p], index) => [value, (p + before[index]![1]) / 2] as const)
    if (changeOf(before, likely) < 1e-12) break
  }
  return likely
}

/** Beyond it one value has all of the weight. */
const mostSlope = 200

/** What was seen, with weights that grow with the value. */
function weighted(seen: Distribution, slope: number): Distribution {
  const most = Math.max(...seen.map(([value]) => slope * value))
  const weights = seen.map(([value, probability]) => probability * Math.exp(slope * value - most))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return seen.map(([value], index) => [value, weights[index]! / sum] as const)
}

/** One round: the condition, made linear around a distribution, leads to the next one. */
function nearer(seen: Distribution, likely: Distribution, t: number): Distribution {
  const { mean, variance } = momentsOf(likely)
  const deviation = Math.sqrt(variance)
  const shifted = seen.map(
    ([value, probability]) =>
      [
        value - 0.5 - (t * deviation * (1 + ((mean - value) / deviation) ** 2)) / 2,
        probability,
      ] as const,
  )
  const x = tilt(shifted)
  return seen.map(
    ([value, probability], index) => [value, probability / (1 + x * shifted[index]![0])] as const,
  )
}

function changeOf(before: Distribution, after: Distribution): number {
  return Math.max(
    ...after.map(([, probability], index) => Math.abs(probability - before[index]![1])),
  )
}

function tOf(distribution: Distribution): number {
  const { mean, variance } = momentsOf(distribution)
  return (mean - 0.5) / Math.sqrt(variance)
}

function isNear(found: number, t: number): boolean {
  return Math.abs(found - t) < 1e-6
}

/** The root of Σ p a / (1 + x a) = 0 between −1/max(a) and −1/min(a). */
function tilt(shifted: Distribution): number {
  const values = shifted.map(([value]) => value)
  const low = -1 / Math.max(...values)
  const high = -1 / Math.min(...values)
  const slope = (x: number): number => {
    let sum = 0
    for (const [value, probability] of shifted) sum += (probability * value) / (1 + x * value)
    return sum
  }
  // At both ends the sum is infinite: it is evaluated slightly inside of them.
  const inside = 1e-15 * (high - low)
  return findRoot(slope, low + inside, high - inside) ?? 0
}

function meanJump(seen: Distribution, likely0: Distribution, likely1: Distribution): number {
  let sum = 0
  for (const [index, [, probability]] of seen.entries()) {
    sum += probability * Math.log(likely1[index]![1] / likely0[index]![1])
  }
  return sum
}
