import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isoTime } from '../../src/kernel/iso-time.ts'

test('a wall time is written with its zone', () => {
  assert.equal(isoTime(0), '1970-01-01T00:00:00.000Z')
})
