import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCount, parseWhole } from '../../src/arguments/whole-number.ts'

test('a whole number in its bounds is accepted, anything else is refused', () => {
  const port = parseWhole(0, 65_535)
  assert.deepEqual(['0', '4500', '65535'].map(port), [0, 4_500, 65_535])
  for (const text of ['', ' ', '-1', '65536', '1.5', 'http', 'Infinity']) {
    assert.throws(() => port(text), /Expected a whole number from 0 to 65535\./)
  }
})

test('a count is a whole number of at least its bound, or Infinity', () => {
  assert.equal(parseCount(1)('8'), 8)
  assert.equal(parseCount(0)('0'), 0)
  assert.equal(parseCount(1)('Infinity'), Infinity)
  for (const text of ['0', '-1', '1.5', 'x', '', ' ', 'NaN'])
    assert.throws(() => parseCount(1)(text), /whole number/, text)
})
