import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { systemClock } from '../../../src/kernel/clock.ts'
import { readAddress } from '../../../src/store/postgres/address.ts'
import { Link, type Parameters } from '../../../src/store/postgres/database-link.ts'
import { openPostgresDatabase } from '../../../src/store/postgres/postgres-database.ts'
import { PostgresTables } from '../../../src/store/postgres/postgres-tables.ts'
import { TableList, write, type StoredRecord, type Table } from '../../../src/store/tables.ts'

interface Note extends StoredRecord {
  readonly text: string
}

const notes: Table<Note> = {
  name: 'test_note',
  columns: { text: 'text' },
  unique: [['text']],
}

/** Counts statements. */
class CountedLink extends Link {
  calls = 0

  override call<Row extends unknown[]>(
    action: string,
    statement: string,
    parameters?: Parameters,
  ): Promise<Row[]> {
    this.calls++
    return super.call<Row>(action, statement, parameters)
  }
}

let postgres: TestDatabase
let schemas = 0
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

async function opened() {
  const address = `${postgres.address}?schema=tables_${++schemas}`
  await (await openPostgresDatabase(address, { tables: [notes] })).close()
  const link = new CountedLink({ address: readAddress(address), clock: systemClock })
  const tables = new PostgresTables(link, readAddress(address), new TableList([notes]))
  return { link, tables, [Symbol.asyncDispose]: () => link.close() }
}

const note = (id: string, text = `text of ${id}`): Note => ({ id, text })
/** Longer than what an index can hold, and it cannot be compressed to less. */
const longText = Array.from({ length: 300 }, (_, n) =>
  createHash('sha256').update(String(n)).digest('base64'),
).join('')
const ids = Array.from({ length: 50 }, (_, n) => `note ${n}`)

test('fifty changes and fifty reads at the same time are a few statements', async () => {
  await using store = await opened()
  const { link, tables } = store
  const answers = await Promise.all(
    ids.map((id) => tables.change([write(notes, note(id), 'absent')])),
  )
  assert.deepEqual(new Set(answers), new Set([undefined]))
  assert.equal(link.calls, 1)
  const found = await Promise.all(ids.map((id) => tables.byIds(notes, [id, 'nobody', 'note 0'])))
  assert.equal(link.calls, 4)
  for (const [n, [own, nobody, first]] of found.entries()) {
    assert.equal(own?.text, `text of note ${n}`)
    assert.equal(nobody, undefined)
    assert.equal(first?.id, 'note 0')
  }
})

test('a change that is refused, and one that PostgreSQL cannot hold, fail alone in their batch', async () => {
  await using store = await opened()
  const { tables } = store
  await tables.change([write(notes, note('old', 'taken'))])
  const changes = ids.map((id) => tables.change([write(notes, note(id), 'absent')]))
  const changed = tables.change([write(notes, note('old', 'newer'), 7)])
  const taken = tables.change([write(notes, note('x')), write(notes, note('y', 'taken'))])
  const tooLong = tables.change([write(notes, note('z', longText))])
  await assert.rejects(tooLong, { code: 'HDL_ROW_REFUSED' })
  assert.deepEqual(await changed, { why: 'changed', index: 0 })
  assert.deepEqual(await taken, { why: 'taken', index: 1, by: 'old' })
  assert.deepEqual(new Set(await Promise.all(changes)), new Set([undefined]))
  const [old, x, last] = await tables.byIds(notes, ['old', 'x', ids.at(-1)!])
  assert.deepEqual([old?.text, x, last?.text], ['taken', undefined, `text of ${ids.at(-1)}`])
})

test('changes of one record at the same time are carried out one after the other', async () => {
  await using store = await opened()
  const { tables } = store
  const answers = await Promise.all(
    ['a', 'b', 'c'].map((text, n) => tables.change([write(notes, note('one', text), n)])),
  )
  assert.deepEqual(answers, [undefined, undefined, undefined])
  const [one] = await tables.byIds(notes, ['one'])
  assert.deepEqual([one?.text, one?.revision], ['c', 3])
})
