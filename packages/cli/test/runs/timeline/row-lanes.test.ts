import { type TimelineRow } from '@heddle/core/lowlevel'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lanesOf } from '../../../src/runs/timeline/row-lanes.ts'

function row(node: string, job: string, place: TimelineRow['place'] = 'loop'): TimelineRow {
  return { node, job, place, state: 'succeeded', critical: false, slack: 0, spans: [] }
}

test('lanes by place; other rows are grouped by job, the largest first', () => {
  const rows = [
    row('x', 'x', 'thread'),
    row('a1', 'a'),
    ...['b1', 'b2', 'b3'].map((name) => row(name, 'b')),
    ...['c1', 'c2'].map((name) => row(name, 'c')),
    row('d1', 'd'),
    row('e1', 'e'),
  ]
  const lanes = lanesOf(rows, new Set(['a1', 'x']))
  assert.deepEqual(
    lanes.map(({ place, all, rows: kept, groups }) => [
      place,
      all.length,
      kept.map(({ node }) => node),
      groups.map((group) => [group.job, group.rows.length]),
    ]),
    [
      [
        'loop',
        8,
        ['a1'],
        [
          ['b', 3],
          ['c', 2],
          [undefined, 2],
        ],
      ],
      ['thread', 1, ['x'], []],
    ],
  )
})

test('many jobs make few groups, and no row is lost', () => {
  const rows = Array.from({ length: 200 }, (_, i) => row(`n${i}`, `job ${i % 20}`))
  const [lane] = lanesOf(rows, new Set())
  assert.equal(lane!.groups.length, 6)
  assert.equal(lane!.groups.flatMap((group) => group.rows).length, 200)
})
