import assert from 'node:assert/strict'
import test from 'node:test'
import { Graph, HeddleError, job } from '@heddle/core'
import { helpFor, helpForUnreadable, hintFor } from '../../src/run/hints.ts'

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

test('an unknown node is answered with the existing nodes, and one of a sub-graph with the nodes that can be named', () => {
  const graph = new Graph()
  const done = job({ name: 'done' }, () => 1)
  for (let i = 0; i < 11; i++) graph.add(`node ${i}`, done)
  graph.subgraph('tenants', () => new Graph())
  const context = { file: 'a b.ts', key: undefined, graph }
  const help = (node: string): string | undefined =>
    helpFor(new HeddleError('HDL_UNKNOWN_NODE', { node }), context)
  assert.match(help('nope')!, /^The graph has 'node 0', 'node 1', .* and 2 more\. /)
  assert.match(help('nope')!, /heddle run 'a b\.ts' --graph json lists all nodes\.$/)
  assert.match(help('tenants/acme')!, /made while it runs: --only takes tenants as a whole/)
  assert.equal(helpFor(new Error('other'), context), undefined)
})

test('a changed graph under a key: different work needs a different key', () => {
  const changed = new HeddleError('HDL_GRAPH_CHANGED', { run: 'r1', differences: ['"d" is new'] })
  const context = { file: 'a.ts', graph: undefined }
  assert.match(
    helpFor(changed, { ...context, key: 'k1' })!,
    /"k1" belongs to run r1: .* another key/,
  )
  assert.equal(helpFor(changed, { ...context, key: undefined }), undefined)
})

test('a file of which nothing can be read is probably not a journal', () => {
  const damage = { path: 'notes.db', problem: 'file is not a database', runs: 0, rows: 0 }
  const error = new HeddleError('HDL_JOURNAL_DAMAGED', damage)
  const help = /^If notes\.db is not a journal, name the right file with `--journal sqlite:FILE`/
  assert.match(helpForUnreadable(error)!, help)
  assert.match(helpFor(error, { file: 'a.ts', key: undefined, graph: undefined })!, help)
  const some = new HeddleError('HDL_JOURNAL_DAMAGED', { ...damage, runs: 2, rows: 9 })
  assert.equal(helpForUnreadable(some), undefined)
  assert.equal(helpForUnreadable(new Error('other')), undefined)
})
