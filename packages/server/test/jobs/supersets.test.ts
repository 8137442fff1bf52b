import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkSize } from '../../src/jobs/supersets.ts'
import { withCode } from '../support/told.ts'

test('a size is a number of at least 0', () => {
  assert.deepEqual(
    [0, 1.5, 1e9].map((size) => checkSize('plot', size)),
    [0, 1.5, 1e9],
  )
  for (const size of [-1, NaN, Infinity, '3', undefined, null]) {
    assert.throws(() => checkSize('plot', size), withCode('HDL_BAD_OPTION'), String(size))
  }
})
