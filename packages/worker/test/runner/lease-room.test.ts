import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError, job } from '@heddle/core'
import { LeaseRoom, type WorkerConcurrency } from '../../src/runner/lease-room.ts'
import { play, square } from '../fixtures/jobs.ts'

const wait = job({ name: 'wait' }, () => null)
const jobs = [wait, play, square]

test('R1: a number is a total over both places', () => {
  const room = new LeaseRoom(2)
  assert.equal(room.total, 2)
  room.take(wait)
  assert.deepEqual(room.fullOf(jobs), [])
  room.take(square)
  assert.deepEqual(room.fullOf(jobs), ['wait', 'play', 'square'])
  room.give(wait)
  assert.deepEqual(room.fullOf(jobs), [])
})

test('R1: with a number for each place only the jobs of a taken place wait', () => {
  const room = new LeaseRoom({ loop: 2, thread: 1 })
  assert.equal(room.total, 3)
  room.take(square)
  assert.deepEqual(room.fullOf(jobs), ['play', 'square'])
  room.take(wait)
  room.take(wait)
  assert.deepEqual(room.fullOf(jobs), ['wait', 'play', 'square'])
  room.give(square)
  assert.deepEqual(room.fullOf(jobs), ['wait'])
})

test('wrong numbers and unknown places are refused', () => {
  const wrong: readonly unknown[] = [0, 1.5, { loop: 0 }, { thread: -1 }, { fleet: 2 }]
  for (const concurrency of wrong) {
    assert.throws(
      () => new LeaseRoom(concurrency as WorkerConcurrency),
      (error: unknown) => isError(error, 'HDL_BAD_OPTION'),
      JSON.stringify(concurrency),
    )
  }
})
