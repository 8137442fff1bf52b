import assert from 'node:assert/strict'
import path from 'node:path'
import test from 'node:test'
import { malformedRequests } from '../http/malformed.ts'
import { playLives } from '../http/lives.ts'
import { isHttpProgram } from '../http/programs.ts'

test('malformed requests at a server of its own: nothing is wrong and nothing is left', async () => {
  const checkout = path.resolve(import.meta.dirname, '../..')
  const report = await malformedRequests({ checkout, requests: 200, seed: 5, streams: 5 })
  assert.deepEqual(report.problems, [])
  assert.equal(report.sent, 200)
  assert.deepEqual(report.left, { connections: 0, bodies: 0, works: 0 })
  assert.ok(report.statuses['400']! > 0)
})

for (const end of ['drain', 'kill'] as const) {
  test(`a server under load, ended by a ${end}: nothing acknowledged is lost, no request is reset`, async () => {
    const checkout = path.resolve(import.meta.dirname, '../..')
    const report = await playLives({ checkout, lives: 1, end, clients: 6, seed: 11 })
    assert.deepEqual([report.lost, report.resets, report.badEnds], [[], 0, []])
    assert.ok(report.acknowledged > 0)
  })
}

test('programs have names of their own', () => {
  assert.equal(isHttpProgram('slow-senders'), true)
  for (const name of [undefined, '--kills', 'toString']) assert.equal(isHttpProgram(name), false)
})
