import assert from 'node:assert/strict'
import test from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { tallest } from '../../src/view/frame.ts'
import { paint, textOf } from '../../src/text/line.ts'
import { widthOf } from '../../src/text/terminal-text.ts'
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
          // Names and figures are the sample's own.
          if (!isUnicode) assert.match(text, /^[ -~]*$/)
        }
      }
    })
  }
}

test('40 × 10: nothing is cut in the middle of a word, a number or an id, and the time is there', () => {
  const lines = screen(10_000, 40, 10).map((line) => textOf(line).trimEnd())
  assert.deepEqual(lines, [
    'nightly.ts  running     1 min 24 s, 44/s',
    '═━━━━━━━╳╌──────────  3,749/10,000  37 %',
    '18 running · 1 failed · 1 blocked …',
    '✗ lint-20261117-093012-k3f9q2  …',
    '● fetch ×16      1.8 s  2,498/4,996',
    '  and 5 more under way',
    '◌ fetch ×2,482  ready; all 16 permits…',
    '! loop blocked 212 ms: job "parse" at…',
    'p pause  q cancel  f filter: all  ? help',
  ])
})

test('80 × 24: nodes of one job are one line, with how many are done', () => {
  const lines = screen(10_000, 80, 24).map((line) => textOf(line).trimEnd())
  assert.ok(
    lines.includes('● fetch ×16                    loop        1.8 s  2,498 of 4,996 done'),
    lines.join('\n'),
  )
  assert.ok(lines[0]!.endsWith('1 min 24 s, 44/s, about 1 min 05 s left'))
  // Progress of a job, as far as it fits: whole figures.
  assert.ok(
    lines.includes('◐ resize images                loop   1 min 24 s  49 %: 97 of 200, 2 failed…'),
    lines.join('\n'),
  )
})

for (const nodes of nodeCounts) {
  for (const [columns, rows] of sizes) {
    test(`${nodes} nodes at ${columns} × ${rows}: every word, figure and id of a screen is one of the sample`, () => {
      const whole = new Set(screen(nodes, 400, 60).flatMap((line) => wordsOf(textOf(line))))
      // What a narrow terminal says in other words.
      const others = ['loop', 'blocked', 'under', 'way', 'and', 'more', '4', '5', '2,498/4,996']
      for (const line of screen(nodes, columns, rows).slice(2)) {
        for (const word of wordsOf(textOf(line))) {
          assert.ok(whole.has(word) || others.includes(word), `${word} in ${textOf(line)}`)
        }
      }
    })
  }
}

function wordsOf(text: string): string[] {
  const words = text.split(/[\s…]+/).map((word) => word.replace(/[,;:]+$/, ''))
  return words.filter((word) => word !== '')
}
