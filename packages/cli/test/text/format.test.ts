import assert from 'node:assert/strict'
import test from 'node:test'
import { HeddleError } from '@heddle/core'
import {
  formatAge,
  formatBytes,
  formatCount,
  formatDuration,
  formatError,
  formatErrorWithCause,
  formatRate,
  formatRemaining,
  formatRunning,
  formatTime,
  plural,
} from '../../src/text/format.ts'

test('running times have tenths of a second up to a minute', () => {
  assert.deepEqual([0, 4_149, 12_400, 59_949, 59_950, 84_300].map(formatRunning), [
    '0.0 s',
    '4.1 s',
    '12.4 s',
    '59.9 s',
    '1 min 00 s',
    '1 min 24 s',
  ])
})

test('a rate has a tenth as long as that says something', () => {
  assert.deepEqual([0.04, 4.23, 31.4, 12_500].map(formatRate), [
    '0.0/s',
    '4.2/s',
    '31/s',
    '12,500/s',
  ])
})

test('durations have a precision that fits their size', () => {
  const shown = [0, 340.4, 999.4, 1_000, 9_940, 9_950, 59_400, 65_000, 3_599_400, 7_500_000].map(
    formatDuration,
  )
  assert.deepEqual(shown, [
    '0 ms',
    '340 ms',
    '999 ms',
    '1.0 s',
    '9.9 s',
    '10 s',
    '59 s',
    '1 min 05 s',
    '59 min 59 s',
    '2 h 05 min',
  ])
  assert.equal(formatDuration(Infinity), 'no limit')
  assert.equal(formatAge(400), '0 s')
  assert.equal(formatAge(-5), '0 s')
})

test('counts, plurals and the time of day', () => {
  assert.equal(formatCount(1_234_567), '1,234,567')
  assert.deepEqual(
    [plural(1, 'job'), plural(2, 'job'), plural(2, 'entry', 'entries')],
    ['1 job', '2 jobs', '2 entries'],
  )
  assert.match(formatTime(1_750_000_000_000), /^\d\d:\d\d:\d\d$/)
})

test('an error is its message, with its class where that says something', () => {
  assert.equal(formatError(new Error('no')), 'no')
  assert.equal(formatError(new TypeError('no')), 'TypeError: no')
  assert.equal(formatError(new HeddleError('HDL_CLOSED', { what: 'It' })), 'It is closed.')
  assert.equal(formatError(new Error('')), 'Error')
  assert.equal(formatError('text'), 'text')
  assert.equal(formatError(Object.create(null)), '[Object: null prototype] {}')
})

test('an error in one line comes with its cause, once', () => {
  const cause = new Error('connect ECONNREFUSED 127.0.0.1:9')
  const failed = new TypeError('fetch failed', { cause })
  assert.equal(
    formatErrorWithCause(failed),
    'TypeError: fetch failed (connect ECONNREFUSED 127.0.0.1:9)',
  )
  const told = new Error(`no answer: ${cause.message}`, { cause })
  assert.equal(formatErrorWithCause(told), told.message)
  assert.equal(formatErrorWithCause('no'), formatError('no'))
})

test('bytes are short and have a unit', () => {
  assert.deepEqual([0, 999, 1500, 12_345, 9_900_000, 2e12].map(formatBytes), [
    '0 B',
    '999 B',
    '1.5 kB',
    '12 kB',
    '9.9 MB',
    '2.0 TB',
  ])
})

test('the remaining time of a run is never zero seconds, and an unknown end is shown as such', () => {
  assert.equal(formatRemaining(65_000), ', about 1 min 05 s left')
  assert.equal(formatRemaining(100), ', about 1 s left')
  assert.equal(formatRemaining(Infinity), ', end not known')
})
