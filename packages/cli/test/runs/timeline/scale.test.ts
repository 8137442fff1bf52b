import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { makeScale } from '../../../src/runs/timeline/scale.ts'

test('without gaps, time is spread evenly', () => {
  const scale = makeScale(100, [], 50)
  assert.deepEqual(
    [0, 10, 50, 100, 120].map((time) => scale.columnOf(time)),
    [0, 5, 25, 50, 50],
  )
  assert.equal(scale.timeOf(25), 50)
})

test('a long stretch in which nothing ran takes one column; short stretches, and those at the ends, stay', () => {
  const idle = [
    { from: 0, to: 5 },
    { from: 100, to: 105 },
    { from: 200, to: 9_000 },
    { from: 9_200, to: 9_300 },
  ]
  const scale = makeScale(9_300, idle, 51)
  assert.deepEqual(
    scale.gaps.map(({ from, to, column }) => [from, to, column]),
    [[200, 9_000, scale.columnOf(200)]],
  )
  assert.equal(scale.columnOf(9_000), scale.gaps[0]!.column + 1)
  assert.equal(scale.columnOf(5_000), scale.gaps[0]!.column + 1)
})

const runs = fc
  .array(fc.integer({ min: 1, max: 10_000 }), { minLength: 1, maxLength: 60 })
  .map((lengths) => {
    const idle: { from: number; to: number }[] = []
    let at = 0
    for (const [i, length] of lengths.entries()) {
      if (i % 2 === 1) idle.push({ from: at, to: at + length })
      at += length
    }
    return { idle, length: at }
  })

test('S1, S2: columns never go back, are in range, and every piece and gap has its own', () => {
  fc.assert(
    fc.property(runs, fc.integer({ min: 8, max: 300 }), ({ idle, length }, columns) => {
      const scale = makeScale(length, idle, columns)
      let last = 0
      for (let i = 0; i <= 100; i++) {
        const column = scale.columnOf((length * i) / 100)
        assert.ok(column >= last && column <= columns, `column ${column} of ${columns}`)
        last = column
      }
      assert.equal(scale.columnOf(0), 0)
      assert.equal(scale.columnOf(length), columns)
      let after = 0
      for (const { from, to, column } of scale.gaps) {
        assert.ok(column > after || (after === 0 && column >= 1), 'a piece without a column')
        assert.equal(scale.columnOf(from), column)
        assert.equal(scale.columnOf(to), column + 1)
        after = column + 1
      }
      if (scale.gaps.length > 0) assert.ok(after < columns, 'the last piece has no column')
      for (let column = 0; column < columns; column++) {
        assert.ok(scale.timeOf(column) <= scale.timeOf(column + 1))
      }
    }),
    { numRuns: 300 },
  )
})

test('a run that took no time has a picture too', () => {
  const scale = makeScale(0, [], 10)
  assert.equal(scale.columnOf(0), 0)
  assert.equal(scale.timeOf(10), 0)
})
