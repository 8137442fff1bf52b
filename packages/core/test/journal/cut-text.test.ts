import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cutRecord, cutText, longestText } from '../../src/journal/cut-text.ts'

test('the pieces of a line are the line, none too long, none with half a character', () => {
  const line = fc
    .tuple(fc.nat(3), fc.constantFrom('x', '🪡', 'x🪡'), fc.nat(200_000))
    .map(([lead, text, count]) => 'y'.repeat(lead) + text.repeat(count))
  fc.assert(
    fc.property(line, (text) => {
      const pieces = [...cutText(text)]
      assert.equal(pieces.join(''), text)
      assert.ok(pieces.every((piece) => piece.length <= longestText && piece.isWellFormed()))
      assert.ok(pieces.length === 1 || pieces.every((piece) => piece !== ''))
    }),
    { numRuns: 30 },
  )
})

test('named fields of an error are kept, whatever they hold', () => {
  const cause = { name: 'Error', message: 'why' }
  const error = { name: 'E', message: 'm', code: 'C', stack: 's', cause }
  assert.deepEqual(cutRecord({ ...error, work: () => 1 } as never), error)
  assert.deepEqual(cutRecord({ name: 5, message: undefined } as never), {
    name: '5',
    message: 'undefined',
  })
})

test('a chain of causes that bites its tail ends', () => {
  const error: Record<string, unknown> = { name: 'E', message: 'm' }
  error['cause'] = error
  assert.ok(JSON.stringify(cutRecord(error as never)).length < 1000)
})
