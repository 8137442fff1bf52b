import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { isProcessAlive, isProcessGone } from '../../src/files/process-alive.ts'

test('a process is alive until it has ended, also one that this process did not start', () => {
  assert.equal(isProcessAlive(process.pid), true)
  assert.equal(isProcessAlive(1), true)
  assert.equal(isProcessAlive(spawnSync(process.execPath, ['--version']).pid), false)
})

test('only a process of this machine is known to be gone', () => {
  const { pid } = spawnSync(process.execPath, ['--version'])
  assert.equal(isProcessGone({ pid, host: hostname() }), true)
  assert.equal(isProcessGone({ pid, host: 'elsewhere' }), false)
  assert.equal(isProcessGone({ pid: process.pid, host: hostname() }), false)
})
