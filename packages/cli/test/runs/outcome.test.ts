import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countsText, isResumable, outcomeOf } from '../../src/runs/outcome.ts'

test('finished means succeeded only if everything has', () => {
  assert.equal(outcomeOf({ state: 'finished', counts: { succeeded: 3, failed: 0 } }), 'succeeded')
  assert.equal(outcomeOf({ state: 'finished', counts: {} }), 'succeeded')
  assert.equal(outcomeOf({ state: 'finished', counts: { succeeded: 3, blocked: 1 } }), 'failed')
  // Taken out of the run on purpose, as a resume with changes does with nodes that are gone.
  assert.equal(outcomeOf({ state: 'finished', counts: { succeeded: 3, skipped: 1 } }), 'succeeded')
  assert.equal(outcomeOf({ state: 'interrupted', counts: { succeeded: 3 } }), 'interrupted')
})

test('only what has something left to do can be resumed', () => {
  assert.deepEqual(
    (['succeeded', 'failed', 'cancelled', 'interrupted', 'running'] as const).filter(isResumable),
    ['failed', 'cancelled', 'interrupted'],
  )
})

test('counts begin with what went wrong', () => {
  assert.equal(
    countsText({ succeeded: 1_200, failed: 1, waiting: 2 }),
    '1 failed, 2 waiting, 1,200 done',
  )
  assert.equal(countsText({}), 'no jobs')
})
