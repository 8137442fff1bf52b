import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LineIndex } from '../../../src/report/line-index.ts'
import { frame, gutterOf, type Mark } from '../../../src/report/text/frame.ts'
import { plainText, textOf } from '../../support/report.ts'
import { spanOf } from '../../support/sample.ts'

function mark(text: string, piece: string, label = piece.trim()): Mark {
  return { span: spanOf(text, piece), label, style: 'red', sign: '^' }
}

function draw(text: string, marks: readonly Mark[], options = plainText): string {
  const gutter = gutterOf(marks.map(({ span }) => span))
  return textOf(frame(new LineIndex(text), marks, gutter, options))
}

const numbered = Array.from({ length: 12 }, (_, i) => `line ${i + 1};`).join('\n')

test('few lines between two marks are shown, many are dots', () => {
  const near = draw(numbered, [mark(numbered, 'line 2'), mark(numbered, 'line 5')])
  assert.match(near, / 3 \| line 3;\n 4 \| line 4;\n/)
  const far = draw(numbered, [mark(numbered, 'line 2'), mark(numbered, 'line 10')])
  assert.equal(
    far,
    '   |\n 2 | line 2;\n   | ^^^^^^ line 2\n...\n10 | line 10;\n   | ^^^^^^^ line 10',
  )
})

test('two marks on one line are drawn below each other, in their order', () => {
  const text = 'x += await y()'
  assert.equal(
    draw(text, [mark(text, 'await y()', 'suspension'), mark(text, 'x', 'read')]),
    '   |\n 1 | x += await y()\n   | ^ read\n   |      ^^^^^^^^^ suspension',
  )
})

test('tabs have the same width in the marks as in the code', () => {
  const text = '\tif\t(x)'
  assert.equal(draw(text, [mark(text, '(x)')]), '   |\n 1 |     if    (x)\n   |           ^^^ (x)')
})

test('a mark over several lines says where it ends', () => {
  const text = 'await open(\n  url,\n)'
  assert.match(draw(text, [mark(text, text, 'check')]), /\| \^{11} check \(to line 3\)$/)
})

test('a line of a megabyte is cut around its mark, quickly', () => {
  const text = `${'a'.repeat(500_000)}NEEDLE${'b'.repeat(500_000)}`
  const drawn = draw(text, [mark(text, 'NEEDLE')])
  assert.ok(drawn.length < 1_000)
  assert.match(drawn, /\| …a{24}NEEDLEb+…\n {3}\| {26}\^{6} NEEDLE$/)
})

test('in a terminal, a label without room has a line of its own', () => {
  const text = `${' '.repeat(30)}call()`
  const options = { ...plainText, columns: 45, isTerminal: true }
  const drawn = draw(text, [mark(text, 'call()', 'other tasks run here')], options)
  assert.match(drawn, /\n {3}\| {31}\^{6}\n {3}\| +other tasks run here$/)
  for (const line of drawn.split('\n')) assert.ok(line.length <= 45, line)
})
