import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '../../src/errors.ts'
import { checkNode } from '../../src/kernel/node-version.ts'

test('Node 22.18 and newer are accepted, older ones are refused with both versions', () => {
  for (const version of ['22.18.0', '22.20.1', '24.0.0', '26.1.0']) checkNode(version)
  for (const version of ['22.17.9', '20.20.2', '18.0.0', '']) {
    assert.throws(
      () => checkNode(version),
      (error) => isError(error, 'HDL_NODE_TOO_OLD') && error.message.includes('22.18'),
    )
  }
})
