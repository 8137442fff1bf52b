import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { systemKernel } from '../../../src/kernel/kernel.ts'
import { Committer } from '../../../src/store/committer.ts'
import { readAddress } from '../../../src/store/postgres/address.ts'
import { Link } from '../../../src/store/postgres/database-link.ts'
import {
  openPostgresDatabase,
  PostgresDatabase,
} from '../../../src/store/postgres/postgres-database.ts'
import type { StoreDatabase, StoreRow } from '../../../src/store/roles.ts'
import { shardCount, shardOf } from '../../../src/store/shard-of.ts'
import { write, type StoredRecord, type Table } from '../../../src/store/tables.ts'
import { storeConformance } from '../../../src/testing/store-conformance.ts'

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

let stores = 0

storeConformance('postgres', async (tables) => {
  const address = `${postgres.address}?schema=store_${++stores}`
  const connected: AsyncDisposable[] = []
  return {
    async connect(declared = tables) {
      const database = await openPostgresDatabase(address, { tables: declared })
      connected.push(database)
      return database
    },
    async [Symbol.asyncDispose]() {
      for (const database of connected) await database[Symbol.asyncDispose]()
    },
  }
})

/** Nothing is left on a connection from one call to the next: what pgbouncer in transaction mode asks for. */
storeConformance('postgres, each call on a connection of its own', async (given) => {
  const address = `${postgres.address}?schema=store_${++stores}`
  const connect = async (tables = given): Promise<StoreDatabase> => {
    await (await openPostgresDatabase(address, { tables })).close()
    return databaseOfCalls(async (call) => {
      await using database = new PostgresDatabase(readAddress(address), { tables })
      return await call(database)
    })
  }
  return { connect, async [Symbol.asyncDispose]() {} }
})

type Once = <T>(call: (database: StoreDatabase) => Promise<T>) => Promise<T>

function databaseOfCalls(once: Once): StoreDatabase {
  return {
    checkVersion: () => once((each) => each.checkVersion()),
    openSession: (...given) => once((each) => each.openSession(...given)),
    renew: (...given) => once((each) => each.renew(...given)),
    acquire: (...given) => once((each) => each.acquire(...given)),
    release: (...given) => once((each) => each.release(...given)),
    owners: () => once((each) => each.owners()),
    commit: (...given) => once((each) => each.commit(...given)),
    fence: (...given) => once((each) => each.fence(...given)),
    openJobs: (...given) => once((each) => each.openJobs(...given)),
    familyOutcomes: (...given) => once((each) => each.familyOutcomes(...given)),
    tables: {
      byIds: (...given) => once((each) => each.tables.byIds(...given)),
      ofShards: (...given) => once((each) => each.tables.ofShards(...given)),
      list: (...given) => once((each) => each.tables.list(...given)),
      change: (...given) => once((each) => each.tables.change(...given)),
      now: () => once((each) => each.tables.now()),
      removeBelow: (...given) => once((each) => each.tables.removeBelow(...given)),
    },
  }
}

test('C3, C4: connections that are cut lose nothing that was acknowledged and write nothing twice', async () => {
  const address = `${postgres.address}?schema=cut`
  await using database = await openPostgresDatabase(address)
  const admin = new Link({ address: readAddress(address), clock: systemKernel.clock })
  await database.renew('a', 600_000)
  const grants = new Map(
    (await database.acquire('a', shardCount)).map((grant) => [grant.shard, grant]),
  )
  const committer = new Committer<StoreRow>({
    server: 'a',
    database,
    kernel: systemKernel,
    onRefused: ({ shard }) => assert.fail(`shard ${shard} was refused`),
  })
  const cut = (): Promise<unknown> =>
    admin.call(
      'cut connections',
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'heddle writer' AND datname = current_database()`,
    )
  const names = Array.from({ length: 3_000 }, (_, index) => `job ${index}`)
  const written: string[] = []
  let cuts = 0
  const writing = names.map(async (name) => {
    const input = new Uint8Array()
    const row = { kind: 'job-acknowledged', handle: name, job: 'j', version: '1', input } as const
    await committer.write(grants.get(shardOf(name))!, [row])
    written.push(name)
    // About one commit in two is followed by a cut.
    if (written.length % 500 === 1) {
      cuts++
      await cut()
    }
  })
  await Promise.all(writing)
  const open = await database.openJobs([...grants.keys()])
  assert.deepEqual(open.map(({ handle }) => handle).toSorted(), names.toSorted())
  assert.ok(cuts >= 5)
  assert.equal(committer.stats().pending, 0)
  await committer.stop()
  await admin.close()
})

test('commits that are not needed any more are removed', async () => {
  const address = `${postgres.address}?schema=swept`
  await using database = await openPostgresDatabase(address)
  const link = new Link({ address: readAddress(address), clock: systemKernel.clock })
  await database.openSession('a', 'a/1')
  for (let number = 1; number <= 1_000; number++) await database.commit('a/1', number, [])
  // The sweep is under way on the connection for reading: this call comes after it.
  await database.openJobs([])
  const [row] = await link.call<[string]>('count', 'SELECT count(*) FROM swept.commit')
  assert.equal(Number(row![0]), 1)
  assert.deepEqual(await database.fence('a/1'), { last: 1_000, answer: [] })
  await link.close()
})

interface Measure extends StoredRecord {
  readonly value?: number
}

const measures: Table<Measure> = {
  name: 'test_measure',
  columns: { value: 'number' },
  indexes: [['value']],
}

test('T1: numbers are read exactly where PostgreSQL rounds them in text', async () => {
  const address = new URL(`${postgres.address}?schema=rounded`)
  address.searchParams.set('options', '-c extra_float_digits=0')
  await using database = await openPostgresDatabase(address.href, { tables: [measures] })
  const values = [0.1 + 0.2, Math.PI, Number.MAX_SAFE_INTEGER, Number.MIN_VALUE, -Infinity]
  const records = values.map((value, index) => ({ id: `m${index}`, value }))
  await database.tables.change(records.map((record) => write(measures, record)))
  const ids = records.map(({ id }) => id)
  const read = await database.tables.byIds(measures, ids)
  assert.deepEqual(
    read.map((record) => record?.value),
    values,
  )
})

/** Some databases have it as their default. A conflicting transaction fails there, and is sent again. */
test('T4: several that write one record at a time where transactions are serializable all succeed', async () => {
  const address = new URL(`${postgres.address}?schema=serializable`)
  address.searchParams.set('options', '-c default_transaction_isolation=serializable')
  const tables = [measures]
  await using one = await openPostgresDatabase(address.href, { tables })
  await using two = await openPostgresDatabase(address.href, { tables })
  for (let round = 0; round < 50; round++) {
    const changes = [write(measures, { id: 'm', value: round })]
    await Promise.all([one, two].map((each) => each.tables.change(changes)))
  }
  const [read] = await one.tables.byIds(measures, ['m'])
  assert.equal(read?.revision, 100)
})
