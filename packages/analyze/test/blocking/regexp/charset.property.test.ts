import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  charSet,
  complement,
  contains,
  intersection,
  unicodeProperty,
  union,
  withBothCases,
} from '../../../src/blocking/regexp/charset.ts'

const last = 40
const values = Array.from({ length: last + 1 }, (_, i) => i)
const set = fc
  .array(fc.tuple(fc.nat(last), fc.nat(last)), { maxLength: 6 })
  .map((ranges) => charSet(ranges.map(([a, b]) => [Math.min(a, b), Math.max(a, b)])))

test('sets behave as sets of their characters', () => {
  fc.assert(
    fc.property(set, set, (a, b) => {
      for (const value of values) {
        assert.equal(contains(union([a, b]), value), contains(a, value) || contains(b, value))
        assert.equal(contains(intersection(a, b), value), contains(a, value) && contains(b, value))
        assert.equal(contains(complement(a, last), value), !contains(a, value))
      }
    }),
  )
})

test('both cases of a letter are in a set that ignores case', () => {
  const both = withBothCases(charSet([[0x61, 0x63]]))
  assert.deepEqual(both, [0x41, 0x43, 0x61, 0x63])
})

test('a property is what V8 says it is', () => {
  const letters = unicodeProperty('Script=Greek')
  assert.ok(contains(letters, 0x3b1))
  assert.ok(!contains(letters, 0x61))
  const astral = unicodeProperty('Emoji_Presentation')
  assert.ok(contains(astral, 0x1f600))
  assert.ok(!contains(unicodeProperty('Any'), 0xd800))
})
