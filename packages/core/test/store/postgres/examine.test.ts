import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { Client } from 'pg'
import { systemClock } from '../../../src/kernel/clock.ts'
import { systemKernel } from '../../../src/kernel/kernel.ts'
import { examinePostgres } from '../../../src/store/postgres/examine.ts'
import { openPostgresDatabase } from '../../../src/store/postgres/postgres-database.ts'
import { schemaVersion } from '../../../src/store/postgres/schema.ts'
import { openPooler } from './fixtures/pooler.ts'

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

test('a server is described, and nothing is changed in it', async () => {
  const empty = await examinePostgres(postgres.address)
  assert.equal(empty.isSupported, true)
  assert.equal(empty.tables, undefined)
  assert.equal(empty.mayMigrate, true)
  assert.equal(empty.mayWrite, true)
  assert.deepEqual([empty.isReadOnly, empty.encoding], [false, 'UTF8'])
  assert.ok(empty.risks.includes('fsync = off'))
  assert.deepEqual(empty.transport, { tls: undefined, isVerified: false, isLocal: true })
  assert.equal(empty.pooler, 'none')
  const { most, used, needed } = empty.connections
  assert.ok(most > 0 && used > 0 && needed === 9, `${used} of ${most}`)
  await (await openPostgresDatabase(postgres.address)).close()
  const made = await examinePostgres(postgres.address)
  assert.deepEqual([made.tables, made.isTooOld], [schemaVersion, false])
})

test('tables that this version cannot work on are noticed', async () => {
  await using admin = await connected(postgres.address)
  const address = `${postgres.address}?schema=newer`
  await (await openPostgresDatabase(address)).close()
  await admin.client.query('UPDATE newer.meta SET version = 999, oldest = 999')
  const { tables, isTooOld } = await examinePostgres(address)
  assert.deepEqual([tables, isTooOld], [999, true])
})

test('a clock that differs is noticed', async () => {
  const clock = { ...systemClock, wallTime: () => systemClock.wallTime() - 60_000 }
  const { clockDifference } = await examinePostgres(postgres.address, { ...systemKernel, clock })
  assert.ok(Math.abs(clockDifference - 60_000) < 30_000, `${clockDifference} ms`)
})

test('a user without rights is noticed, before and after there are tables', async () => {
  await using admin = await connected(postgres.address)
  const name = `guest_${new URL(postgres.address).pathname.slice(1)}`
  await admin.client.query(`CREATE ROLE ${name} LOGIN PASSWORD 'guest' CONNECTION LIMIT 9`)
  try {
    const guest = new URL(postgres.address)
    guest.username = name
    guest.password = 'guest'
    guest.search = '?schema=guests'
    const empty = await examinePostgres(guest.href)
    assert.deepEqual([empty.tables, empty.mayMigrate], [undefined, false])
    assert.equal(empty.connections.most, 9)
    await (await openPostgresDatabase(`${postgres.address}?schema=guests`)).close()
    await admin.client.query(`GRANT USAGE ON SCHEMA guests TO ${name}`)
    await admin.client.query(`GRANT SELECT ON ALL TABLES IN SCHEMA guests TO ${name}`)
    const there = await examinePostgres(guest.href)
    assert.deepEqual([there.mayMigrate, there.mayWrite], [false, false])
  } finally {
    await admin.client.query(`DROP OWNED BY ${name}; DROP ROLE ${name}`)
  }
})

test('a server that refuses every change is noticed', async () => {
  const address = new URL(postgres.address)
  address.searchParams.set('options', '-c default_transaction_read_only=on')
  assert.equal((await examinePostgres(address.href)).isReadOnly, true)
})

async function connected(connectionString: string) {
  const client = new Client({ connectionString })
  await client.connect()
  return { client, [Symbol.asyncDispose]: () => client.end() }
}

test('settings that lose committed data are named; settings that our commits override are not', async () => {
  const withOptions = (options: string): Promise<readonly string[]> => {
    const address = new URL(postgres.address)
    address.searchParams.set('options', options)
    return examinePostgres(address.href).then(({ risks }) => risks)
  }
  const always = ['fsync = off', 'full_page_writes = off']
  assert.deepEqual(await withOptions('-c synchronous_commit=off'), always)
  assert.deepEqual(await withOptions('-c synchronous_commit=local'), always, 'there is no standby')
})

test('a pooler in transaction mode is noticed, and a store works behind it', async () => {
  await using pooler = await openPooler(postgres.address)
  const address = `${pooler.address}?schema=pooled`
  assert.equal((await examinePostgres(address)).pooler, 'transaction')
  await using database = await openPostgresDatabase(address)
  await database.renew('a', 60_000)
  const [grant] = await database.acquire('a', 1)
  await database.openSession('a', 'a/1')
  const job = { handle: 'h', job: 'weave', version: '1', input: Uint8Array.of(1) }
  const batch = { ...grant!, rows: [{ kind: 'job-acknowledged', ...job } as const] }
  assert.deepEqual(await database.commit('a/1', 1, [batch]), [undefined])
  const open = await database.openJobs([grant!.shard])
  assert.deepEqual(
    open.map(({ handle }) => handle),
    ['h'],
  )
})

test('TLS is noticed, and whether the certificate was checked', async () => {
  const file = path.join(import.meta.dirname, 'fixtures/localhost.pem')
  await using pooler = await openPooler(postgres.address, { pem: readFileSync(file, 'utf8') })
  const transportWith = async (query: string) => {
    const { transport } = await examinePostgres(`${pooler.address}?${query}`)
    return transport
  }
  const open = await transportWith('sslmode=no-verify')
  assert.match(open.tls!, /^TLS/)
  assert.equal(open.isVerified, false)
  const checked = await transportWith(`sslmode=verify-full&sslrootcert=${encodeURIComponent(file)}`)
  assert.equal(checked.isVerified, true)
  await assert.rejects(transportWith('sslmode=verify-full'), { code: 'HDL_STORE_FAILED' })
})
