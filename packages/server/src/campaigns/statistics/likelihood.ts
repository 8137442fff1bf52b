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
    const before = likely
    likely = seen.map(
      ([value, probability], index) => [value, probability / (1 + x * shifted[index]![0])] as const,
    )
    const change = likely.map(([, probability], index) => Math.abs(probability - before[index]![1]))
    if (Math.max(...change) < 1e-9) break
  }
  return likely
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
