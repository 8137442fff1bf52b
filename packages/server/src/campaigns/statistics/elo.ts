/**
 * Results of matches as Elo with error bars. Counts are L, D, W of games (trinomial) or LL, LD, DD or WL, WD, WW of pairs
 * of games (pentanomial): outcome i of k has the value i / (k − 1).
 */
import { normalCdf, quantile975 } from './normal.ts'

export type Counts = readonly number[]

export interface EloEstimate {
  readonly elo: number
  /** Half of the 95 % interval. */
  readonly error: number
  /** The 95 % interval. */
  readonly interval: readonly [number, number]
  /** Likelihood of superiority: that the first player is stronger. */
  readonly los: number
}

/** The expected score of a player who is `elo` stronger. */
export function scoreOf(elo: number): number {
  return 1 / (1 + 10 ** (-elo / 400))
}

/** The Elo of a score. A score of 0 or 1 has none: it is taken as one in a thousand. */
export function eloOf(score: number): number {
  const bounded = Math.min(Math.max(score, 1e-3), 1 - 1e-3)
  return -400 * Math.log10(1 / bounded - 1)
}

/** Zero counts are taken as 0.001, so that no logarithm of 0 and no variance of 0 occurs. */
export function regularized(counts: Counts): number[] {
  return counts.map((count) => (count === 0 ? 0.001 : count))
}

/** An outcome's value and its probability. */
export type Distribution = readonly (readonly [value: number, probability: number])[]

/** How often each outcome was seen, as probabilities; and the number of samples. */
export function distributionOf(counts: Counts): {
  readonly samples: number
  readonly seen: Distribution
} {
  const filled = regularized(counts)
  const samples = filled.reduce((sum, count) => sum + count, 0)
  const last = filled.length - 1
  return { samples, seen: filled.map((count, index) => [index / last, count / samples] as const) }
}

/** Mean and variance. */
export function momentsOf(distribution: Distribution): {
  readonly mean: number
  readonly variance: number
} {
  let mean = 0
  for (const [value, probability] of distribution) mean += value * probability
  let variance = 0
  for (const [value, probability] of distribution) variance += probability * (value - mean) ** 2
  return { mean, variance }
}

/** Elo with a 95 % interval, by the normal approximation. */
export function estimateElo(counts: Counts): EloEstimate {
  const { samples, seen } = distributionOf(counts)
  const { mean, variance } = momentsOf(seen)
  const deviation = Math.sqrt(variance / samples)
  const low = eloOf(mean - quantile975 * deviation)
  const high = eloOf(mean + quantile975 * deviation)
  return {
    elo: eloOf(mean),
    error: (high - low) / 2,
    interval: [low, high],
    los: normalCdf((mean - 0.5) / deviation),
  }
}

/**
 * Like above, from the counts as they are, with the quantile of Student's distribution; a bound
 * that no score has is 0. For comparison with tools that show this interval.
 */
export function plainInterval(counts: Counts): readonly [low: number, elo: number, high: number] {
  const samples = counts.reduce((sum, count) => sum + count, 0)
  if (samples === 0) return [0, 0, 0]
  const last = counts.length - 1
  const seen = counts.map((count, index) => [index / last, count / samples] as const)
  const { mean, variance } = momentsOf(seen)
  const deviation = Math.sqrt(variance / samples)
  const plain = (score: number): number =>
    score <= 0 || score >= 1 ? 0 : -400 * Math.log10(1 / score - 1)
  const margin = studentQuantile975(samples - 1) * deviation
  return [plain(mean - margin), plain(mean), plain(mean + margin)]
}

/** The 97.5 % quantile of Student's distribution, by its expansion in 1 / freedom (Abramowitz and Stegun 26.7.5). */
function studentQuantile975(freedom: number): number {
  if (freedom <= 0) return 0
  const z = quantile975
  const first = (z ** 3 + z) / 4
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96
  const third = (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384
  return z + first / freedom + second / freedom ** 2 + third / freedom ** 3
}
