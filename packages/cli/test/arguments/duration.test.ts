import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAge, parseDuration, parsePatience } from '../../src/arguments/duration.ts'

test('durations are parsed with and without a unit', () => {
  assert.deepEqual(
    ['1500', '250ms', '1.5s', '5min', '2h', '3d', '1w', 'Infinity'].map(parseDuration),
    [1_500, 250, 1_500, 300_000, 7_200_000, 259_200_000, 604_800_000, Infinity],
  )
  for (const text of ['0', '0s', '-5', '5 parsecs', '', 's', '1e3', '5m'])
    assert.throws(() => parseDuration(text), /milliseconds above 0.*90s, 5min/, text)
})

test('a time to wait is a duration or 0', () => {
  assert.deepEqual(['0', '500', '5min', 'Infinity'].map(parsePatience), [0, 500, 300_000, Infinity])
  assert.throws(() => parsePatience('0s'), /milliseconds above 0/)
})

test('an age is a duration that is typed with a unit', () => {
  for (const text of ['90min', '1.5h', '30d', '2w', '10s']) {
    assert.equal(parseAge(text), parseDuration(text), text)
  }
  for (const text of ['', '30', '0d', 'd', '-1d', '3 d', '1y', 'Infinity']) {
    assert.throws(() => parseAge(text), /12h, 30d/, text)
  }
})
