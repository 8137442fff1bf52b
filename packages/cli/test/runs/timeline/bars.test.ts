import { type TimelineRow, type TimeSpan } from '@heddle/core/lowlevel'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asciiTimelineSymbols } from '../../../src/runs/timeline/timeline-symbols.ts'
import { barOf, groupBarOf } from '../../../src/runs/timeline/bars.ts'
import { makeScale } from '../../../src/runs/timeline/scale.ts'
import { textOf } from '../../../src/text/line.ts'

function row(...spans: TimeSpan[]): TimelineRow {
  const state = 'succeeded' as const
  return { node: 'a', job: 'a', place: 'loop', state, critical: false, slack: 0, spans }
}

function run(from: number, to: number, outcome: 'succeeded' | 'failed' = 'succeeded'): TimeSpan {
  return { kind: 'run', from, to, outcome }
}

const scale = makeScale(100, [], 20)
const bar = (...spans: TimeSpan[]): string =>
  textOf(barOf(row(...spans), scale, asciiTimelineSymbols))

test('waiting, running and back-off have different shapes', () => {
  assert.equal(
    bar(
      { kind: 'queue', from: 10, to: 25 },
      run(25, 50, 'failed'),
      { kind: 'backoff', from: 50, to: 70 },
      run(70, 100),
    ),
    '  ...====x~~~~======',
  )
})

test('B2: an attempt that took no time is seen, at both ends and before a gap', () => {
  assert.equal(bar(run(0, 0)), `=${' '.repeat(19)}`)
  assert.equal(bar(run(100, 100, 'failed')), `${' '.repeat(19)}x`)
  const gapped = makeScale(1_000, [{ from: 50, to: 950 }], 11)
  const text = textOf(
    barOf(row(run(50, 50, 'failed'), run(950, 960)), gapped, asciiTimelineSymbols),
  )
  assert.equal(text, '    x:=    ')
})

test('B3: a gap shows through the bar of a waiting job', () => {
  const gapped = makeScale(1_000, [{ from: 50, to: 950 }], 11)
  const text = textOf(
    barOf(row({ kind: 'queue', from: 20, to: 980 }), gapped, asciiTimelineSymbols),
  )
  assert.equal(text, '  ...:...  ')
})

test('a group shows how many ran at a time', () => {
  const rows = [row(run(0, 50)), row(run(0, 25)), row(run(0, 25)), row(run(90, 91))]
  assert.equal(textOf(groupBarOf(rows, scale, asciiTimelineSymbols)), '3333311111        1 ')
  const many = Array.from({ length: 40 }, () => row(run(0, 100)))
  assert.equal(textOf(groupBarOf(many, scale, asciiTimelineSymbols)), '+'.repeat(20))
})
