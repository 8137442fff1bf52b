import assert from 'node:assert/strict'
import test from 'node:test'
import { needsJournal } from '../../src/user-code/path-source.ts'

const fresh = { isRecorded: false, isResumed: false }
const many = Array.from({ length: 20_001 }, (_, i) => `n${i}`)

test('a large run of one process takes its critical path from the scheduler', () => {
  assert.equal(needsJournal(fresh, { succeeded: many, reused: [] }), false)
  assert.equal(needsJournal(fresh, { succeeded: many.slice(1), reused: [] }), true)
})

test('a large run that was resumed takes it from the journal, also when nothing was reused', () => {
  const resumed = { ...fresh, isResumed: true }
  assert.equal(needsJournal(resumed, { succeeded: many, reused: [] }), true)
  assert.equal(needsJournal(fresh, { succeeded: many, reused: ['n0'] }), true)
  assert.equal(
    needsJournal({ ...resumed, isRecorded: true }, { succeeded: many, reused: [] }),
    true,
  )
})
