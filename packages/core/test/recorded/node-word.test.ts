import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeWord } from '../../src/recorded/node-word.ts'

const attempt = { number: 1, queuedAt: 0, startedAt: 0, endedAt: 5 }

test('a node that ran when its process was killed is interrupted', () => {
  const attempts = [{ ...attempt, outcome: 'interrupted' as const }]
  assert.equal(nodeWord({ state: 'running', attempts }), 'interrupted')
  assert.equal(nodeWord({ state: 'succeeded', attempts }), 'succeeded')
  assert.equal(
    nodeWord({ state: 'running', attempts: [{ ...attempt, outcome: 'running' }] }),
    'running',
  )
})
