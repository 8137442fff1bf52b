import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Histogram } from '../../src/kernel/histogram.ts'

test('an empty histogram is all zero', () => {
  const empty = { count: 0, sum: 0, min: 0, max: 0, p50: 0, p90: 0, p99: 0, p999: 0 }
  assert.deepEqual(new Histogram().snapshot(), empty)
  assert.equal(new Histogram().countUpTo(10), 0)
})

test('a value that is not a duration counts as 0, an absurdly long one as the longest', () => {
  const histogram = new Histogram()
  for (const value of [-5, NaN, 0]) histogram.record(value)
  assert.equal(histogram.quantile(1), 0)
  histogram.record(1e15)
  assert.equal(histogram.count, 4)
  assert.equal(histogram.snapshot().max, 1e15)
  assert.ok(histogram.quantile(1) > 1e11)
})

test('quantiles match the sorted values, at most 1/32 and a microsecond too large', () => {
  const values = fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { minLength: 1 })
  fc.assert(
    fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (all, q) => {
      const histogram = new Histogram()
      for (const value of all) histogram.record(value)
      const sorted = all.toSorted((a, b) => a - b)
      const exact = sorted[Math.max(1, Math.ceil(q * all.length)) - 1]!
      const found = histogram.quantile(q)
      assert.ok(found >= exact - 0.001, `${found} is below ${exact}`)
      assert.ok(found <= exact * (1 + 1 / 32) + 0.001, `${found} is far above ${exact}`)
      const { count, min, max, sum } = histogram.snapshot()
      assert.deepEqual([count, min, max], [all.length, sorted[0], sorted.at(-1)])
      assert.equal(histogram.sum, sum)
      assert.ok(Math.abs(sum - all.reduce((a, b) => a + b, 0)) <= sum * 1e-9)
      assert.equal(histogram.countUpTo(max), all.length)
    }),
  )
})

test('countUpTo() grows with its limit and is exact between buckets', () => {
  const histogram = new Histogram()
  for (let ms = 1; ms <= 1000; ms++) histogram.record(ms)
  assert.equal(histogram.countUpTo(-1), 0)
  let last = 0
  for (const limit of [0.5, 1, 5, 10, 50, 100, 500, 1000, 5000]) {
    const count = histogram.countUpTo(limit)
    assert.ok(count >= last)
    assert.ok(Math.abs(count - Math.min(Math.floor(limit), 1000)) <= limit / 16)
    last = count
  }
})
