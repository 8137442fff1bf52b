import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasWorkLeft, outcomeOf } from '../../src/journal/run-outcome.ts'

test('finished means succeeded only if everything has', () => {
  assert.equal(outcomeOf({ state: 'finished', counts: { succeeded: 3, failed: 0 } }), 'succeeded')
  assert.equal(outcomeOf({ state: 'finished', counts: {} }), 'succeeded')
  assert.equal(outcomeOf({ state: 'finished', counts: { succeeded: 3, blocked: 1 } }), 'failed')
  // Taken out of the run on purpose, as a resume with changes does with nodes that are gone.
  assert.equal(outcomeOf({ state: 'finished', counts: { succeeded: 3, skipped: 1 } }), 'succeeded')
  assert.equal(outcomeOf({ state: 'interrupted', counts: { succeeded: 3 } }), 'interrupted')
})

test('a run has work left when it was interrupted or cancelled or has failed', () => {
  const counts = { succeeded: 3 }
  for (const state of ['interrupted', 'cancelled'] as const) {
    assert.equal(hasWorkLeft({ state, counts }), true, state)
  }
  for (const state of ['idle', 'running', 'paused', 'draining', 'finished'] as const) {
    assert.equal(hasWorkLeft({ state, counts }), false, state)
  }
  assert.equal(hasWorkLeft({ state: 'finished', counts: { succeeded: 3, failed: 1 } }), true)
})
