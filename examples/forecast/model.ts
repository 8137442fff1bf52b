/**
 * An autoregressive model of the changes from value to value, and a Monte Carlo forecast with it.
 *
 * Each change is explained by the last `order` changes and by the distance from the mean, by least squares with a small penalty. What
 * the model did not explain (its residuals) is drawn again and again to make paths of what may come; their quantiles are the fan. The
 * spread is calibrated on the past: it is widened or narrowed until nine of ten values fall into the widest band.
 */
import { seededRandom, type Random } from '@heddle/core/lowlevel'

const order = 6
const penalty = 1e-3
/** Which quantiles the fan has, from below. */
export const levels = [0.05, 0.25, 0.5, 0.75, 0.95] as const

export interface Model {
  readonly mean: number
  /** Weights of the last changes, the newest first, then of the distance from the mean. */
  readonly weights: readonly number[]
  readonly residuals: readonly number[]
  /** The factor by which residuals are multiplied. */
  readonly spread: number
  /** The share of past values that were in the widest band after calibration. */
  readonly coverage: number
}

/** The values ahead for each level, the next one first. */
export type Fan = readonly (readonly number[])[]

/**
 * @param rounds Rounds of the calibration: more of them use more of the past.
 * @param proceed Called between rounds: it throws when the work is no longer needed.
 */
export function fit(values: readonly number[], rounds: number, proceed: () => void): Model {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const rows: number[][] = []
  const targets: number[] = []
  for (let at = order + 1; at < values.length; at++) {
    rows.push(featuresAt(values, at, mean))
    targets.push(values[at]! - values[at - 1]!)
  }
  const weights = leastSquares(rows, targets)
  const residuals = targets.map((target, i) => target - dot(weights, rows[i]!))
  return calibrate({ mean, weights, residuals, spread: 1, coverage: 0 }, values, rounds, proceed)
}

/** The quantiles of `draws` paths that begin after `history`. */
export function forecast(
  model: Model,
  history: readonly number[],
  ahead: number,
  draws: number,
  random: Random,
): Fan {
  const columns = Array.from({ length: ahead }, () => new Float64Array(draws))
  for (let draw = 0; draw < draws; draw++) {
    const path = history.slice(-order - 1)
    for (let step = 0; step < ahead; step++) {
      const next = path.at(-1)! + nextChange(model, path, random)
      path.push(next)
      columns[step]![draw] = next
    }
  }
  for (const column of columns) column.sort()
  return levels.map((level) => columns.map((column) => column[Math.floor(level * (draws - 1))]!))
}

function nextChange(model: Model, path: readonly number[], random: Random): number {
  const { weights, residuals, spread, mean } = model
  const drawn = residuals[Math.floor(random.next() * residuals.length)]!
  return dot(weights, featuresAt(path, path.length, mean)) + drawn * spread
}

/** What is known before the value at `at`. */
function featuresAt(values: readonly number[], at: number, mean: number): number[] {
  const features: number[] = []
  for (let lag = 1; lag <= order; lag++) features.push(values[at - lag]! - values[at - lag - 1]!)
  return [...features, values[at - 1]! - mean]
}

/** Looks from moments of the past at what came, and corrects the spread by how often it was in the band. */
function calibrate(
  model: Model,
  values: readonly number[],
  rounds: number,
  proceed: () => void,
): Model {
  const random = seededRandom(values.length)
  const ahead = 6
  let { spread } = model
  let [inside, seen] = [0, 0]
  for (let round = 0; round < rounds; round++) {
    proceed()
    const end = order + 2 + Math.floor(random.next() * (values.length - order - 2 - ahead))
    const fan = forecast({ ...model, spread }, values.slice(0, end), ahead, 100, random)
    const came = values[end + ahead - 1]!
    const isInside = came >= fan[0]![ahead - 1]! && came <= fan.at(-1)![ahead - 1]!
    seen++
    if (isInside) inside++
    // Smaller and smaller steps: nine inside weigh as much as one outside.
    spread *= 1 + ((isInside ? -0.1 : 0.9) * 2) / (10 + round)
  }
  return { ...model, spread, coverage: seen === 0 ? 0 : inside / seen }
}

/** Weights that make the squares of the errors small: normal equations, solved by elimination. */
function leastSquares(rows: readonly number[][], targets: readonly number[]): number[] {
  const size = order + 1
  const system = Array.from({ length: size }, (_, i) =>
    Array.from({ length: size + 1 }, (_none, j) =>
      rows.reduce((sum, row, n) => sum + row[i]! * (j === size ? targets[n]! : row[j]!), 0),
    ),
  )
  for (let i = 0; i < size; i++) system[i]![i]! += penalty * rows.length
  for (let i = 0; i < size; i++) {
    const pivot = system[i]!
    for (let below = i + 1; below < size; below++) {
      const factor = system[below]![i]! / pivot[i]!
      for (let j = i; j <= size; j++) system[below]![j]! -= factor * pivot[j]!
    }
  }
  const weights = Array.from({ length: size }, () => 0)
  for (let i = size - 1; i >= 0; i--) {
    const known = system[i]!.slice(i + 1, size).reduce(
      (sum, x, n) => sum + x * weights[i + 1 + n]!,
      0,
    )
    weights[i] = (system[i]![size]! - known) / system[i]![i]!
  }
  return weights
}

function dot(a: readonly number[], b: readonly number[]): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}
