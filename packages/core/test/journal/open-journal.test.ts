import assert from 'node:assert/strict'
import { existsSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { openJournal } from '../../src/journal/open-journal.ts'
import { header, step } from '../../src/testing/journal/case.ts'
import { newFolder } from './sqlite/store-folder.ts'

test('memory, sqlite:FILE and paths of database files are opened, and say how to open them again', async () => {
  await using folder = await newFolder()
  await using memory = await openJournal('memory')
  assert.equal(memory.address, 'memory')
  for (const name of ['a.db', 'deep/er/b.sqlite', 'c d.db']) {
    const file = path.join(folder.path, name)
    const journal = await openJournal(file)
    assert.equal(journal.address, `sqlite:${file}`)
    await journal.stop()
    assert.ok(existsSync(file))
    await using again = await openJournal(journal.address, { readOnly: true })
    assert.deepEqual(await again.runs(), [])
  }
})

test('unknown addresses are refused with the supported ones', async () => {
  for (const address of ['redis', 'redis://host/x.db', 'mysql://host/db', '', 'sqlite:']) {
    await assert.rejects(openJournal(address), {
      code: 'HDL_BAD_OPTION',
      message: /expected memory, sqlite:FILE, postgres:\/\/HOST\/DATABASE, or the path/,
    })
  }
  // A mistyped scheme has a password too.
  await assert.rejects(openJournal('postgre://me:secret@host/db'), (error: Error) => {
    assert.doesNotMatch(inspect(error), /secret/)
    return /postgre:\/\/me@host\/db/.test(error.message)
  })
  await assert.rejects(openJournal('memory', { readOnly: true }), {
    code: 'HDL_BAD_OPTION',
    message:
      /is "memory", expected a journal that another process can read: sqlite:FILE or postgres/,
  })
  const durability = 'maybe' as never
  await assert.rejects(openJournal('memory', { durability }), { code: 'HDL_BAD_OPTION' })
})

test('S81 a file that is not there cannot be read, and is not made', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'none.db')
  await assert.rejects(openJournal(file, { readOnly: true }), {
    code: 'HDL_STORE_FAILED',
    message: /none\.db could not be opened: there is no such file/,
  })
  assert.equal(existsSync(file), false)
})

test('a link to a journal is that journal: they share one writer', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'runs.db')
  const link = path.join(folder.path, 'link.db')
  await using first = await openJournal(file)
  symlinkSync(file, link)
  await using second = await openJournal(link)
  await (await first.openRun(header('r'))).commit(step('a', 'ready'))
  await assert.rejects(second.openRun(header('r')), { code: 'HDL_RUN_EXISTS' })
  assert.equal(second.stats().rows, first.stats().rows)
  await first.stop()
  await (await second.openRun(header('s'))).commit(step('a', 'ready'))
})
