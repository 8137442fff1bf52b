import assert from 'node:assert/strict'
import test from 'node:test'
import { HeddleError } from '@heddle/core'
import { hintFor } from '../../src/run/hints.ts'

test('errors that an option of the command line solves come with that option', () => {
  const changed = new HeddleError('HDL_GRAPH_CHANGED', { run: 'r1', differences: ['"d" is new'] })
  assert.match(hintFor(changed)!, /--allow-changes/)
  const locked = new HeddleError('HDL_LOCKED', { path: 'runs.db', holder: 'pid 1' })
  assert.match(hintFor(locked)!, /--key K/)
  const damage = { path: 'runs.db', problem: 'x', runs: 1, rows: 2 }
  const saved = new HeddleError('HDL_JOURNAL_DAMAGED', { ...damage, saved: 'runs.db.saved.db' })
  assert.match(hintFor(saved)!, /--journal sqlite:runs\.db\.saved\.db$/)
  assert.equal(hintFor(new HeddleError('HDL_JOURNAL_DAMAGED', damage)), undefined)
  assert.equal(hintFor('anything else'), undefined)
  const expected = 'a place (loop, thread, fleet) or a name in `resources`, which has none'
  const need = new HeddleError('HDL_BAD_OPTION', { option: 'needs.api of a', value: 1, expected })
  assert.match(hintFor(need)!, /export const options = \{ resources: \{ api: 4 \} \}/)
  const other = { option: 'retries', value: -1, expected: 'a count' }
  assert.equal(hintFor(new HeddleError('HDL_BAD_OPTION', other)), undefined)
})
