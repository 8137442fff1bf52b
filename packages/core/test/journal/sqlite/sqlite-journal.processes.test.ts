import assert from 'node:assert/strict'
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import os from 'node:os'
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { test } from 'node:test'
import { someone, story } from '../../../src/journal/conformance/case.ts'
import { newStore } from './store-folder.ts'

function start(program: string, file: string): ChildProcessByStdio<Writable, Readable, null> {
  const fixture = path.join(import.meta.dirname, 'fixtures', program)
  return spawn(process.execPath, [fixture, file], { stdio: ['pipe', 'pipe', 'inherit'] })
}

test('J5: the holder in another process is named; its death frees the journal and shows in its runs', async () => {
  await using store = await newStore()
  const child = start('hold-journal.ts', store.file)
  try {
    await once(child.stdout, 'data')
    await assert.rejects(store.open(), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'HDL_LOCKED')
      for (const part of [
        `pid ${child.pid} on ${os.hostname()}`,
        `user ${os.userInfo().username}`,
        `since ${new Date().getUTCFullYear()}-`,
        'hold-journal.ts',
      ]) {
        assert.ok(error.message.includes(part), `${part} is not in: ${error.message}`)
      }
      return true
    })
    await using reader = await store.open({ readOnly: true })
    assert.equal((await reader.runs())[0]?.state, 'running')
    assert.deepEqual((await story(reader, 'held')).at(-1), 'a running')
    child.kill('SIGKILL')
    await once(child, 'exit')
    assert.equal((await reader.runs())[0]?.state, 'interrupted')
  } finally {
    child.kill('SIGKILL')
  }
  await using journal = await store.open()
  assert.equal((await journal.snapshot('held')).state, 'interrupted')
  const writer = await journal.resumeRun('held', someone)
  await writer.commit({ node: 'a', state: 'succeeded', attempt: 0, at: 2 }, 'done')
  assert.equal(await journal.valueOf('held', 'a'), 'done')
})

test('an open journal does not keep a program alive; rows that are on their way do', async () => {
  await using store = await newStore()
  const child = start('forget-journal.ts', store.file)
  child.stdin.end()
  const [code] = (await once(child, 'exit')) as [number]
  assert.equal(code, 0)
  await using reader = await store.open({ readOnly: true })
  assert.equal((await story(reader, 'forgotten')).length, 5002)
  assert.equal((await reader.runs())[0]?.state, 'interrupted')
})

test('law 6: other programs see that the database is in use, also after this one has read from it', async () => {
  await using store = await newStore()
  await using journal = await store.open()
  await using _reader = await store.open({ readOnly: true })
  await journal.runs()
  // One that could have the file for itself may remove the log, with what was acknowledged in it.
  const child = start('take-whole-file.ts', store.file)
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  assert.equal(said.toString(), 'database is locked')
})
