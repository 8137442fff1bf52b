/** Campaigns that no worker could ever work on are refused when they are created. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer } from '../../src/server.ts'
import { call } from '../support/client.ts'

const play = job({ name: 'play', place: 'fleet', module: import.meta.url }, () => null)
const one = { name: 'margin', start: 5, min: 0, max: 10, c_end: 1, r_end: 0.002 }
const games = ['L', 'D', 'W']

const contradictions: readonly (readonly [what: string, body: object, field: RegExp])[] = [
  [
    'fewer threads at most than at least',
    { needs: { min_threads: 4, max_threads: 2 } },
    /max_threads/,
  ],
  ['two outcomes of one name', { outcomes: ['win', 'win', 'draw'] }, /outcomes/],
  ['a minimum above the maximum', tuning([{ ...one, min: 10, max: 0 }]), /margin/],
  ['a start outside of its limits', tuning([{ ...one, start: 11 }]), /margin/],
  ['two parameters of one name', tuning([one, one]), /margin/],
]

function tuning(parameters: readonly object[]): object {
  return { outcomes: games, proposal: { kind: 'spsa', parameters } }
}

test('a campaign that contradicts itself is refused, and the answer names the field', async () => {
  await using server = await startServer({ jobs: [play], port: 0, limits: { loopGap: Infinity } })
  for (const [what, more, field] of contradictions) {
    const body = { name: 'match', job: 'play', units: 100, ...more }
    const answer = await call(server, '/campaigns', { body })
    assert.deepEqual([answer.status, answer.body.error?.code], [400, 'bad_request'], what)
    assert.match(answer.body.error!.message, field)
  }
})
