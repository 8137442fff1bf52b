import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stateOfWorker, sumByReason } from '../../../src/pages/fleet/workers.ts'

test('a worker with a lease works, and one without contact is silent, whatever it holds', () => {
  const work = [{ lease: 'a', of: null, done: 0, size: 1 }]
  assert.equal(stateOfWorker({ work, seen_ms_ago: 200_000 }), 'working')
  assert.equal(stateOfWorker({ work, seen_ms_ago: 1e6 }), 'silent')
  assert.equal(stateOfWorker({ work: [], seen_ms_ago: 1_000 }), 'idle')
  assert.equal(stateOfWorker({ work: [], seen_ms_ago: 1e6 }), 'silent')
})

test('only the named reasons are added up', () => {
  assert.equal(sumByReason({ stale: 2, finished: 9, no_progress: 1 }, ['stale', 'no_progress']), 3)
})
