import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeHeader } from '../../src/journal/journal.ts'
import { headerOf, rareFieldsOf } from '../../src/journal/node-header.ts'
import { nodesDetail, nodesOf } from '../../src/journal/rows.ts'

/** A node with every field that a header has: a new field is a type error here. */
const full: Required<NodeHeader> = {
  name: 'train/all',
  job: 'all',
  place: 'loop',
  after: ['train/list'],
  input: 'none',
  parent: 'train',
  grows: 'map',
  map: { over: '"list"' },
  when: 'always',
  version: '2',
  redact: ['password'],
}

test('a header has every field of its node and nothing else; rows keep each of them', () => {
  assert.deepEqual(headerOf({ ...full, state: 'succeeded' } as NodeHeader), full)
  assert.deepEqual(nodesOf(nodesDetail([full])), [full])
  for (const name of Object.keys(full)) {
    if (['name', 'job', 'place', 'after'].includes(name)) continue
    const one = { ...plain, [name]: full[name as keyof NodeHeader] } as NodeHeader
    assert.deepEqual(headerOf(one), one)
    assert.deepEqual(nodesOf(nodesDetail([one])), [one], name)
  }
})

const plain: NodeHeader = { name: 'a', job: 'a', place: 'thread', after: [] }

test('a node without rare fields has no object for them', () => {
  assert.equal(rareFieldsOf(plain), undefined)
  assert.deepEqual(headerOf({ ...plain, parent: undefined } as never), plain)
})
