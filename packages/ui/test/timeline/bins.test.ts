import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CoverRow, PixelRow, spansOf } from '../../src/timeline/bins.ts'

test('B1 a bar colours every pixel that it touches, at least one', () => {
  const row = new PixelRow(10)
  row.add(2.4, 2.5, 1)
  row.add(5.9, 7.1, 1)
  assert.deepEqual(
    spansOf(row).map(({ from, to }) => [from, to]),
    [
      [2, 3],
      [5, 8],
    ],
  )
  row.clear()
  row.add(-5, -1, 1)
  row.add(10, 12, 1)
  assert.deepEqual(spansOf(row), [])
})

test('B2, B3 the heavier colour is seen, and rectangles are in order and apart', () => {
  const bars = fc.array(
    fc.tuple(
      fc.double({ min: -20, max: 120, noNaN: true }),
      fc.double({ min: 0, max: 30, noNaN: true }),
      fc.integer({ min: 1, max: 5 }),
    ),
  )
  fc.assert(
    fc.property(bars, (list) => {
      const row = new PixelRow(100)
      const expected = new Uint8Array(100)
      for (const [from, width, colour] of list) {
        row.add(from, from + width, colour)
        if (from + width < 0 || from >= 100) continue
        const first = Math.max(0, Math.floor(from))
        const last = Math.min(99, Math.max(first, Math.ceil(from + width) - 1))
        for (let x = first; x <= last; x++) expected[x] = Math.max(expected[x]!, colour)
      }
      const drawn = new Uint8Array(100)
      let end = 0
      for (const { from, to, colour } of spansOf(row)) {
        assert.ok(from >= end && to > from)
        end = to
        drawn.fill(colour, from, to)
      }
      assert.deepEqual(drawn, expected)
    }),
  )
})

test('a row of one colour that counts ends is drawn as one that colours pixels', () => {
  const bars = fc.array(
    fc.tuple(
      fc.double({ min: -20, max: 120, noNaN: true }),
      fc.double({ min: 0, max: 60, noNaN: true }),
    ),
  )
  fc.assert(
    fc.property(bars, (list) => {
      const [counted, coloured] = [new CoverRow(100), new PixelRow(100)]
      for (const [from, width] of list) {
        counted.add(from, from + width)
        coloured.add(from, from + width, 1)
      }
      assert.deepEqual(spansOf(counted), spansOf(coloured))
    }),
  )
})
