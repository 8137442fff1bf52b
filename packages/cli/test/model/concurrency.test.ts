import assert from 'node:assert/strict'
import test from 'node:test'
import { describeConcurrency, slotsOf } from '../../src/model/concurrency.ts'

test('a limit over all places, or one for each, in words and as a number', () => {
  assert.equal(describeConcurrency(4), 'at most 4 at a time')
  assert.equal(describeConcurrency(Infinity), undefined)
  assert.equal(
    describeConcurrency({ loop: 16, thread: 2 }),
    'at most 16 at a time on the loop, 2 in threads',
  )
  assert.equal(describeConcurrency({ thread: 2 }), 'at most 2 at a time in threads')
  assert.equal(describeConcurrency({}), undefined)
  assert.equal(slotsOf(4), 4)
  assert.equal(slotsOf({ loop: 16, thread: 2 }), 18)
  assert.equal(slotsOf({ thread: 2 }), Infinity)
})
