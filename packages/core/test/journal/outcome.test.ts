import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomeOf } from '../../src/journal/outcome.ts'

test('finished means succeeded only if everything has', () => {
  assert.equal(outcomeOf({ state: 'finished', counts: { succeeded: 3, failed: 0 } }), 'succeeded')
  assert.equal(outcomeOf({ state: 'finished', counts: {} }), 'succeeded')
  assert.equal(outcomeOf({ state: 'finished', counts: { succeeded: 3, blocked: 1 } }), 'failed')
  // Taken out of the run on purpose, as a resume with changes does with nodes that are gone.
  assert.equal(outcomeOf({ state: 'finished', counts: { succeeded: 3, skipped: 1 } }), 'succeeded')
  assert.equal(outcomeOf({ state: 'interrupted', counts: { succeeded: 3 } }), 'interrupted')
})
