import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WorkSpans } from '../../src/tracing/work-spans.ts'

test('T1 without an SDK a computation has no spans', () => {
  const work = { job: 'a', handle: 'a-1', tenant: 'default', priority: 1 }
  assert.equal(WorkSpans.begin(work), undefined)
})
