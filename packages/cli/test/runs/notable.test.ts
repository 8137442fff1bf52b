import { type NodeRecord } from '@heddle/core/lowlevel'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { notableNodes } from '../../src/runs/notable.ts'

function ran(name: string, ms: number, outcome: 'succeeded' | 'failed' = 'succeeded'): NodeRecord {
  return {
    name,
    state: outcome,
    attempts: [{ number: 1, queuedAt: 0, startedAt: 0, endedAt: ms, outcome }],
  } as unknown as NodeRecord
}

test('trouble comes first, then the critical path, then a few of the longest nodes', () => {
  const nodes = Array.from({ length: 300 }, (_, i) => ran(`n${i}`, i))
  nodes.push(ran('bad', 1, 'failed'), ran('critical', 2))
  const names = Array.from(notableNodes(nodes, new Set(['critical']), 40), ({ name }) => name)
  assert.deepEqual(names.slice(0, 3), ['bad', 'critical', 'n299'])
  assert.equal(names.length, 14, 'more of those that are only long say nothing new')
})

test('no more than the limit, however much went wrong; all of them where they fit', () => {
  const bad = Array.from({ length: 300 }, (_, i) => ran(`n${i}`, i, 'failed'))
  const critical = new Set(bad.map(({ name }) => name))
  assert.equal(notableNodes(bad, critical, 40).size, 40)
  assert.equal(notableNodes(bad.slice(0, 40), critical, 40).size, 40)
})
