import assert from 'node:assert/strict'
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { test } from 'node:test'
import { openJournal } from '../../../src/journal/open-journal.ts'
import { systemKernel } from '../../../src/kernel/kernel.ts'
import { header, someone, step, story } from '../../../src/testing/journal/case.ts'
import { newStore } from './store-folder.ts'

function start(
  program: string,
  file: string,
  ...more: string[]
): ChildProcessByStdio<Writable, Readable, null> {
  const fixture = path.join(import.meta.dirname, 'fixtures', program)
  return spawn(process.execPath, [fixture, file, ...more], { stdio: ['pipe', 'pipe', 'inherit'] })
}

test('J5: the holder of a run in another process is named; its death shows, and frees the run', async () => {
  await using store = await newStore()
  const child = start('hold-journal.ts', store.file)
  await using journal = await store.open()
  try {
    await once(child.stdout, 'data')
    await assert.rejects(journal.resumeRun('held', someone), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'HDL_LOCKED')
      assert.match(error.message, /Run held is held by pid 4711 on loom/)
      return true
    })
    await using reader = await store.open({ readOnly: true })
    for (const each of [reader, journal]) assert.equal((await each.runs())[0]?.state, 'running')
    assert.deepEqual((await story(reader, 'held')).at(-1), 'a running')
    // Side by side: this process has a run of its own meanwhile.
    const own = await journal.openRun(header('own'))
    await own.commit({ node: 'a', state: 'succeeded', attempt: 0, at: 2 }, 'mine')
    child.kill('SIGSTOP')
    await assert.rejects(journal.resumeRun('held', someone), { code: 'HDL_LOCKED' })
    child.kill('SIGKILL')
    await once(child, 'exit')
    for (const each of [reader, journal]) {
      assert.equal((await each.snapshot('held')).state, 'interrupted')
    }
  } finally {
    child.kill('SIGKILL')
  }
  const writer = await journal.resumeRun('held', someone)
  await writer.commit({ node: 'a', state: 'succeeded', attempt: 0, at: 2 }, 'done')
  assert.equal(await journal.valueOf('held', 'a'), 'done')
})

test('J5: a writer whose lock was deleted loses its run, and its next row is refused', async () => {
  await using store = await newStore()
  await using journal = await store.open()
  const writer = await journal.openRun(header('r'))
  const other = await journal.openRun(header('other'))
  const lost = Promise.withResolvers<string>()
  writer.watch({ onTrouble: (trouble) => lost.resolve(trouble!.error.code) })
  rmSync(`${store.file}.writers`, { recursive: true })
  // Behaves like another process: it has a kernel of its own.
  await using taker = await openJournal(store.file, { kernel: { ...systemKernel } })
  const taken = await taker.resumeRun('r', someone)
  await taken.commit(step('a', 'running'))
  const late = writer.commit(step('a', 'succeeded'), 'late')
  const fine = other.commit(step('a', 'succeeded'), 'fine')
  await assert.rejects(late, { code: 'HDL_RUN_LOST' })
  await fine
  assert.equal(await lost.promise, 'HDL_RUN_LOST')
  await assert.rejects(writer.flush(), { code: 'HDL_RUN_LOST' })
  await taken.commit(step('a', 'succeeded'), 'theirs')
  assert.equal(await journal.valueOf('r', 'a'), 'theirs')
  assert.deepEqual((await story(journal, 'r')).slice(2), [
    'run running',
    'a running',
    'a succeeded',
  ])
})

test('C10: processes that write to one file at full speed lose nothing and refuse nothing', async () => {
  await using store = await newStore()
  const children = Array.from({ length: 3 }, (_, n) => start('write-rows.ts', store.file, `r${n}`))
  const codes = await Promise.all(children.map((child) => once(child, 'exit')))
  assert.ok(codes.every(([code]) => code === 0))
  await using reader = await store.open({ readOnly: true })
  const positions: number[] = []
  for (let n = 0; n < 3; n++) {
    const rows = await Array.fromAsync(reader.history(`r${n}`))
    const attempts = rows.flatMap((row) => (row.kind === 'node' ? [row.attempt] : []))
    assert.deepEqual(
      attempts,
      Array.from({ length: 400 }, (_, i) => i),
    )
    positions.push(...rows.map(({ position }) => position))
  }
  assert.equal(new Set(positions).size, positions.length)
  assert.equal(Math.max(...positions), positions.length)
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
