/** The jobs of the sample. Each says in one word where it runs; nothing else in here depends on it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { job } from '@heddle/core'

const hoursOfAYear = 8_760

export interface Station {
  readonly name: string
  /** How long its server takes to answer, in milliseconds. */
  readonly delay: number
  /** Mean temperature, and how far summer and winter are from it. */
  readonly mean: number
  readonly swing: number
}

export interface Climate {
  readonly station: string
  readonly warmest: number
  readonly coldest: number
}

/** Waits for a pretended server: an ordinary async function on the event loop. */
export const download = job({ name: 'download' }, async (station: Station, { signal }) => {
  await sleep(station.delay, undefined, { signal })
  return Array.from({ length: hoursOfAYear }, (_, hour) => reading(station, hour)).join('\n')
})

function reading({ mean, swing }: Station, hour: number): string {
  const season = Math.sin((2 * Math.PI * hour) / hoursOfAYear)
  const noise = Math.sin(hour * hour)
  return (mean + swing * season + 3 * noise).toFixed(1)
}

/**
 * Smooths a year of readings with a moving median over two weeks: some hundred milliseconds of pure
 * computing, which would block the loop. In a thread it blocks nothing. Priority 0: it goes before
 * downloads that are still to be started.
 */
export const smooth = job(
  { name: 'smooth', place: 'thread', module: import.meta.url, priority: 0 },
  climateOf,
)

/** The same on the workers of a server: one word is another. */
export const smoothFar = job(
  { name: 'smooth-far', place: 'fleet', module: import.meta.url, priority: 0 },
  climateOf,
)

function climateOf({ station, csv }: { station: string; csv: string }): Climate {
  const readings = Float64Array.from(csv.split('\n'), Number)
  const window = 14 * 24
  let warmest = -Infinity
  let coldest = Infinity
  for (let start = 0; start + window <= readings.length; start++) {
    const median = readings.slice(start, start + window).toSorted()[window / 2]!
    warmest = Math.max(warmest, median)
    coldest = Math.min(coldest, median)
  }
  return { station, warmest, coldest }
}

/** Puts the results together, as soon as the last of them is there, and leaves a file. */
export const compare = job({ name: 'compare' }, async (climates: readonly Climate[], ctx) => {
  const coldest = climates.reduce((a, b) => (a.coldest < b.coldest ? a : b))
  const warmest = climates.reduce((a, b) => (a.warmest > b.warmest ? a : b))
  ctx.log(`coldest: ${coldest.station}, ${coldest.coldest.toFixed(1)} °C in winter`)
  ctx.log(`warmest: ${warmest.station}, ${warmest.warmest.toFixed(1)} °C in summer`)
  const lines = climates.map((each) => `${each.station},${each.coldest},${each.warmest}\n`)
  await ctx.artifact('climate.csv', ['station,coldest,warmest\n', ...lines])
  return { coldest, warmest }
})

/** Fails the first time, as networks do; it is tried again. */
export const publish = job(
  { name: 'publish', retries: 2 },
  async (_report: { coldest: Climate; warmest: Climate }, { attempt, signal }) => {
    await sleep(200, undefined, { signal })
    if (attempt === 0) throw new Error('connection reset')
    return 'published'
  },
)
