import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatElo, markOf } from '../../../src/pages/campaigns/campaign-words.ts'

test('an ended campaign has the word of its decision', () => {
  const ended = (why: string, detail: string) =>
    markOf({ phase: 'ended', ended: { why, detail, at: 0 } })
  assert.deepEqual(ended('decided', 'accepted'), { mark: 'succeeded', word: 'accepted' })
  assert.deepEqual(ended('decided', 'rejected'), { mark: 'failed', word: 'rejected' })
  assert.deepEqual(ended('stopped', 'by ada'), { mark: 'cancelled', word: 'stopped' })
  assert.deepEqual(markOf({ phase: 'paused' }), { mark: 'paused', word: 'paused' })
})

test('Elo has a sign and an error that is finite', () => {
  assert.equal(formatElo(3.21, 1.84), '+3.2 ± 1.8')
  assert.equal(formatElo(-3.21, Infinity), '−3.2')
})
