import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Rows, rowsByNode, type Bars } from '../../src/timeline/lanes.ts'

interface Made {
  readonly row: number
  readonly started: number
  readonly took: number
}
const barLists: fc.Arbitrary<Made[]> = fc.array(
  fc.record({
    row: fc.nat({ max: 4 }),
    started: fc.nat({ max: 1_000 }),
    took: fc.nat({ max: 300 }),
  }),
  { maxLength: 80 },
)

function toBars(list: readonly Made[]): Bars {
  return {
    count: list.length,
    row: list.map(({ row }) => row),
    started: list.map(({ started }) => started),
    ended: list.map(({ started, took }) => started + took),
  }
}
const byNumber = (a: number, b: number): number => a - b

test('N1 every bar is in its row, in order of start', () => {
  fc.assert(
    fc.property(barLists, (list) => {
      const rows = new Rows(toBars(list), 5)
      const all: number[] = []
      for (let row = 0; row < 5; row++) {
        const found = [...rows.barsOf(row)]
        all.push(...found)
        assert.ok(found.every((bar) => list[bar]!.row === row))
        const starts = found.map((bar) => list[bar]!.started)
        assert.deepEqual(starts, starts.toSorted(byNumber))
      }
      assert.deepEqual(
        all.toSorted(byNumber),
        list.map((_, bar) => bar),
      )
    }),
  )
})

test('N2 exactly the bars that touch a stretch are visible', () => {
  fc.assert(
    fc.property(barLists, fc.nat({ max: 1_200 }), fc.nat({ max: 400 }), (list, from, width) => {
      const rows = new Rows(toBars(list), 5)
      for (let row = 0; row < 5; row++) {
        const found: number[] = []
        rows.visible(row, from, from + width, (bar) => found.push(bar))
        const expected = list.flatMap((each, bar) =>
          each.row === row && each.started <= from + width && each.started + each.took >= from
            ? [bar]
            : [],
        )
        assert.deepEqual(found.toSorted(byNumber), expected)
      }
    }),
  )
})

test('N3 the bar under a moment is found, else a near one, else none', () => {
  const rows = new Rows({ count: 2, row: [0, 0], started: [100, 200], ended: [150, 260] }, 1)
  assert.deepEqual(
    [rows.barAt(0, 120, 5), rows.barAt(0, 197, 5), rows.barAt(0, 175, 5)],
    [0, 1, undefined],
  )
})

test('rows by node are in order of the first start', () => {
  const row = new Int32Array(4)
  assert.deepEqual(rowsByNode([7, 3, 7, 1], 4, row), { count: 3, nodes: [7, 3, 1] })
  assert.deepEqual([...row], [0, 1, 0, 2])
})
