import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CollectorLog } from '../harness/collector.ts'
import { GapMeter } from '../harness/gap-meter.ts'
import { best, median, ratioOf, round } from '../harness/statistics.ts'
import { random } from '../suites/engine/shapes.ts'

test('median takes the middle', () => {
  assert.equal(median([3, 1, 2]), 2)
  assert.equal(median([4, 1, 3, 2]), 2.5)
  assert.throws(() => median([]), RangeError)
})

test('a ratio above 1 means that ours is better, for rates and latencies', () => {
  assert.equal(ratioOf(200, 100, 'more'), 2)
  assert.equal(ratioOf(50, 100, 'less'), 2)
  assert.equal(best([1, 3, 2], 'more'), 3)
  assert.equal(best([1, 3, 2], 'less'), 1)
  assert.equal(best([], 'more'), undefined)
})

test('figures keep three significant digits', () => {
  assert.equal(round(123_456), 123_000)
  assert.equal(round(0.012_345), 0.0123)
})

test('a loop that gets no turn at all counts as one gap', () => {
  let now = 0
  const meter = new GapMeter(() => now)
  meter.start()
  now = 31
  meter.stop()
  assert.deepEqual(meter.read(), { longest: 30, own: 30, collector: 0 })
})

test('pauses of the collector are taken off the gaps they fall into, once', () => {
  let now = 0
  const meter = new GapMeter(() => now)
  meter.start()
  now = 41
  meter.stop()
  const pauses = [
    { from: -5, to: 3 },
    { from: 10, to: 30 },
    { from: 12, to: 20 },
    { from: 39, to: 60 },
  ]
  assert.deepEqual(meter.read(pauses), { longest: 40, own: 16, collector: 24 })
})

test('the collector reports before a round is read', async () => {
  const log = new CollectorLog()
  await log.take()
  const before = performance.now()
  const kept: object[][] = []
  while ((await log.take()).length === 0) {
    kept.push(Array.from({ length: 100_000 }, (_, index) => ({ index })))
    if (kept.length > 1000) assert.fail('the collector did nothing')
  }
  assert.ok(performance.now() > before)
})

test('the random graph is the same in every process and has three dependencies a node', () => {
  const shape = random(1000)
  assert.deepEqual(shape.after, random(1000).after)
  assert.equal(shape.after.flat().length, 3 * 1000 - 6)
  shape.after.forEach((dependencies, index) => {
    assert.equal(new Set(dependencies).size, dependencies.length)
    for (const dependency of dependencies) assert.ok(dependency < index)
  })
})
