import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { systemClock } from '../../../src/kernel/clock.ts'
import { systemKernel } from '../../../src/kernel/kernel.ts'
import { examinePostgres } from '../../../src/store/postgres/examine.ts'
import { openPostgresDatabase } from '../../../src/store/postgres/postgres-database.ts'
import { schemaVersion } from '../../../src/store/postgres/schema.ts'

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
  assert.ok(empty.risks.includes('fsync = off'))
  await (await openPostgresDatabase(postgres.address)).close()
  assert.equal((await examinePostgres(postgres.address)).tables, schemaVersion)
})

test('a clock that differs is noticed', async () => {
  const clock = { ...systemClock, wallTime: () => systemClock.wallTime() - 60_000 }
  const { clockDifference } = await examinePostgres(postgres.address, { ...systemKernel, clock })
  assert.ok(Math.abs(clockDifference - 60_000) < 30_000, `${clockDifference} ms`)
})
