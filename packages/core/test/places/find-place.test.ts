import assert from 'node:assert/strict'
import test from 'node:test'
import { findPlace } from '../../src/places/find-place.ts'
import { loopPlace } from '../../src/places/loop.ts'
import { withCode } from '../sync/support.ts'

test('a job whose place this process does not have is refused by name', () => {
  assert.equal(findPlace('a', 'loop', { loop: loopPlace }), loopPlace)
  assert.throws(
    () => findPlace('a', 'fleet', { loop: loopPlace }),
    withCode('HDL_PLACE_UNAVAILABLE'),
  )
})
