import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countsText } from '../../src/runs/outcome-text.ts'

test('counts begin with failures', () => {
  assert.equal(
    countsText({ succeeded: 1_200, failed: 1, waiting: 2 }),
    '1 failed, 2 waiting, 1,200 done',
  )
  assert.equal(countsText({}), 'no jobs')
})
