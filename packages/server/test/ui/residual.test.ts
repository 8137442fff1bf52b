import assert from 'node:assert/strict'
import { test } from 'node:test'
import { residualOf } from '../../src/ui/residual.ts'

test('a worker with the shares of all has no residual; one that always wins has a large one', () => {
  const total = [100, 200, 100]
  assert.ok(residualOf([10, 20, 10], total) < 0)
  assert.ok(residualOf([0, 0, 40], total) > 10)
  assert.equal(residualOf([0, 0, 0], total), 0)
  assert.equal(residualOf([5], [5]), 0)
})
