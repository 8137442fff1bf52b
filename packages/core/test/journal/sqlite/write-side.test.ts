import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openJournal } from '../../../src/journal/open-journal.ts'
import { openStore } from '../../../src/journal/open-store.ts'
import { header, step } from '../../../src/testing/journal/case.ts'
import { newStore } from './store-folder.ts'

function sessionsIn(file: string): number {
  using database = new DatabaseSync(file, { readOnly: true })
  return database.prepare('SELECT count(*) AS sessions FROM session').get()!['sessions'] as number
}

test('a file has one writer in a process, whatever its users ask of retries', async () => {
  await using store = await newStore()
  await using _first = await openJournal(store.file)
  await using _second = await openJournal(store.file, { retry: { for: 5, every: 1 } })
  await using _store = await openStore(`sqlite:${store.file}`)
  assert.equal(sessionsIn(store.file), 1)
})

test('W5: a write is tried again for as long as the most patient user asks, while it uses the file', async () => {
  await using store = await newStore()
  await using hasty = await store.open({ retry: { for: 0, every: 1 } })
  const writer = await hasty.openRun(header('r'))
  {
    await using patient = await store.open({ retry: { for: 600_000, every: 600_000 } })
    await store.breakWrites!()
    const paused = Promise.withResolvers<boolean>()
    writer.watch({ onTrouble: (trouble) => paused.resolve(trouble?.isFinal === false) })
    const written = writer.commit(step('a', 'ready'))
    assert.equal(await paused.promise, true)
    await store.repairWrites!()
    await written
    assert.equal(patient.stats().failed, false)
  }
  await store.breakWrites!()
  await assert.rejects(writer.commit(step('a', 'running')), { code: 'HDL_STORE_FAILED' })
  assert.equal(hasty.stats().failed, true)
})
