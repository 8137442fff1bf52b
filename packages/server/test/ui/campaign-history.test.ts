import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer } from '@heddle/server'
import { deliver } from './deliver.ts'

const noop = job({ name: 'noop' }, () => null)

interface History {
  readonly test: {
    readonly at: number[]
    readonly done: number[]
    readonly llr: number[]
    readonly lower: number
    readonly upper: number
  } | null
  readonly parameters: {
    readonly names: string[]
    readonly at: number[]
    readonly values: number[][]
  } | null
  readonly workers: {
    readonly worker: string
    readonly leases: number
    readonly done: number
    readonly residual: number | null
  }[]
  readonly leases: { readonly worker: string; readonly closed: string }[]
}

async function create(url: string, more: object): Promise<string> {
  const response = await fetch(`${url}/campaigns`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'patch',
      job: 'match',
      version: '1',
      units: 4_000,
      batch: 10,
      ...more,
    }),
  })
  const { id } = (await response.json()) as { id: string }
  return id
}

async function read(url: string, id: string): Promise<History> {
  const response = await fetch(`${url}/campaigns/${id}/history`)
  assert.equal(response.status, 200)
  return (await response.json()) as History
}

test('H1 the history of a test grows with the leases and ends at the llr of the campaign', async () => {
  await using server = await startServer({ jobs: [noop], port: 0 })
  const { url } = server
  const rule = { kind: 'sprt', elo0: 0, elo1: 10 }
  const id = await create(url, { rule, outcomes: ['L', 'D', 'W'] })
  const even = (units: number) => [
    Math.floor(units / 4),
    units - 2 * Math.floor(units / 4),
    Math.floor(units / 4),
  ]
  await deliver({ url, name: 'loom', job: 'match', leases: 3, result: even })
  await deliver({ url, name: 'shuttle', job: 'match', leases: 1, result: (units) => [0, 0, units] })
  const { test: over, workers, leases } = await read(url, id)
  assert.ok(over !== null)
  assert.equal(over.llr.length, over.at.length)
  assert.equal(
    over.done.at(-1),
    workers.reduce((sum, { done }) => sum + done, 0),
  )
  assert.ok(over.lower < 0 && over.upper > 0)
  const stats = (await (await fetch(`${url}/campaigns/${id}/stats`)).json()) as {
    rule: { llr: number }
  }
  assert.ok(Math.abs(over.llr.at(-1)! - stats.rule.llr) < 1e-9)
  assert.deepEqual(new Set(workers.map(({ worker }) => worker)), new Set(['loom', 'shuttle']))
  const residual = (name: string) => workers.find(({ worker }) => worker === name)!.residual!
  assert.ok(residual('shuttle') > residual('loom'))
  assert.equal(
    leases.length,
    workers.reduce((sum, each) => sum + each.leases, 0),
  )
})

test('H2 parameters of tuning are sampled with their names', async () => {
  await using server = await startServer({ jobs: [noop], port: 0 })
  const { url } = server
  const parameters = [{ name: 'depth', start: 10, min: 0, max: 20, c_end: 1, r_end: 0.002 }]
  const id = await create(url, {
    proposal: { kind: 'spsa', parameters },
    outcomes: ['L', 'D', 'W'],
  })
  const { parameters: sampled, test: none } = await read(url, id)
  assert.equal(none, null)
  assert.deepEqual(sampled?.names, ['depth'])
  assert.equal(sampled.values[0]!.length, sampled.at.length)
  assert.equal(sampled.values[0]![0], 10)
})
