import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { countLines, lineStarts, positionIn } from '../../src/frontend/lines.ts'

test('lines end as JavaScript ends them', () => {
  assert.deepEqual([...lineStarts('a\nb\r\nc')], [0, 2, 5])
  assert.deepEqual([...lineStarts('a\rb\u2028c\u2029d\r\n')], [0, 2, 4, 6, 9])
  assert.deepEqual([...lineStarts('')], [0])
})

test('positions outside of the text are moved to its ends', () => {
  const starts = lineStarts('ab\ncd')
  assert.deepEqual(positionIn(starts, -5), { line: 1, column: 1 })
  assert.deepEqual(positionIn(starts, 5), { line: 2, column: 3 })
})

test('a position is where splitting the text before it says it is', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '😀', '\n', '\r\n', '\r', '\u2028') })
  fc.assert(
    fc.property(text, fc.nat(), (source, seed) => {
      let offset = seed % (source.length + 1)
      // Between the two halves of a line end nothing begins.
      if (source[offset - 1] === '\r' && source[offset] === '\n') offset++
      const before = source.slice(0, offset).split(/\r\n|[\n\r\u2028\u2029]/)
      const expected = { line: before.length, column: before.at(-1)!.length + 1 }
      assert.deepEqual(positionIn(lineStarts(source), offset), expected)
      assert.equal(countLines(source), lineStarts(source).length)
    }),
  )
})
