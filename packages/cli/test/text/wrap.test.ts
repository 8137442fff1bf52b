import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { command, span, textOf, type Line } from '../../src/text/line.ts'
import { widthOf } from '../../src/text/terminal-text.ts'
import { wrap } from '../../src/text/wrap.ts'

const texts = (line: Line, columns: number | undefined): string[] => wrap(line, columns).map(textOf)

test('a line that fits, or goes to no terminal, is not touched', () => {
  const line = [span('✗ big.ts: ', 'red'), span('1 failed, 1 stopped in 4.1 s')]
  assert.deepEqual(wrap(line, 80), [line])
  assert.deepEqual(wrap(line, undefined), [line])
})

test('a longer line is wrapped at blanks, under its text, and a figure stays with its unit', () => {
  const line = [span('✗ big.ts: ', 'red'), span('1 failed, 1 stopped, 40 skipped in 4.1 s')]
  assert.deepEqual(texts(line, 34), [
    '✗ big.ts: 1 failed, 1 stopped,',
    '          40 skipped in 4.1 s',
  ])
  assert.deepEqual(
    texts([span('  run           '), span('20261117-222811-wdvwcv in memory')], 40),
    ['  run           20261117-222811-wdvwcv', '    in memory'],
  )
  assert.deepEqual(texts([span('took about 4.1 s')], 15), ['took about', '4.1 s'])
})

test('the message of an error keeps its indent, and words that cross styles stay whole', () => {
  const line = [span('      '), span('the page', 'red'), span('33', 'bold'), span(' is gone')]
  assert.deepEqual(texts(line, 20), ['      the page33 is', '      gone'])
})

test('a command ends with a backslash where it continues', () => {
  const line = [
    span('  resume with   '),
    command('heddle run big.ts --resume 20261117-222811-wdvwcv', 'bold'),
  ]
  assert.deepEqual(texts(line, 60), [
    '  resume with   heddle run big.ts --resume \\',
    '                20261117-222811-wdvwcv',
  ])
  assert.deepEqual(texts(line, 40), [
    '  resume with   heddle run big.ts \\',
    '    --resume 20261117-222811-wdvwcv',
  ])
})

test('a word that does not fit beside the indent moves to the left, and is not broken', () => {
  const line = [span('      at '), span('Object.run (packages/jobs.ts:7:12)')]
  assert.deepEqual(texts(line, 26), ['      at Object.run', '   (packages/jobs.ts:7:12)'])
})

test('nothing is lost, no word is broken, and only a word that is wider than the terminal is', () => {
  const word = fc.string({
    unit: fc.constantFrom('a', ',', '7', '日', '🎉'),
    minLength: 1,
    maxLength: 12,
  })
  const piece = fc.array(word, { minLength: 1, maxLength: 8 }).map((words) => words.join(' '))
  fc.assert(
    fc.property(
      fc.array(piece, { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 2, max: 40 }),
      (pieces, columns) => {
        const line = pieces.map((text, i) => span(i === 0 ? `  ${text}` : ` ${text}`))
        const words = textOf(line).trim().split(/ +/)
        const wrapped = texts(line, columns)
        assert.deepEqual(wrapped.join(' ').trim().split(/ +/), words)
        for (const text of wrapped) {
          if (widthOf(text) > columns) assert.match(text.trim(), /^\S+$/)
        }
      },
    ),
  )
})

test('a count stays with the state that it counts', () => {
  const line = [span('x '), span('nightly.ts: 1 failed, 4 stopped, 3 succeeded in 6.8 s')]
  assert.deepEqual(texts(line, 36), [
    'x nightly.ts: 1 failed, 4 stopped,',
    '  3 succeeded in 6.8 s',
  ])
})
