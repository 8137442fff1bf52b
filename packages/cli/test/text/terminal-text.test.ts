import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import {
  colorfulLines,
  pad,
  printable,
  printableLines,
  rowsOf,
  truncate,
  truncateStart,
  truncateWords,
  widthOf,
} from '../../src/text/terminal-text.ts'

test('sequences that move the cursor, clear the screen or set a title are removed', () => {
  assert.equal(printable('a\u001b[2J\u001b[Hb'), 'ab')
  assert.equal(printable('\u001b]0;title\u0007text'), 'text')
  assert.equal(printable('\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\'), 'link')
  assert.equal(printable('\u001b[31mred\u001b[0m'), 'red')
  assert.equal(printable('a\u009b2Jb'), 'ab')
  assert.equal(printable('\u001bPq device\u001b\\after'), 'after')
})

test('other control characters are displayed, not obeyed; marks that reverse text are removed', () => {
  assert.equal(printable('a\u0007b\u0000c'), 'a␇b␀c')
  assert.equal(printable('a\tb'), 'a    b')
  assert.equal(printable('del\u007f'), 'del␡')
  assert.equal(printable('a\u202egnp.exe'), 'agnp.exe')
})

test('lines are split at every kind of end; of a line that overwrites itself the last version stays', () => {
  assert.deepEqual(printableLines('a\r\nb\nc\u2028d\n'), ['a', 'b', 'c', 'd'])
  assert.deepEqual(printableLines('10 %\r50 %\r100 %'), ['100 %'])
  assert.deepEqual(printableLines('100 %\r'), ['100 %'])
  assert.deepEqual(printableLines(''), [''])
})

test('colours may be kept, and are closed at the end of the line', () => {
  assert.deepEqual(colorfulLines('\u001b[31mred\u001b[2Jder\nplain'), [
    '\u001b[31mredder\u001b[0m',
    'plain',
  ])
})

test('whatever a job says, nothing but printable characters comes out', () => {
  const nasty = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({
      unit: fc.constantFrom(
        '\u001b',
        '[',
        ']',
        'P',
        '3',
        ';',
        'm',
        'J',
        '\u0007',
        '\\',
        '\u009b',
        '\n',
        '\r',
        'x',
      ),
    }),
  )
  fc.assert(
    fc.property(nasty, (text) => {
      for (const line of printableLines(text)) {
        // oxlint-disable-next-line no-control-regex -- what must not be there
        assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
      }
      for (const line of colorfulLines(text)) {
        // oxlint-disable-next-line no-control-regex -- what must not be there
        assert.doesNotMatch(
          line.replaceAll(/\u001b\[[\d;:]*m/g, ''),
          /[\u0000-\u001f\u007f-\u009f]/,
        )
      }
    }),
    { numRuns: 2_000 },
  )
})

test('wide characters take two columns, marks none, flags and families two together', () => {
  const widths: [string, number][] = [
    ['abc', 3],
    ['日本語', 6],
    ['한국어', 6],
    ['ｆｕｌｌ', 8],
    ['ｶﾀｶﾅ', 4],
    ['é', 1],
    ['e\u0301', 1],
    ['🎉', 2],
    ['👩‍👩‍👧', 2],
    ['🇩🇪', 2],
    ['❤️', 2],
    ['✓●○━', 4],
    ['a\u200bb', 2],
    ['', 0],
  ]
  for (const [text, width] of widths) assert.equal(widthOf(text), width, text)
})

test('truncation never exceeds the columns and never cuts a character in two', () => {
  assert.equal(truncate('building', 8), 'building')
  assert.equal(truncate('building', 6), 'build…')
  assert.equal(truncate('日本語', 5), '日本…')
  assert.equal(truncate('日本語', 4), '日…')
  assert.equal(truncate('ab', 0), '')
  assert.equal(
    truncate('run 20261116-012532-nqrv8z now', 18),
    'run…',
    'an id is whole or not there',
  )
  assert.equal(truncate('fetch page 17', 11), 'fetch page…')
  assert.equal(truncate('fetch page 17', 10), 'fetch…')
  assert.equal(truncate('fetch page 17', 6), 'fetch…')
  assert.equal(truncate('blocked for 212 ms: parse', 18), 'blocked for…', 'a figure with its unit')
  assert.equal(truncate('97 of 200, 2 failed', 14), '97 of 200…', 'a figure with what it counts')
  assert.equal(truncate('2,498 of 4,996 done', 16), '2,498 of 4,996…')
  assert.equal(truncate('17 %: 33 of 200', 9), '17 %…')
  assert.equal(truncate('17 %: 33 of 200', 13), '17 %…')
  assert.equal(truncateWords('TypeError: 12 problems', 9), '…', 'no part of a word')
  assert.equal(truncateWords('TypeError: 12 problems', 12), 'TypeError…')
  const text = fc.string({ unit: fc.oneof(fc.constantFrom('a', '日', '🎉', 'e\u0301', '🇩🇪', ' ')) })
  fc.assert(
    fc.property(text, fc.nat(30), (any, columns) => {
      const cut = truncate(any, columns)
      assert.ok(widthOf(cut) <= columns)
      if (widthOf(any) <= columns) assert.equal(cut, any)
    }),
  )
})

test('padding counts columns', () => {
  assert.equal(pad('日', 4), '日  ')
  assert.equal(pad('long', 2), 'long')
})

test('rows of a wrapped line: a wide character is not cut in two', () => {
  assert.deepEqual(
    [rowsOf('', 4), rowsOf('abcd', 4), rowsOf('abcde', 4), rowsOf('a日日', 4), rowsOf('日日', 3)],
    [1, 1, 2, 2, 2],
  )
})

test('the end of a long path is kept, from one of its parts on', () => {
  assert.equal(truncateStart('src/a.ts', 8), 'src/a.ts')
  assert.equal(truncateStart('/home/ada/projects/shop/nightly.ts', 20), '…/shop/nightly.ts')
  assert.equal(truncateStart('a-very-long-name-of-a-file.ts', 10), '…a-file.ts')
  assert.equal(truncateStart('/x/nightly-import-of-orders.ts', 12), '…f-orders.ts')
  assert.equal(truncateStart('名前/夜.ts', 6), '…夜.ts')
  assert.equal(truncateStart('abc', 1), '…')
  assert.equal(truncateStart('abc', 0), '')
})
