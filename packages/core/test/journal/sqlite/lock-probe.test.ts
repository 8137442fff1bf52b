import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { holdLock } from '../../../src/files/exclusive-lock.ts'
import { isHeld } from '../../../src/journal/sqlite/lock-probe.ts'
import { newFolder } from './store-folder.ts'

test('a lock is seen while it is held, and looking does not take or free it', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  assert.equal(isHeld(file), false)
  {
    await using _lock = await holdLock(`${file}.lock`, { command: 'test' })
    for (let i = 0; i < 3; i++) assert.equal(isHeld(file), true)
    await assert.rejects(holdLock(`${file}.lock`, { command: 'second' }), { code: 'HDL_LOCKED' })
  }
  assert.equal(isHeld(file), false)
  await using _again = await holdLock(`${file}.lock`, { command: 'third' })
  assert.equal(isHeld(file), true)
})

test('the description that a killed holder left says nothing by itself', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  await (await holdLock(`${file}.lock`, { command: 'test' })).release()
  await writeFile(`${file}.lock.json`, JSON.stringify({ pid: process.pid }))
  assert.equal(isHeld(file), false)
  await rm(`${file}.lock`)
  assert.equal(isHeld(file), false)
})
