import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOfNotes, RequestNotes } from '../../../src/frontend/types/request-notes.ts'

test('a request is noted with its process while it is under way, also when it throws', () => {
  const shared = new SharedArrayBuffer(bytesOfNotes)
  const words = new Int32Array(shared)
  const notes = new RequestNotes(shared)
  assert.deepEqual(
    notes.during(7, () => [...words]),
    [1, 7, 0],
  )
  assert.throws(
    () =>
      notes.during(undefined, () => {
        throw new Error(words.join())
      }),
    { message: '3,0,0' },
  )
  assert.deepEqual([...words], [4, 0, 0])
})

test('nothing is asked when no caller waits for the answer', () => {
  const shared = new SharedArrayBuffer(bytesOfNotes)
  const words = new Int32Array(shared)
  const notes = new RequestNotes(shared)
  assert.equal(notes.isOver, false)
  words[2] = 1
  assert.equal(notes.isOver, true)
  assert.throws(() => notes.during(7, () => assert.fail('asked')), { message: /Nobody waits/ })
  assert.equal(words[0], 2, 'it is not under way')
})
