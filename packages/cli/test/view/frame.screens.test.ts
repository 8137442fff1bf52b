import assert from 'node:assert/strict'
import test from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { tallest } from '../../src/view/frame.ts'
import { paint, textOf } from '../../src/view/line.ts'
import { widthOf } from '../../src/view/text.ts'
import { nodeCounts, screen, sizes } from './screens.ts'

for (const nodes of nodeCounts) {
  for (const [columns, rows] of sizes) {
    test(`V1, V2: ${nodes} nodes at ${columns} × ${rows} fit, with and without colour and Unicode`, () => {
      for (const isUnicode of [true, false]) {
        const lines = screen(nodes, columns, rows, isUnicode)
        assert.ok(lines.length <= Math.min(rows - 1, tallest))
        for (const line of lines) {
          const text = textOf(line)
          assert.ok(widthOf(text) <= columns, text)
          assert.equal(stripVTControlCharacters(paint(line, true)), text)
          // Names and figures are the sample's own: ASCII besides the sign of a group.
          if (!isUnicode) assert.match(text, /^[ -~×]*$/)
        }
      }
    })
  }
}

test('40 × 10: nothing is cut in the middle of a word, a number or an id, and the time is there', () => {
  const lines = screen(10_000, 40, 10).map((line) => textOf(line).trimEnd())
  assert.deepEqual(lines, [
    'nightly.ts  running           1 min 24 s',
    '━━━━━━━╳────────────  3,748/10,000  37 %',
    '18 running · 2 suspended · 1 retrying …',
    '✗ lint-20261117…      TypeError: 12…',
    '● fetch ×16           loop    1.8 s…',
    '  and 5 more running',
    '◌ fetch ×2,483        ready; all 16…',
    '! the event loop stood still for 212…',
    'p pause  q cancel  f filter: all  a all…',
  ])
})

test('80 × 24: nodes of one job are one line, with how many are done', () => {
  const lines = screen(10_000, 80, 24).map((line) => textOf(line).trimEnd())
  assert.ok(
    lines.includes('● fetch ×16                    loop    1.8 s  2,498 of 4,997 done · the…'),
    lines.join('\n'),
  )
  assert.ok(lines[0]!.endsWith('1 min 24 s, 44/s, about 1 min 05 s left'))
})
