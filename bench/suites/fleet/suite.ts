/**
 * 10,000 workers on this machine, generator included. The figure is the 99th percentile of a beat, from the time at which it was
 * due; the rest is below it. Accidents (`--kill --restart --slow --longpoll --burst`) are played by `npm run test:load`.
 */
import path from 'node:path'
import type { Contender, Entrant, Figures, Row, Suite } from '../../harness/row.ts'
import { fastApiNeed } from '../../servers/fastapi.ts'
import { workFolder } from '../../servers/work-folder.ts'
import { addressIn, needs, postgresVariable } from '../journal/needs.ts'
import type { Scenario, ScenarioReport } from './scenario.ts'

const workers = 10_000
/** Milliseconds of steady load. */
const steady = 60_000
const quick = 3_000
/** Milliseconds for a quick run, and for one multiple of the row that looks for the largest: starts, ramp and last answers included. */
const quickLimit = 120_000
const multipleLimit = 150_000
/** Milliseconds at each multiple of the row that looks for the largest. */
const atEachMultiple = 20_000

/** Rates of a run without accidents. */
const calm = { kill: 0, restart: false, slow: 0, longpoll: 0 } as const

interface Setting {
  readonly speed: number
  readonly servers: number
}

/** Which server gets the load: ours on one of two stores, or the peer. */
type Kind = 'sqlite' | 'postgres' | 'fastapi'

function entrant(role: Entrant['role'], setting: Setting, kind: Kind): Entrant {
  return {
    role,
    ...(kind === 'postgres' && { needs: [needs.postgres] }),
    ...(kind === 'fastapi' && { needs: [fastApiNeed] }),
    load: async (): Promise<Contender> => {
      const { runScenario } = await import('./scenario.ts')
      const { FastApiServer } = await import('./fastapi-server.ts')
      return {
        prepare: async (size) => {
          const scenario: Scenario = {
            ...setting,
            // A quick run shows that everything works.
            workers: size < steady ? 300 : workers,
            store: await storeOf(kind),
            ...(kind === 'fastapi' && { peer: (store: string) => new FastApiServer(store) }),
            ramp: size < steady ? 1 : 10,
            seconds: size / 1_000,
            ...(size < steady && { limit: quickLimit }),
            ...calm,
          }
          return async () => {
            const report = await runScenario(scenario, () => undefined)
            return () => figuresOf(report)
          }
        },
      }
    },
  }
}

async function storeOf(kind: Kind): Promise<string> {
  if (kind !== 'postgres') return `sqlite:${path.join(await workFolder(), 'fleet.db')}`
  return `${addressIn(postgresVariable)}?schema=fleet_${process.pid}`
}

function figuresOf(report: ScenarioReport): Figures {
  const { steady: figures, ramp } = report
  if (!report.isEqual) throw new Error('generator and servers do not agree on leases or units')
  const calls = Object.entries(figures.calls).map(([name, each]) => [
    name,
    `${each.count} calls, ${each.errors} errors, p50 ${each.p50} ms, p99 ${each.p99} ms, max ${each.max} ms`,
  ])
  return {
    value: figures.calls.beat?.p99 ?? 0,
    also: {
      'CPU of the server': report.cpuUsPerRequest,
      'requests answered': figures.perSecond,
      memory: report.rssMb,
      commits: report.commitsPerSecond,
      errors: figures.errors,
    },
    observed: {
      ...(Object.fromEntries(calls) as Record<string, string>),
      ramp: `${ramp.seconds} s until all have a lease, claim p99 ${ramp.calls.claim?.p99 ?? 0} ms`,
      leases: `${report.workerHeld} held by workers, ${report.serverHeld} by servers, ${figures.lost} lost`,
      units: `${report.serverUnits} counted, as acknowledged`,
      rows: `${report.rowsPerSecond} per second`,
      'generator late by at most': `${figures.generatorLagMs} ms`,
    },
  }
}

function row(name: string, entrants: Row['entrants']): Row {
  return {
    name,
    measure: 'latency',
    unit: 'ms',
    size: steady,
    quickSize: quick,
    warmUps: 0,
    warmUpSize: quick,
    rounds: 1,
    children: 1,
    limitMs: 400_000,
    isOutside: true,
    also: [
      { name: 'CPU of the server', measure: 'latency', unit: 'µs/request' },
      { name: 'requests answered', measure: 'rate', unit: '/s' },
      { name: 'memory', measure: 'latency', unit: 'MB' },
      { name: 'commits', measure: 'latency', unit: '/s' },
      { name: 'errors', measure: 'latency', unit: 'errors' },
    ],
    note: 'beat p99 from the due time; 10,000 workers, 60 s after a ramp of 10 s',
    entrants,
  }
}

