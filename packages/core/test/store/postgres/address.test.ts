import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import {
  isPostgresAddress,
  readAddress,
  withoutPasswords,
} from '../../../src/store/postgres/address.ts'

test('addresses of PostgreSQL begin with postgres: or postgresql:', () => {
  assert.ok(isPostgresAddress('postgres://h/d'))
  assert.ok(isPostgresAddress('postgresql://h/d'))
  assert.ok(!isPostgresAddress('sqlite:postgres.db'))
  assert.ok(!isPostgresAddress('postgres.db'))
})

test('the schema is removed from the address, the rest is for the driver', () => {
  const read = readAddress('postgres://u:secret@h:5433/d?sslmode=verify-full&schema=mine')
  assert.equal(read.schema, 'mine')
  assert.equal(read.connectionString, 'postgres://u:secret@h:5433/d?sslmode=verify-full')
  assert.equal(read.shown, 'postgres://u@h:5433/d?schema=mine')
  assert.equal(readAddress('postgres://h/d').schema, 'heddle')
  assert.equal(readAddress('postgres://h/d').shown, 'postgres://h/d')
})

test('a socket of the file system needs no host, with a user too', () => {
  for (const start of ['postgres://u:secret@/d', 'postgres:///d']) {
    const { connectionString, shown } = readAddress(`${start}?host=/run/postgresql&schema=mine`)
    assert.equal(connectionString, `${start}?host=%2Frun%2Fpostgresql`)
    assert.equal(shown, `${start.replace(':secret', '')}?schema=mine`)
  }
})

test('a folder of artifacts is taken out of the address, and is a path from the root', () => {
  const read = readAddress('postgres://u:secret@h/d?artifacts=folder:/mnt/shared&schema=mine')
  assert.equal(read.artifacts, '/mnt/shared')
  assert.equal(read.connectionString, 'postgres://u:secret@h/d')
  assert.equal(read.shown, 'postgres://u@h/d?schema=mine&artifacts=folder:/mnt/shared')
  assert.equal(readAddress('postgres://h/d').artifacts, undefined)
  for (const artifacts of ['', 'folder:', 'folder:here', '/mnt/shared', 'memory']) {
    const address = `postgres://u:secret@h/d?artifacts=${encodeURIComponent(artifacts)}`
    assert.throws(() => readAddress(address), { code: 'HDL_BAD_OPTION' }, artifacts)
  }
})

test('a schema is a plain name: it becomes part of statements', () => {
  for (const schema of ['a"b', 'A', 'a b', 'a;b', '', '1a', 'x'.repeat(49), 'user', 'with']) {
    const address = `postgres://u:secret@h/d?schema=${encodeURIComponent(schema)}`
    assert.throws(() => readAddress(address), { code: 'HDL_BAD_OPTION' }, schema)
  }
})

test('a misspelt word and an unknown sslmode are refused; other words are passed to the driver', () => {
  for (const [words, meant] of [
    ['shema=mine', /schema/],
    ['artefacts=folder:/mnt', /artifacts/],
    ['ssl_mode=require', /sslmode/],
    ['sslmode=bogus', /verify-full/],
  ] as const) {
    const address = `postgres://u:secret@h/d?${words}`
    assert.throws(() => readAddress(address), { code: 'HDL_BAD_OPTION', message: meant }, words)
  }
  const words =
    'ssl=true&sslcert=a&sslkey=b&application_name=mine&connect_timeout=5&options=-c%20x=1'
  const { connectionString } = readAddress(`postgres://h/d?${words}&sslmode=no-verify`)
  assert.match(connectionString, /ssl=true.*sslmode=no-verify$/)
})

test('an address that cannot be read is refused without its password', () => {
  for (const address of ['postgres://u:secret@h:port/d', 'postgres:u:secret@h/d']) {
    assert.throws(
      () => readAddress(address),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, 'HDL_BAD_OPTION')
        assert.doesNotMatch(inspect(error), /secret/)
        return true
      },
    )
  }
})

test('passwords are left out of command lines', () => {
  const cases = [
    ['run a.ts --journal postgres://u:se:cr@et@h/d', 'run a.ts --journal postgres://u@h/d'],
    ['--journal=postgresql://u:x@h:5/d?a=b --quiet', '--journal=postgresql://u@h:5/d?a=b --quiet'],
    ['postgres://h/d?user=u&password=x&a=b', 'postgres://h/d?user=u&password=…&a=b'],
    ['postgres://:x@h/d and https://u:x@h', 'postgres://@h/d and https://u@h'],
    ['--journal postgre://u:x@h/d', '--journal postgre://u@h/d'],
    ['run a.ts', 'run a.ts'],
  ] as const
  for (const [command, expected] of cases) assert.equal(withoutPasswords(command), expected)
})
