import assert from 'node:assert/strict'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import {
  isSessionAlive,
  removeSessionLock,
  SessionLock,
} from '../../../src/journal/sqlite/session-lock.ts'
import { newFolder } from './store-folder.ts'

test('K1: a session is alive while its lock is held, and looking does not free it', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  const row = { pid: process.pid, lock: 'one' }
  assert.equal(isSessionAlive(file, row), false)
  const lock = new SessionLock(file, 'one')
  for (let i = 0; i < 3; i++) assert.equal(isSessionAlive(file, row), true)
  assert.equal(isSessionAlive(file, { pid: process.pid, lock: null }), false)
  const other = new SessionLock(file, 'two')
  assert.throws(() => new SessionLock(file, 'one'), /locked/)
  lock.release()
  assert.equal(isSessionAlive(file, row), false)
  assert.equal(isSessionAlive(file, { pid: process.pid, lock: 'two' }), true)
  other.release()
  assert.deepEqual(readdirSync(`${file}.writers`), [])
})

test('K2: a lock of a killed process is free, is removed, and is not made again by a check', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  const row = { pid: process.pid, lock: 'one' }
  const lock = new SessionLock(file, 'one')
  rmSync(`${file}.writers`, { recursive: true })
  assert.equal(isSessionAlive(file, row), false)
  assert.equal(existsSync(`${file}.writers`), false)
  lock.release()
  removeSessionLock(file, row)
  removeSessionLock(file, { pid: 1, lock: null })
})
