import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateScale } from '../fleet/scale.ts'

for (const servers of [1, 2]) {
  test(`lost answers, a partition and kill -9 of a server of ${servers}: no lease is lost, each unit is counted once, no herd`, async () => {
    const report = await simulateScale({
      workers: 1_000,
      servers,
      steady: 300,
      seed: 3,
      partition: 0.1,
      loss: 0.05,
    })
    const { lost, difference, backWithin, herd, callsPerSecond } = report
    assert.deepEqual([lost, difference], [0, 0])
    assert.ok(backWithin <= 60 && herd <= 5, JSON.stringify(report))
    assert.ok(callsPerSecond >= 8 && callsPerSecond <= 13, JSON.stringify(report))
  })
}
