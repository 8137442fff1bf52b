import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { systemClock } from '../../../src/kernel/clock.ts'
import { readAddress } from '../../../src/store/postgres/address.ts'
import { Link } from '../../../src/store/postgres/link.ts'
import { migrate, readVersion } from '../../../src/store/postgres/migrate.ts'
import { openPostgresDatabase } from '../../../src/store/postgres/postgres-database.ts'
import { schemaVersion } from '../../../src/store/postgres/schema.ts'

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
  await Promise.all(links.map((link) => migrate(link, readAddress(address))))
  const version = await readVersion(links[0]!, readAddress(address))
  assert.equal(version?.version, schemaVersion)
  const [row] = await links[0]!.call<[string]>('count', 'SELECT count(*) FROM together.shard')
  assert.equal(Number(row![0]), 256)
  await Promise.all(links.map((link) => link.close()))
})

test('C11: tables of a newer version are used when they allow it, and refused when not', async () => {
  const address = `${postgres.address}?schema=newer`
  await (await openPostgresDatabase(address)).close()
  const link = linkTo(address)
  await link.call('change', 'UPDATE newer.meta SET version = version + 1')
  await (await openPostgresDatabase(address)).close()
  const found = await readVersion(link, readAddress(address))
  assert.equal(found?.version, schemaVersion + 1)
  await link.call('change', `UPDATE newer.meta SET oldest = ${schemaVersion + 1}`)
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
