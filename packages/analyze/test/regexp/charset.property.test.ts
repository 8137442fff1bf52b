import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  canonical,
  charSet,
  complement,
  contains,
  intersection,
  tabled,
  tableOf,
  union,
  withBothCases,
} from '../../src/regexp/charset.ts'

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

test('with both cases is with everything that has the same upper-case form', () => {
  const value = fc.oneof(fc.nat(0x17f), fc.nat(0xd7ff))
  fc.assert(
    fc.property(value, value, (one, other) => {
      const both = withBothCases([one, one])
      assert.equal(contains(both, other), canonical(one) === canonical(other))
    }),
    { numRuns: 2_000 },
  )
})

test('the table of a set is the set, as far as it goes', () => {
  const wide = fc
    .array(fc.tuple(fc.nat(300), fc.nat(300)), { maxLength: 6 })
    .map((ranges) => charSet(ranges.map(([a, b]) => [Math.min(a, b), Math.max(a, b)])))
  fc.assert(
    fc.property(wide, (one) => {
      const table = tableOf(one)
      for (let value = 0; value < tabled; value += 1) {
        assert.equal(table[value] === 1, contains(one, value))
      }
    }),
  )
})
