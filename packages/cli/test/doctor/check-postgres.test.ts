import assert from 'node:assert/strict'
import os from 'node:os'
import { after, before, test } from 'node:test'
import type { PostgresReport } from '@heddle/core/lowlevel'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { checkPostgres, checksOf } from '../../src/doctor/check-postgres.ts'
import type { Check } from '../../src/doctor/check.ts'
import { runProgram } from '../support/program.ts'

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

const sound: PostgresReport = {
  address: 'postgres://db.example/heddle',
  version: '17.2',
  isSupported: true,
  tables: undefined,
  known: 9,
  isTooOld: false,
  mayMigrate: true,
  mayWrite: true,
  isReadOnly: false,
  encoding: 'UTF8',
  transport: { tls: 'TLSv1.3', isVerified: true, isLocal: false },
  pooler: 'none',
  connections: { most: 97, used: 20, needed: 7 },
  clockDifference: 3,
  risks: [],
}

const problems = (report: Partial<PostgresReport>): Check[] =>
  checksOf({ ...sound, ...report }).filter(({ ok }) => !ok)

test('a sound PostgreSQL has eight checks and no advice', () => {
  const checks = checksOf(sound)
  assert.deepEqual(
    checks.map(({ name, ok, help }) => [name, ok, help]),
    ['postgres', 'tls', 'pooler', 'connections', 'rights', 'encoding', 'clock', 'durability'].map(
      (name) => [name, true, undefined],
    ),
  )
})

const unsound: [string, Partial<PostgresReport>, string, RegExp][] = [
  ['a store that is too new', { tables: 12, isTooOld: true }, 'rights', /Update Heddle/],
  ['an old version', { isSupported: false, version: '14.1' }, 'postgres', /15 or newer/],
  [
    'no TLS over the network',
    { transport: { tls: undefined, isVerified: false, isLocal: false } },
    'tls',
    /sslmode=verify-full/,
  ],
  [
    'a certificate that was not checked',
    { transport: { tls: 'TLSv1.3', isVerified: false, isLocal: false } },
    'tls',
    /sslrootcert/,
  ],
  [
    'too few connections',
    { connections: { most: 20, used: 15, needed: 7 } },
    'connections',
    /max_connections .* 22 or more/,
  ],
  ['no right to make tables', { mayMigrate: false }, 'rights', /CREATE SCHEMA/],
  [
    'no right to write the tables',
    { tables: 9, mayWrite: false, mayMigrate: false },
    'rights',
    /owner/,
  ],
  [
    'a right to write the tables, and none to make those of the next week',
    { tables: 9, mayMigrate: false },
    'rights',
    /owner/,
  ],
  ['a replica', { tables: 9, isReadOnly: true }, 'rights', /primary/],
  ['an encoding that lacks characters', { encoding: 'LATIN1' }, 'encoding', /UTF8/],
  ['a clock that differs', { clockDifference: -6_000 }, 'clock', /NTP/],
  ['fsync turned off', { risks: ['fsync = off'] }, 'durability', /lost/],
]

for (const [title, report, name, help] of unsound) {
  test(`${title}: one check fails, and names the repair`, () => {
    const found = problems(report)
    assert.deepEqual(
      found.map((check) => check.name),
      [name],
    )
    assert.match(found[0]!.help!, help)
  })
}

test('a pooler in transaction mode shares its connections, and passes the check', () => {
  const connections = { most: 20, used: 20, needed: 7 }
  assert.deepEqual(problems({ pooler: 'transaction', connections }), [])
})

test('heddle doctor --store checks a real PostgreSQL, and names the repair', async () => {
  const { code, stdout } = await runProgram(['doctor', '--store', postgres.address], {
    cwd: os.tmpdir(),
  })
  // The cluster of the tests has fsync turned off.
  assert.equal(code, 1, stdout)
  for (const name of ['postgres', 'tls', 'pooler', 'connections', 'rights', 'encoding', 'clock']) {
    assert.match(stdout, new RegExp(`^✓ ${name} `, 'm'))
  }
  assert.match(stdout, /^✗ durability +fsync = off.*\n +Acknowledged data can be lost/m)
  assert.doesNotMatch(stdout, new RegExp(new URL(postgres.address).password))
})

test('an address that cannot be used is to be corrected, and no server is suspected', async () => {
  const [check] = await checkPostgres('postgres://db.example/heddle?schema=Bad-Name')
  assert.equal(check!.ok, false)
  assert.match(check!.found, /schema/)
  assert.match(check!.help!, /^Correct the address/)
  assert.doesNotMatch(check!.help!, /server is up/)
})
