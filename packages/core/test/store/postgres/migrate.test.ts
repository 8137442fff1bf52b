import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { openJournal } from '../../../src/journal/open-journal.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { readAddress } from '../../../src/store/postgres/address.ts'
import { Link } from '../../../src/store/postgres/database-link.ts'
import { migrate, readVersion } from '../../../src/store/postgres/migrate.ts'
import { openPostgresDatabase } from '../../../src/store/postgres/postgres-database.ts'
import { migrations, schemaVersion } from '../../../src/store/postgres/schema.ts'
import { write } from '../../../src/store/tables.ts'
import { until } from '../../kernel/until.ts'

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

function linkTo(address: string): Link {
  return new Link({ address: readAddress(address), clock: systemClock, answerWithin: 30_000 })
}

test('C11: servers that start together make the tables once', async () => {
  const address = `${postgres.address}?schema=together`
  const links = Array.from({ length: 4 }, () => linkTo(address))
  await Promise.all(links.map((link) => migrate(link, readAddress(address), systemClock)))
  const version = await readVersion(links[0]!, readAddress(address))
  assert.equal(version?.version, schemaVersion)
  const [row] = await links[0]!.call<[string]>('count', 'SELECT count(*) FROM together.shard')
  assert.equal(Number(row![0]), 256)
  await Promise.all(links.map((link) => link.close()))
})

for (const [index] of migrations.slice(1).entries()) {
  const version = index + 1
  test(`C11: tables of version ${version} are migrated with their rows`, async () => {
    const address = `${postgres.address}?schema=from_${version}`
    const link = linkTo(address)
    const sql = migrations.slice(0, version).map((each) => each.sql)
    await link.call(
      'prepare',
      `CREATE SCHEMA from_${version};
        CREATE TABLE from_${version}.meta (only_row boolean PRIMARY KEY, version integer NOT NULL, oldest integer NOT NULL);
        INSERT INTO from_${version}.meta VALUES (true, ${version}, 1);
        ${sql.join('').replaceAll('@.', `from_${version}.`)}
        SELECT from_${version}.renew_1('old', 60000);
        SELECT from_${version}.acquire_1('old', 256);
        INSERT INTO from_${version}.job (handle, shard, job, version, input) VALUES ('kept', 3, 'work', '1', '')`,
    )
    await using database = await openPostgresDatabase(address)
    assert.equal((await readVersion(link, readAddress(address)))?.version, schemaVersion)
    const [open] = await database.openJobs([3])
    assert.equal(open?.handle, 'kept')
    // The older server renews as before, and still owns what it owned.
    const [row] = await link.call<[{ held: unknown[] }]>(
      'renew',
      `SELECT from_${version}.renew_1('old', 60000)`,
    )
    assert.equal(row![0].held.length, 256)
    await link.close()
  })
}

test('C11: a migration that has to wait for a lock steps aside: older servers keep writing', async () => {
  const address = `${postgres.address}?schema=aside`
  const notes = { name: 'desk_note', columns: { text: 'text' } } as const
  const more = { ...notes, columns: { ...notes.columns, author: 'text' } } as const
  await using older = await openPostgresDatabase(address, { tables: [notes] })
  await older.tables.change([write(notes, { id: '1', text: 'before' })])
  const backup = linkTo(address)
  const seen = linkTo(address)
  try {
    await backup.call(
      'begin',
      'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM aside.r_desk_note',
    )
    const opening = openPostgresDatabase(address, { tables: [more] })
    const isWaiting = `SELECT count(*)::integer FROM pg_locks WHERE NOT granted AND relation = 'aside.r_desk_note'::regclass`
    await until(async () => {
      const [row] = await seen.call<[number]>('look', isWaiting)
      return row![0] > 0
    })
    await older.tables.change([write(notes, { id: '2', text: 'meanwhile' })])
    assert.equal((await older.tables.list(notes)).length, 2)
    await backup.call('end', 'COMMIT')
    await using newer = await opening
    await newer.tables.change([write(more, { id: '3', text: 'after', author: 'ann' })])
    assert.equal((await older.tables.list(notes)).length, 3)
  } finally {
    await Promise.all([backup.close(), seen.close()])
  }
})

test('C11: tables of a newer version are used when they allow it, and refused when not', async () => {
  const address = `${postgres.address}?schema=newer`
  await (await openPostgresDatabase(address)).close()
  const link = linkTo(address)
  await link.call('change', 'UPDATE newer.meta SET version = version + 1')
  await (await openPostgresDatabase(address)).close()
  const found = await readVersion(link, readAddress(address))
  assert.equal(found?.version, schemaVersion + 1)
  await using older = await openPostgresDatabase(address)
  await older.checkVersion()
  await link.call('change', `UPDATE newer.meta SET oldest = ${schemaVersion + 1}`)
  await assert.rejects(older.checkVersion(), { code: 'HDL_JOURNAL_NEWER' })
  await assert.rejects(openPostgresDatabase(address), { code: 'HDL_JOURNAL_NEWER' })
  await link.close()
})

test('C11: a role that may not create a schema uses one that was made for it', async () => {
  const admin = linkTo(postgres.address)
  await admin.call('prepare', "CREATE ROLE plain LOGIN PASSWORD 'plain'")
  try {
    const url = new URL(postgres.address)
    url.username = 'plain'
    url.password = 'plain'
    url.searchParams.set('schema', 'given')
    await assert.rejects(openPostgresDatabase(url.href), { code: 'HDL_STORE_FAILED' })
    await admin.call('prepare', 'CREATE SCHEMA given AUTHORIZATION plain')
    await using database = await openPostgresDatabase(url.href)
    assert.equal((await database.renew('a', 1_000)).servers, 1)
  } finally {
    await admin.call('clean up', 'DROP SCHEMA IF EXISTS given CASCADE')
    await admin.call('clean up', 'DROP ROLE plain')
    await admin.close()
  }
})

test('tables are not made in a database whose encoding lacks characters', async () => {
  const admin = linkTo(postgres.address)
  const url = new URL(postgres.address)
  const name = `${url.pathname.slice(1)}_latin`
  const options = "ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"
  await admin.call('prepare', `CREATE DATABASE ${name} ${options}`)
  try {
    url.pathname = `/${name}`
    await assert.rejects(openPostgresDatabase(url.href), {
      code: 'HDL_STORE_FAILED',
      message: /LATIN1.* ENCODING 'UTF8'/,
    })
  } finally {
    await admin.call('clean up', `DROP DATABASE ${name} WITH (FORCE)`)
    await admin.close()
  }
})

test('a server that refuses every change is refused at once, with and without tables', async () => {
  const address = new URL(`${postgres.address}?schema=read_only`)
  await (await openPostgresDatabase(address.href)).close()
  address.searchParams.set('options', '-c default_transaction_read_only=on')
  const isReadOnly = { code: 'HDL_STORE_FAILED', message: /the server is read-only.*primary/ }
  await assert.rejects(openPostgresDatabase(address.href), isReadOnly)
  await assert.rejects(openJournal(address.href), isReadOnly)
  await using reader = await openJournal(address.href, { readOnly: true })
  assert.deepEqual(await reader.runs(), [])
  address.searchParams.set('schema', 'read_only_and_empty')
  await assert.rejects(openJournal(address.href), isReadOnly)
})
