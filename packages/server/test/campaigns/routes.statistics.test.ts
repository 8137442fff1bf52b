/** `POST /stats/calc` gives the results of the library, and both match the oracle. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer } from '../../src/server.ts'
import { call } from '../support/client.ts'
import oracle from './statistics/oracle.json' with { type: 'json' }

interface OracleCase {
  readonly name: string
  readonly penta: number[]
  readonly results: number[]
  readonly model: 'logistic' | 'normalized'
  readonly elo0: number
  readonly elo1: number
  readonly llr: number
  readonly elo: number
  readonly ci: [number, number]
  readonly LOS: number
  readonly out: [number, number, number]
}

interface Calculated {
  readonly elo: number
  readonly error: number
  readonly los: number
  readonly sprt?: {
    readonly llr: number
    readonly elo: number
    readonly interval: [number, number]
    readonly los: number
  }
}

const cases = oracle.cases as unknown as readonly OracleCase[]
const play = job({ name: 'play', place: 'fleet', module: import.meta.url }, () => null)

function near(actual: number, expected: number, tolerance: number, what: string): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${what}: ${actual}, expected ${expected}`)
}

test('the oracle over HTTP: tests of pairs, and Elo with error bars', async () => {
  await using server = await startServer({ jobs: [play], port: 0, limits: { loopGap: Infinity } })
  const calculate = async (body: object): Promise<Calculated> => {
    const reply = await call(server, '/stats/calc', { body })
    assert.equal(reply.status, 200, JSON.stringify(reply.body))
    return reply.body as unknown as Calculated
  }
  for (const { name, penta, model, elo0, elo1, llr, elo, ci, LOS } of cases) {
    // The route takes whole counts.
    if (name !== 'sprt' || !penta.every(Number.isInteger)) continue
    const { sprt } = await calculate({ results: penta, model, elo0, elo1 })
    const what = penta.join(' ')
    near(sprt!.llr, llr, 1e-9, `${what} llr`)
    near(sprt!.elo, elo, 1e-6, `${what} elo`)
    near(sprt!.interval[0], ci[0], 1e-6, `${what} low`)
    near(sprt!.interval[1], ci[1], 1e-6, `${what} high`)
    near(sprt!.los, LOS, 1e-6, `${what} los`)
  }
  for (const { name, results, out } of cases) {
    if (name !== 'get_elo' || !results.every(Number.isInteger)) continue
    const { elo, error, los } = await calculate({ results })
    near(elo, out[0], 1e-6, `${results.join(' ')} elo`)
    near(error, out[1], 1e-6, `${results.join(' ')} error`)
    near(los, out[2], 1e-6, `${results.join(' ')} los`)
  }
})

test('zero counts and a single game have an answer; impossible calculations are 400', async () => {
  await using server = await startServer({ jobs: [play], port: 0, limits: { loopGap: Infinity } })
  for (const results of [
    [0, 0, 0],
    [1, 0, 0],
    [0, 0, 0, 0, 1],
  ]) {
    for (const model of ['logistic', 'normalized'] as const) {
      const body = { results, model, elo0: 0, elo1: 5 }
      const reply = await call(server, '/stats/calc', { body })
      assert.equal(reply.status, 200, JSON.stringify(reply.body))
      const { sprt } = reply.body as unknown as Calculated
      assert.ok(Number.isFinite(sprt!.llr) && Number.isFinite(sprt!.elo), results.join(' '))
    }
  }
  for (const body of [
    { results: [1, 2] },
    { results: [1, 2, 3, 4] },
    { results: [1, 2, -1] },
    { results: [1, 2, 0.5] },
    { results: [1, 2, 3], elo0: 5, elo1: 5 },
    { results: [1, 2, 3, 4, 5], elo0: 0, elo1: 5, model: 'bayes' },
  ]) {
    assert.equal((await call(server, '/stats/calc', { body })).status, 400, JSON.stringify(body))
  }
})
