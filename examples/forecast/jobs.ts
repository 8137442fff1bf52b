/**
 * A forecasting service in two stages: the first reads a series and learns from it, once for all results;
 * the second draws one plot for each moment from which one can look ahead. Both compute, so both run in
 * threads; nothing else in here depends on that.
 */
import { job } from '@heddle/core'
import { serveJob, type ItemInput } from '@heddle/server'

/** Readings that a forecast is made from, and how many it looks ahead. */
const seen = 12
const ahead = 6

export interface Series {
  /** `time,value` lines, oldest first. */
  readonly csv: string
  /** How long to look for the best smoothing. */
  readonly rounds?: number
}

interface Model {
  readonly values: readonly number[]
  /** How fast level and trend follow the readings. */
  readonly level: number
  readonly trend: number
}

const infer = job(
  { name: 'infer', place: 'thread', module: import.meta.url },
  ({ csv, rounds = 200 }: Series, context): Model => {
    const values = csv
      .trim()
      .split('\n')
      .map((line) => Number(line.split(',')[1]))
    let best = { values, level: 0.5, trend: 0.1 }
    let least = errorOf(best)
    for (let round = 0; round < rounds; round++) {
      // Code that never awaits sees here that nobody waits for it any more.
      if (context.cancelled) throw new Error('nobody waits for this forecast')
      // Every pair of values in (0, 1), finer with every round.
      const tried = { values, level: (round * 0.618) % 1, trend: ((round * 0.414) % 1) / 2 }
      const error = errorOf(tried)
      if (error < least) [best, least] = [tried, error]
    }
    context.log(`${values.length} readings, error ${Math.sqrt(least).toFixed(2)}`)
    return best
  },
)

const plot = job(
  { name: 'plot', place: 'thread', module: import.meta.url },
  ({ prepared, index }: ItemInput<Model>): string => {
    const end = prepared.values.length + index
    const history = prepared.values.slice(end - seen, end)
    return svg(history, forecastFrom(prepared, end))
  },
)

export const forecast = serveJob({
  name: 'forecast',
  prepare: infer,
  item: plot,
  // 0 looks ahead from the newest reading, -1 from the one before it, and so on.
  total: ({ csv }: Series) => csv.trim().split('\n').length - seen + 1,
  check: (input) => {
    const { csv } = (input ?? {}) as Partial<Series>
    if (typeof csv !== 'string') return 'expected { "csv": "time,value\\n…" }.'
    const lines = csv.trim().split('\n')
    if (lines.length < seen) return `expected at least ${seen} readings, got ${lines.length}.`
    const wrong = lines.findIndex((line) => !Number.isFinite(Number(line.split(',')[1])))
    return wrong < 0 ? undefined : `line ${wrong + 1} has no value.`
  },
})

/** Double exponential smoothing up to a moment, then straight on. */
function forecastFrom({ values, level, trend }: Model, end: number): number[] {
  let at = values[0]!
  let slope = 0
  for (const value of values.slice(1, end)) {
    const before = at
    at = level * value + (1 - level) * (at + slope)
    slope = trend * (at - before) + (1 - trend) * slope
  }
  return Array.from({ length: ahead }, (_, step) => at + (step + 1) * slope)
}

/** Mean square of what would have been forecast, one step ahead. */
function errorOf(model: Model): number {
  const { values } = model
  let sum = 0
  for (let end = seen; end < values.length; end++) {
    sum += (forecastFrom(model, end)[0]! - values[end]!) ** 2
  }
  return sum / Math.max(1, values.length - seen)
}

function svg(history: readonly number[], forecasts: readonly number[]): string {
  const all = [...history, ...forecasts]
  const low = Math.min(...all)
  const scale = 100 / (Math.max(...all) - low || 1)
  const line = (values: readonly number[], from: number): string =>
    values
      .map((value, i) => `${(from + i) * 10},${(100 - (value - low) * scale).toFixed(1)}`)
      .join(' ')
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${(all.length - 1) * 10} 100" fill="none">` +
    `<polyline stroke="black" points="${line(history, 0)}"/>` +
    `<polyline stroke="red" points="${line(forecasts, history.length)}"/></svg>`
  )
}
