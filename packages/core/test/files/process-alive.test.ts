import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { isProcessAlive } from '../../src/files/process-alive.ts'

test('a process is alive until it has ended, also one that this process did not start', () => {
  assert.equal(isProcessAlive(process.pid), true)
  assert.equal(isProcessAlive(1), true)
  assert.equal(isProcessAlive(spawnSync(process.execPath, ['--version']).pid), false)
})
