import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeGap } from '../../src/http/describe-gap.ts'

const gap = { startedAt: 0, ms: 80.4, label: 'GET /ui/assets/:name', stack: [], certain: true }

test('a request that was only seen after the gap is not accused', () => {
  assert.equal(describeGap(gap), 'the event loop was blocked for 80 ms by GET /ui/assets/:name')
  assert.equal(
    describeGap({ ...gap, certain: false }),
    'the event loop was blocked for 80 ms by GET /ui/assets/:name (seen late: it may be what ran next)',
  )
  const bare = { ...gap, label: undefined, certain: false }
  assert.equal(describeGap(bare), 'the event loop was blocked for 80 ms by unknown code')
})

test('a gap of the garbage collector accuses no route', () => {
  const collection = { ...gap, label: undefined, collector: 70, isCollection: true as const }
  assert.equal(
    describeGap(collection),
    'the event loop was blocked for 80 ms by the garbage collector (70 of 80 ms)',
  )
})
