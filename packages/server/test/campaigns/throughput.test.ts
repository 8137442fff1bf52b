import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '@heddle/core/testing'
import { Throughput } from '../../src/campaigns/throughput.ts'

test('a young campaign has its true rate, not the share of a minute that it has run', async () => {
  const clock = new VirtualClock()
  const throughput = new Throughput(clock)
  assert.equal(throughput.perSecond, 0)
  for (let second = 1; second <= 5; second++) {
    await clock.advance(1_000)
    throughput.add(20, 1_000)
    assert.ok(Math.abs(throughput.perSecond - 20) < 1, `${throughput.perSecond} at ${second} s`)
  }
})

test('the rate falls when nothing is reported', async () => {
  const clock = new VirtualClock()
  const throughput = new Throughput(clock)
  for (let second = 1; second <= 300; second++) {
    await clock.advance(1_000)
    throughput.add(20, 1_000)
  }
  await clock.advance(60_000)
  assert.ok(throughput.perSecond < 8)
  await clock.advance(600_000)
  assert.ok(throughput.perSecond < 0.01)
})
