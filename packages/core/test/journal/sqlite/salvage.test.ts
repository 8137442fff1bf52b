import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { test } from 'node:test'
import { all, header } from '../../../src/testing/journal/case.ts'
import { openJournal } from '../../../src/journal/open-journal.ts'
import { salvage } from '../../../src/journal/sqlite/salvage.ts'
import { damage, largeOf, middlePage, pageSize, rootPageOf, ruinPage, writeRuns } from './damage.ts'
import { newStore } from './store-folder.ts'

test('everything but one page is saved, with the results, and the saved journal can be used', async () => {
  await using store = await newStore()
  await writeRuns(store.file, 4, 300)
  await ruinPage(store.file, middlePage(store.file))
  const { runs, rows, saved } = salvage(store.file, true)
  assert.equal(runs, 4)
  const written = 4 * (300 + 5)
  assert.ok(rows < written && rows > written - 300, `${rows} of ${written} rows`)
  await using journal = await openJournal(saved!)
  let whole = 0
  for (const { id } of await journal.runs()) {
    const history = await all(journal.history(id))
    if (history.length < 305) continue
    whole++
    assert.equal(await journal.valueOf(id, 'b'), largeOf(id))
    assert.equal(await journal.valueOf(id, 'a'), `small of ${id}`)
  }
  assert.ok(whole >= 2, `${whole} runs are whole`)
  const writer = await journal.openRun(header('next'))
  await writer.commit({ node: 'a', state: 'succeeded', attempt: 0, at: 1 }, 'goes on')
  assert.equal(await journal.valueOf('next', 'a'), 'goes on')
})

test('runs whose records are lost can be inspected, and resumed under their ids', async () => {
  await using store = await newStore()
  await writeRuns(store.file, 3, 20)
  await ruinPage(store.file, rootPageOf(store.file, 'run'))
  const { runs, rows, saved } = salvage(store.file, true)
  assert.deepEqual([runs, rows], [3, 3 * 25])
  await using journal = await openJournal(saved!)
  const found = await journal.runs()
  assert.deepEqual(
    found.map(({ id, state, counts }) => [id, state, counts]),
    ['r2', 'r1', 'r0'].map((id) => [id, 'finished', { succeeded: 2 }]),
  )
  const snapshot = await journal.snapshot('r1')
  assert.deepEqual([snapshot.options, snapshot.command], [{}, header('r1').command])
  assert.equal(await journal.valueOf('r1', 'a'), 'small of r1')
})

test('a saved journal that is there already is left alone', async () => {
  await using store = await newStore()
  await writeRuns(store.file, 2, 300)
  await ruinPage(store.file, middlePage(store.file))
  const first = salvage(store.file, true)
  const before = await stat(first.saved!)
  await damage(store.file, (bytes) => bytes.subarray(0, 3 * pageSize))
  assert.deepEqual(salvage(store.file, true), first)
  assert.equal((await stat(first.saved!)).mtimeMs, before.mtimeMs)
})

test('the log is taken into account', async () => {
  await using store = await newStore()
  {
    const journal = await store.open()
    const writer = await journal.openRun(header('r', []))
    for (let attempt = 0; attempt < 50; attempt++) {
      await writer.commit({ node: 'a', state: 'running', attempt, at: 1 })
    }
    // All of it is still in the log.
    const { runs, rows } = salvage(store.file, false)
    assert.deepEqual([runs, rows], [1, 51])
    await journal.stop()
  }
  assert.deepEqual(salvage(store.file, false).rows, 51)
})

test('where nothing can be read nothing is written, and nothing is left behind', async () => {
  await using store = await newStore()
  await writeRuns(store.file, 1, 10)
  await damage(store.file, (bytes) => {
    bytes.fill(0xee, 100)
  })
  const before = await readFile(store.file)
  assert.deepEqual(salvage(store.file, true), { runs: 0, rows: 0, saved: undefined })
  assert.deepEqual(await readFile(store.file), before)
  assert.equal(existsSync(`${store.file}.saved.db`), false)
  assert.deepEqual(
    readdirSync(store.folder).filter((name) => name.includes('saving')),
    [],
  )
})