const oneServer = [1, 10, 40].map((speed) => {
  const setting = { speed, servers: 1 }
  return row(`${speed} ×`, {
    heddle: entrant('ours', setting, 'sqlite'),
    PostgreSQL: entrant('variant', setting, 'postgres'),
    fastapi: entrant('peer', setting, 'fastapi'),
  })
})

const twoServers = [10, 40].map((speed) =>
  row(`${speed} ×, two servers on one PostgreSQL`, {
    heddle: entrant('ours', { speed, servers: 2 }, 'postgres'),
  }),
)

/** Milliseconds within which a beat must be answered at p99 for a multiple to hold. */
const beatAllowed = 100
const multiples = [40, 60, 80, 100, 130, 160, 200]

/** Larger multiples until one does not hold. */
const largest: Row = {
  ...row('largest multiple that holds, two servers on one PostgreSQL', {
    heddle: {
      role: 'ours',
      needs: [needs.postgres],
      load: async () => {
        const { runScenario } = await import('./scenario.ts')
        return {
          prepare: (milliseconds) => async () => {
            const isQuick = milliseconds < atEachMultiple
            const observed: Record<string, string> = {}
            let held = 0
            for (const speed of isQuick ? multiples.slice(0, 1) : multiples) {
              const store = `${await storeOf('postgres')}_${speed}`
              const scenario = { ...calm, speed, store, servers: 2, seconds: milliseconds / 1_000 }
              const size = isQuick
                ? { workers: 300, ramp: 1, limit: quickLimit }
                : { workers, ramp: 10, limit: multipleLimit }
              const outcome = await playMultiple(() =>
                runScenario({ ...scenario, ...size }, () => undefined),
              )
              observed[`${speed} ×`] = outcome.text
              if (!outcome.holds) break
              held = speed
            }
            return () => ({ value: held, also: {}, observed })
          },
        }
      },
    },
  }),
  measure: 'rate',
  unit: '×',
  size: atEachMultiple,
  limitMs: 1_200_000,
  also: [],
  note: `10,000 workers, 20 s at each multiple; one holds when no call fails, no lease is lost, both sides agree and beat p99 is below ${beatAllowed} ms`,
}

/** Whether a multiple holds, and what the programs have used: the rest of the cores is PostgreSQL's. */
async function playMultiple(
  play: () => Promise<ScenarioReport>,
): Promise<{ readonly holds: boolean; readonly text: string }> {
  const before = process.cpuUsage()
  const start = performance.now()
  let report: ScenarioReport
  try {
    report = await play()
  } catch (error) {
    return { holds: false, text: `does not hold: ${String(error)}` }
  }
  const { user, system } = process.cpuUsage(before)
  const generator = (user + system) / 1_000 / (performance.now() - start)
  const { steady: figures } = report
  const servers = (report.cpuUsPerRequest * figures.requests) / 1e6 / figures.seconds
  const p99 = figures.calls.beat?.p99 ?? 0
  const holds = report.isEqual && figures.errors === 0 && figures.lost === 0 && p99 < beatAllowed
  const text = [
    holds ? 'holds' : 'does not hold',
    `${figures.perSecond} requests/s`,
    `beat p99 ${p99} ms`,
    `${figures.errors} errors`,
    `${figures.lost} leases lost`,
    report.isEqual ? 'both sides agree' : 'the sides do not agree',
    `cores used: servers ${servers.toFixed(2)}, generator ${generator.toFixed(2)}`,
    `generator late by at most ${figures.generatorLagMs} ms`,
  ].join(', ')
  return { holds, text }
}

export const suite: Suite = {
  name: 'fleet',
  summary:
    '10,000 workers: beats, claims and reports at 1, 10 and 40 times the rate of the protocol',
  rows: [...oneServer, ...twoServers, largest],
  // Loaded by the bench alone: the children, which load this file too, start nothing.
  surround: async (wanted, options) => {
    const { surround } = await import('../journal/surround.ts')
    const around = await surround(wanted, options, [needs.postgres])
    const { provideFastApi } = await import('../../servers/fastapi.ts')
    const reason = wanted.has(fastApiNeed) ? await provideFastApi(options) : undefined
    if (reason === undefined) return around
    return { ...around, missing: new Map([...around.missing, [fastApiNeed, reason]]) }
  },
}
