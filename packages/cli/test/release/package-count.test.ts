import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job, type RunEvent } from '@heddle/core'
import { PackageCount } from '../../src/release/package-count.ts'

test('16 only packages all of whose stages succeeded are counted as done', () => {
  const graph = new Graph()
  const empty = job({ name: 'stage' }, () => undefined)
  for (const name of ['a check', 'a upload', 'b check', 'b upload', 'all checks'])
    graph.add(name, empty)
  const count = new PackageCount(graph)
  const ended = (name: string, state: string): string | undefined =>
    count.observe({ type: 'node', name, state } as RunEvent)
  assert.equal(count.text, '0 of 2 packages')
  assert.equal(ended('a check', 'succeeded'), undefined)
  assert.equal(ended('all checks', 'succeeded'), undefined)
  assert.equal(ended('a upload', 'succeeded'), 'a')
  // It has not started: what it needs has failed.
  assert.equal(ended('b check', 'blocked'), undefined)
  assert.equal(ended('b upload', 'skipped'), undefined)
  assert.equal(count.text, '1 of 2 packages')
})
