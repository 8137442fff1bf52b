import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { asciiTimelineSymbols } from '../../../src/runs/timeline/timeline-symbols.ts'
import { axisOf } from '../../../src/runs/timeline/axis.ts'
import { makeScale } from '../../../src/runs/timeline/scale.ts'
import { textOf } from '../../../src/text/line.ts'

function axis(length: number, columns: number, idle: { from: number; to: number }[] = []): string {
  return textOf(axisOf(makeScale(length, idle, columns), asciiTimelineSymbols))
}

test('ticks are at round times', () => {
  assert.equal(axis(1_000, 50), '|0 ms     |200 ms   |400 ms   |600 ms   |800 ms')
})

test('after a gap the time scale continues at the same place', () => {
  const idle = [{ from: 1_000, to: 3_600_000 }]
  assert.equal(axis(3_601_000, 61, idle), '|0 ms          |500 ms        :|1 h 00 min')
})

test('neighbours do not say the same', () => {
  const labels = axis(12_500, 80, [{ from: 100, to: 11_700 }])
    .split('|')
    .slice(1)
  assert.equal(new Set(labels.map((label) => label.trim())).size, labels.length)
})

test('property: not wider than the scale, whatever the run', () => {
  fc.assert(
    fc.property(fc.nat({ max: 1e9 }), fc.integer({ min: 8, max: 200 }), (length, columns) => {
      assert.ok(axis(length, columns).length <= columns)
    }),
  )
})
