import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as server from '../../../server/src/client/contract/runs.ts'
import { attemptOutcomes, nodeStates } from '../../src/api/contract.ts'

test('columns point into the same lists here and on the server', () => {
  assert.deepEqual([...nodeStates], [...server.nodeStates])
  assert.deepEqual([...attemptOutcomes], [...server.attemptOutcomes])
})
