/**
 * The nightly run of the pictures, as a customer has it: stations are fetched on the loop, parsed and scored in threads,
 * stored with retries, reviewed after a pause, and put together. Also jobs to submit: one with a schema, and one that
 * holds the loop.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { Graph, job, type InputSchema } from '@heddle/core'
import type { Gates } from './served.ts'

interface Station {
  readonly name: string
  readonly number: number
}

const names =
  'Tromsø Bodø Oslo Riga Vilnius Gdańsk Kraków Praha Wien Graz Bern Lyon Nantes Porto Faro Sevilla Bari Malta Tunis Sfax Cairo Aswan Haifa Amman'.split(
    ' ',
  )
const stations: readonly Station[] = names.map((name, number) => ({ name, number }))

const fetchStation = job({ name: 'fetch' }, async (station: Station, { signal, log }) => {
  await wait(40 + ((station.number * 37) % 90), undefined, { signal })
  log(`GET /stations/${station.number}/year → 200, 8,760 readings`)
  return { station: station.name, readings: 8_760 }
})

/** Busy for as many rounds. */
function burn(rounds: number): number {
  let sum = 0
  for (let i = 0; i < rounds; i++) sum += Math.sin(i) * Math.sin(i)
  return sum
}

/**
 * Holds the loop for this many milliseconds of processor time: on a busy machine a clock would count those of others.
 */
function holdLoop(milliseconds: number): number {
  const { user, system } = process.cpuUsage()
  let sum = 0
  for (;;) {
    sum += burn(10_000)
    const now = process.cpuUsage()
    if (now.user + now.system - user - system > milliseconds * 1_000) return sum
  }
}

const parseYear = job(
  { name: 'parse', place: 'thread', module: import.meta.url },
  ({ name, number }: Station) => {
    burn(400_000 + ((number * 7) % 5) * 120_000)
    return { station: name, rows: 8_760, dropped: number % 4 }
  },
)

const scoreYear = job(
  { name: 'score', place: 'thread', module: import.meta.url },
  ({ name, number }: Station) => {
    burn(900_000 + ((number * 11) % 7) * 200_000)
    return { station: name, score: 0.5 + (number % 10) / 20, outliers: [number, number * 3] }
  },
)

const storeYear = job(
  { name: 'store', retries: 2, retryBaseDelay: 60 },
  async (station: Station, { attempt, signal, log }) => {
    await wait(15 + ((station.number * 13) % 30), undefined, { signal })
    if (station.number % 9 === 4 && attempt === 0) {
      throw new Error('write to the table “years” failed', { cause: new Error('ECONNRESET') })
    }
    log(`stored ${station.name} in ${attempt + 1} of 3 attempts`)
    return { stored: 8_760 }
  },
)

const review = job({ name: 'review' }, async (count: number, ctx) => {
  ctx.progress(0.4, `${count} stations compared`)
  await ctx.sleep(180)
  return { reviewed: count }
})

const merge = job({ name: 'merge' }, async (count: number, ctx) => {
  // This belongs in a thread: the timeline shows the gap, and its cause.
  holdLoop(150)
  ctx.log(`merged ${count} stations`)
  await ctx.artifact(
    'scores.csv',
    stations.map(({ name, number }) => `${name},${0.5 + (number % 10) / 20}\n`),
  )
  await ctx.artifact('plots/scores.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>')
  return { stations: count, mean: 0.74 }
})

export interface DemoArguments {
  /** Names a gate at which `publish` waits. */
  readonly gate?: string
  /** How many stations: all when absent. */
  readonly stations?: number
}

/** `nightly`; `season`: 1,002 quick nodes; `release`: waits for an approval. */
export function demoGraphs(gates: Gates): Record<string, (args: unknown) => Graph> {
  const publish = job(
    { name: 'publish', retries: 1, retryBaseDelay: 80 },
    async (gate: string, { attempt, signal, log }) => {
      log('uploading scores.csv')
      if (gate !== '') await gates.pass(gate, signal)
      if (attempt === 0) throw new Error('503 from the registry')
      return 'published'
    },
  )
  const quickJob = (name: string) => job({ name }, async (item: number) => item * 2)
  const quick = quickJob('quick')
  const build = job({ name: 'build' }, () => ({ version: '4.2.0' }))
  const approve = job({ name: 'approve' }, (_: string, ctx) => ctx.waitFor('go-live'))
  return {
    nightly(args) {
      const { gate = '', stations: count = stations.length } = (args ?? {}) as DemoArguments
      const graph = new Graph()
      const stored = stations.slice(0, count).map((input) => {
        const fetched = graph.add(`fetch ${input.name}`, fetchStation, { input })
        const parsed = graph.add(`parse ${input.name}`, parseYear, { after: [fetched], input })
        const scored = graph.add(`score ${input.name}`, scoreYear, { after: [parsed], input })
        return graph.add(`store ${input.name}`, storeYear, { after: [scored], input })
      })
      const reviewed = graph.add('review', review, { after: stored, input: count })
      const merged = graph.add('merge', merge, { after: [reviewed], input: count })
      graph.add('publish', publish, { after: [merged], input: gate })
      return graph
    },
    season() {
      const graph = new Graph()
      const [first, ...steps] = ['fetch', 'parse', 'score', 'store'].map((name) => quickJob(name))
      const stored = Array.from({ length: 250 }, (_, item) => {
        let last = graph.add(`fetch ${item}`, first!, { input: item })
        for (const step of steps) {
          last = graph.add(`${step.name} ${item}`, step, { after: [last], input: item })
        }
        return last
      })
      const merged = graph.add('merge', quick, { after: stored, input: 0 })
      graph.add('publish', quick, { after: [merged], input: 0 })
      return graph
    },
    release() {
      const graph = new Graph()
      const built = graph.add('build', build, {})
      const approved = graph.add('approve', approve, { after: [built], input: '' })
      graph.add('ship', build, { after: [approved] })
      return graph
    },
  }
}

interface Forecast {
  readonly station: string
  readonly days: number
  readonly unit: 'C' | 'F'
}

/** The schema that zod would make, written by hand. */
const forecastInput: InputSchema<Forecast> = {
  '~standard': {
    version: 1,
    vendor: 'demo',
    validate: (value) => {
      const { station, days = 3, unit = 'C' } = (value ?? {}) as Partial<Forecast>
      if (typeof station !== 'string')
        return { issues: [{ message: 'is required', path: ['station'] }] }
      if (days > 14) return { issues: [{ message: 'is at most 14', path: ['days'] }] }
      return { value: { station, days, unit } }
    },
    jsonSchema: {
      input: () => ({
        type: 'object',
        required: ['station'],
        properties: {
          station: { type: 'string', title: 'Station', description: 'Its name, as in the list.' },
          days: { type: 'integer', title: 'Days', default: 3, description: 'At most 14.' },
          unit: { enum: ['C', 'F'], title: 'Unit', default: 'C' },
        },
      }),
    },
  },
}

export const forecast = job(
  { name: 'forecast', input: forecastInput },
  ({ station, days, unit }) => ({ station, unit, highs: Array.from({ length: days }, () => 21) }),
)

/** Parses on the loop what belongs into a thread: the loop is held for as long as that takes. */
export const report = job({ name: 'report' }, function parseOnTheLoop(milliseconds: number) {
  return { sum: Math.round(holdLoop(milliseconds)) }
})
