/**
 * 10,000 workers on this machine, generator included. The figure is the 99th percentile of a beat, from the time at which it was
 * due; the rest is below it. Accidents (`--kill --restart --slow --longpoll --burst`) are played by `npm run test:load`.
 */
import path from 'node:path'
import type { Contender, Entrant, Figures, Row, Suite } from '../../harness/row.ts'
import { workFolder } from '../../servers/work-folder.ts'
import { addressIn, needs, postgresVariable } from '../journal/needs.ts'
import type { Scenario, ScenarioReport } from './scenario.ts'

const workers = 10_000
/** Milliseconds of steady load. */
const steady = 60_000
const quick = 3_000

interface Setting {
  readonly speed: number
  readonly servers: number
}

function entrant(role: Entrant['role'], setting: Setting, store: 'sqlite' | 'postgres'): Entrant {
  return {
    role,
    ...(store === 'postgres' && { needs: [needs.postgres] }),
    load: async (): Promise<Contender> => {
      const { runScenario } = await import('./scenario.ts')
      return {
        prepare: async (size) => {
          const scenario: Scenario = {
            ...setting,
            // A quick run shows that everything works.
            workers: size < steady ? 300 : workers,
            store: await storeOf(store),
            ramp: size < steady ? 1 : 10,
            seconds: size / 1_000,
            kill: 0,
            restart: false,
            slow: 0,
            longpoll: 0,
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

async function storeOf(store: 'sqlite' | 'postgres'): Promise<string> {
  if (store === 'sqlite') return `sqlite:${path.join(await workFolder(), 'fleet.db')}`
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
      leases: `${figures.held} held by workers, ${report.serverHeld} by servers, ${figures.lost} lost`,
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
  })
})

const twoServers = [10, 40].map((speed) =>
  row(`${speed} ×, two servers on one PostgreSQL`, {
    heddle: entrant('ours', { speed, servers: 2 }, 'postgres'),
  }),
)

export const suite: Suite = {
  name: 'fleet',
  summary:
    '10,000 workers: beats, claims and reports at 1, 10 and 40 times the rate of the protocol',
  rows: [...oneServer, ...twoServers],
  // Loaded by the bench alone: the children, which load this file too, start nothing.
  surround: async (wanted, options) => {
    const { surround } = await import('../journal/surround.ts')
    return surround(wanted, options, [needs.postgres])
  },
}
