import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { foldingFor, idleGaps, ticks, TimeScale, type Gap } from '../../src/timeline/scale.ts'

const gapLists = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 5_000 }), fc.integer({ min: 1, max: 100_000 })), {
    maxLength: 20,
  })
  .map((steps) => {
    let at = 0
    const gaps: Gap[] = []
    for (const [work, idle] of steps) {
      gaps.push({ from: at + work, to: at + work + idle })
      at += work + idle
    }
    return { gaps, length: at + 100 }
  })
const folding = { foldFrom: 4_000, foldTo: 500 }

test('S1 shown time never falls, and leads back to the time', () => {
  const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2 })
  fc.assert(
    fc.property(gapLists, places, ({ gaps, length }, shares) => {
      const scale = new TimeScale(length, gaps, folding)
      const times = shares.map((share) => share * length).toSorted((a, b) => a - b)
      for (const [i, time] of times.entries()) {
        const shown = scale.toShown(time)
        assert.ok(Math.abs(scale.toTime(shown) - time) < 1e-3 * Math.max(1, length / 1_000))
        if (i > 0) assert.ok(shown >= scale.toShown(times[i - 1]!))
      }
      assert.ok(Math.abs(scale.toShown(length) - scale.shownLength) < 1e-6)
    }),
  )
})

test('S2, S3 gaps of 4 s and more take half a second, everything else keeps its length', () => {
  const gaps = [
    { from: 1_000, to: 4_000 },
    { from: 10_000, to: 25_000 },
  ]
  const scale = new TimeScale(30_000, gaps, folding)
  assert.deepEqual(
    scale.folds.map(({ from, to }) => [from, to]),
    [[10_000, 25_000]],
  )
  assert.equal(scale.toShown(9_000) - scale.toShown(500), 8_500)
  assert.equal(scale.toShown(25_000) - scale.toShown(10_000), 500)
  assert.equal(scale.shownLength, 15_500)
})

test('idle gaps are the stretches that no bar covers', () => {
  assert.deepEqual(idleGaps([100, 150, 900], [400, 200, 950], 3, 1_000), [
    { from: 0, to: 100 },
    { from: 400, to: 900 },
    { from: 950, to: 1_000 },
  ])
})

test('ticks are round, apart, and jump over a folded gap however long it is', () => {
  const gaps = [{ from: 10_000, to: 900_000_000 }]
  const scale = new TimeScale(900_010_000, gaps, foldingFor(900_010_000, gaps))
  const found = ticks(scale, 0, scale.shownLength, 1_800)
  assert.ok(found.length > 5 && found.length < 20, String(found.length))
  for (const [i, time] of found.entries()) {
    assert.equal(time % 2_000, 0)
    if (i > 0) assert.ok(scale.toShown(time) - scale.toShown(found[i - 1]!) >= 1_300)
  }
})
