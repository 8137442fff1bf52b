import assert from 'node:assert/strict'
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { statfsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { header, someone, step, story, withCode } from '../../../src/testing/journal/case.ts'
import { openJournal } from '../../../src/journal/open-journal.ts'
import { writeRuns } from './damage.ts'
import { mountSmall, type Mounted } from './mounted.ts'

function mounted(t: TestContext, kibibytes: number): Mounted | undefined {
  const found = mountSmall(kibibytes)
  if (typeof found !== 'string') return found
  t.diagnostic(`skipped: ${found}`)
  t.skip(found)
  return undefined
}

for (const [what, size] of [
  ['rows', 20_000],
  ['files of large values', 200_000],
] as const) {
  test(`J6: a disk full of ${what} fails the journal, and no acknowledged row is lost`, async (t) => {
    using disk = mounted(t, 6 * 1024)
    if (disk === undefined) return
    const file = path.join(disk.path, 'runs.db')
    const ballast = path.join(disk.path, 'ballast')
    await writeFile(ballast, Buffer.alloc(1024 * 1024))
    let acknowledged = 0
    {
      await using journal = await openJournal(file, { retry: { for: 0 } })
      const writer = await journal.openRun(header('r', []))
      const fill = async (): Promise<void> => {
        for (;;) {
          const attempt = acknowledged
          const value = `${attempt} `.padEnd(size, 'x')
          await writer.commit(step(`n${attempt}`, 'succeeded', { attempt }), value)
          acknowledged++
        }
      }
      await assert.rejects(fill(), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'HDL_STORE_FAILED')
        assert.match(error.message, /full|ENOSPC/)
        return true
      })
      await assert.rejects(writer.commit(step('a', 'ready')), withCode('HDL_STORE_FAILED'))
      assert.equal(journal.stats().failed, true)
    }
    assert.ok(acknowledged > 10)
    await rm(ballast)
    await using journal = await openJournal(file)
    assert.equal((await story(journal, 'r')).length, acknowledged + 1)
    for (let attempt = 0; attempt < acknowledged; attempt++) {
      const value = `${attempt} `.padEnd(size, 'x')
      assert.equal(await journal.valueOf('r', `n${attempt}`), value)
    }
    const writer = await journal.resumeRun('r', someone)
    await writer.commit(step('a', 'succeeded'), 'there is room again')
  })
}

test('J6: a disk that was full for a while holds the run up, and nothing is lost or left out', async (t) => {
  using disk = mounted(t, 6 * 1024)
  if (disk === undefined) return
  const file = path.join(disk.path, 'runs.db')
  const ballast = path.join(disk.path, 'ballast')
  await writeFile(ballast, Buffer.alloc(3 * 1024 * 1024))
  await using journal = await openJournal(file, { retry: { for: 60_000, every: 5 } })
  const writer = await journal.openRun(header('r', []))
  const full = Promise.withResolvers<void>()
  writer.watch({ onTrouble: (trouble) => trouble && full.resolve() })
  const value = (attempt: number): string => `${attempt} `.padEnd(20_000 * (1 + (attempt % 9)), 'x')
  const commits = Array.from({ length: 30 }, (_, attempt) =>
    writer.commit(step(`n${attempt}`, 'succeeded', { attempt }), value(attempt)),
  )
  await full.promise
  await rm(ballast)
  await Promise.all(commits)
  const rows = await story(journal, 'r')
  assert.deepEqual(
    rows.slice(1),
    Array.from({ length: 30 }, (_, i) => `n${i} succeeded`),
  )
  for (let i = 0; i < 30; i++) assert.equal(await journal.valueOf('r', `n${i}`), value(i))
})

test('a journal on a read-only medium can be read, and says why it cannot be written', async (t) => {
  using disk = mounted(t, 6 * 1024)
  if (disk === undefined) return
  const file = path.join(disk.path, 'runs.db')
  {
    await using journal = await openJournal(file)
    const writer = await journal.openRun(header('r'))
    await writer.commit(step('a', 'succeeded'), 'kept')
  }
  disk.makeReadOnly()
  {
    await using journal = await openJournal(file, { readOnly: true })
    assert.equal(await journal.valueOf('r', 'a'), 'kept')
    assert.equal((await journal.runs())[0]?.state, 'interrupted')
  }
  await assert.rejects(openJournal(file), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'HDL_STORE_FAILED')
    assert.match(error.message, /readonly|read-only/)
    return true
  })
})

test('a journal that was being written when its medium became read-only can be read', async (t) => {
  using disk = mounted(t, 6 * 1024)
  if (disk === undefined) return
  const file = path.join(disk.path, 'runs.db')
  const program = path.join(import.meta.dirname, 'fixtures/hold-journal.ts')
  const child = spawn(process.execPath, [program, file], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
  disk.makeReadOnly()
  await using journal = await openJournal(file, { readOnly: true })
  assert.deepEqual(await story(journal, 'held'), ['nodes a', 'run running', 'a running'])
  assert.equal((await journal.runs())[0]?.state, 'interrupted')
})

test('on a disk with 96 KiB left a prune frees space', async (t) => {
  using disk = mounted(t, 6 * 1024)
  if (disk === undefined) return
  const file = path.join(disk.path, 'runs.db')
  await writeRuns(file, 10, 2000)
  disk.fill(96)
  await using journal = await openJournal(file, { retry: { for: 0 } })
  assert.equal((await journal.prune!({ keep: 1 })).runs.length, 9)
  assert.deepEqual(
    (await journal.runs()).map(({ id }) => id),
    ['r9'],
  )
  const { bavail } = statfsSync(disk.path)
  assert.ok(bavail > 100, `${bavail} blocks are free`)
})

test('on a full disk a dry run of a prune, which only reads, says what it would free', async (t) => {
  using disk = mounted(t, 6 * 1024)
  if (disk === undefined) return
  const file = path.join(disk.path, 'runs.db')
  await writeRuns(file, 10, 200)
  disk.fill(0)
  await using journal = await openJournal(file, { readOnly: true })
  const { runs, outcomes } = await journal.prune!({ keep: 1, dryRun: true })
  assert.deepEqual([runs.length, outcomes], [9, 0])
  await assert.rejects(journal.prune!({ keep: 1 }), withCode('HDL_BAD_OPTION'))
})
