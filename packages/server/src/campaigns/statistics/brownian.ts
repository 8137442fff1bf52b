import { normalCdf } from './normal.ts'

/** A random walk between two bounds, as a Brownian motion that starts at 0. */
export interface Walk {
  /** The lower bound, below 0, and the upper one. */
  readonly low: number
  readonly high: number
  /** Per unit of time. */
  readonly drift: number
  readonly variance: number
}

/**
 * The probability that the walk passes to the right of the point (time, value), the time axis being upright: that it
 * reaches the upper bound first, or is stopped by the lower one later than `time`, and so on. For a test that ended, it
 * says how likely an outcome at most as good is.
 *
 * Two expressions of the same probability: eigenfunctions, which converge fast when much time has passed, and images at
 * the nearest bounds (Siegmund), which are precise when little has.
 */
export function passesRight(walk: Walk, time: number, value: number): number {
  const { low, high, drift, variance } = walk
  const width = high - low
  const isShort = Math.sqrt(variance * time) / width < 1e-2
  const isSteep = Math.abs((drift * width) / variance) > 15
  return isShort || isSteep ? byImages(walk, time, value) : byEigenfunctions(walk, time, value)
}

function byEigenfunctions(
  { low, high, drift, variance }: Walk,
  time: number,
  value: number,
): number {
  const width = high - low
  const start = -low
  const end = value - low
  const gamma = drift / variance
  const decay = (n: number): number =>
    (((n * Math.PI) / width) ** 2 * variance) / 2 + drift ** 2 / variance / 2
  const first = decay(1)
  const scale = Math.exp(-first * time - start * gamma + end * gamma)
  let sum = 0
  for (let n = 1; n < 100_000; n++) {
    const angle = (Math.PI * n * end) / width
    const wave =
      (2 * width * gamma * Math.sin(angle) - 2 * Math.PI * n * Math.cos(angle)) /
      (width ** 2 * gamma ** 2 + Math.PI ** 2 * n ** 2)
    const weight = Math.exp(-(decay(n) - first) * time)
    sum += weight * wave * Math.sin((n * Math.PI * start) / width)
    if (Math.abs(scale * weight * wave) <= 1e-12) break
  }
  return reachesLowFirst(gamma, width, start) + scale * sum
}

/** The limit for a time without end: that the walk ends at the lower bound. */
function reachesLowFirst(gamma: number, width: number, start: number): number {
  if (gamma * width > 30) return Math.exp(-2 * gamma * start)
  if (Math.abs(gamma * width) < 1e-8) return (width - start) / width
  return (1 - Math.exp(2 * gamma * (width - start))) / (1 - Math.exp(2 * gamma * width))
}

function byImages({ low, high, drift, variance }: Walk, time: number, value: number): number {
  const deviation = Math.sqrt(time * variance)
  const mean = drift * time
  const gamma = drift / variance
  const direct = normalCdf((value - mean) / deviation)
  const atLow = image(gamma * low, (-value + mean + 2 * low) / deviation)
  const atHigh = image(gamma * high, (value - mean - 2 * high) / deviation)
  return direct + atLow - atHigh
}

/** exp(2 g) Φ(z), also where the first factor overflows and the second vanishes. */
function image(g: number, z: number): number {
  if (g < 5) return Math.exp(2 * g) * normalCdf(z)
  return (-Math.exp(-(z ** 2) / 2 + 2 * g) / Math.sqrt(2 * Math.PI)) * (1 / z - 1 / z ** 3)
}
