import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { openKeeper } from '../src/keep.ts'

test('K1: a keeper takes its folder with it', async () => {
  const keeper = await openKeeper()
  assert.ok(existsSync(keeper.folder))
  await keeper[Symbol.asyncDispose]()
  assert.ok(!existsSync(keeper.folder))
  await keeper[Symbol.asyncDispose]()
})

test('a server that does not start is reported with its output', async () => {
  await using keeper = await openKeeper()
  const plan = {
    folder: 'broken',
    files: {},
    before: [],
    server: { file: process.execPath, args: ['-e', 'console.error("no memory"); process.exit(1)'] },
    ready: 'ready',
    stopSignal: 'SIGTERM',
  } as const
  await assert.rejects(keeper.start(plan), /did not start: no memory/)
  const absent = { ...plan, folder: 'absent', server: { file: '/no/such/program', args: [] } }
  await assert.rejects(keeper.start(absent), /ENOENT/)
})
