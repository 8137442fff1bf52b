import assert from 'node:assert/strict'
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { inspect } from 'node:util'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { systemClock, type Clock } from '../../../src/kernel/clock.ts'
import { VirtualClock } from '../../../src/kernel/virtual-clock.ts'
import { readAddress } from '../../../src/store/postgres/address.ts'
import { isRefused, Link } from '../../../src/store/postgres/database-link.ts'
import { until } from '../../kernel/until.ts'

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

function linkTo(address: string, answerWithin = 30_000, clock: Clock = systemClock): Link {
  return new Link({ address: readAddress(address), clock, answerWithin })
}

test('a connection that was lost is made again by the next call', async () => {
  const [link, other] = [linkTo(postgres.address), linkTo(postgres.address)]
  const own = async (): Promise<number> => {
    const [row] = await link.call<[number]>('be asked', 'SELECT pg_backend_pid()')
    return row![0]
  }
  const first = await own()
  const sleeping = link.call('sleep', 'SELECT pg_sleep(600)')
  const failed = assert.rejects(sleeping, { code: 'HDL_STORE_FAILED' })
  await other.call('end it', 'SELECT pg_terminate_backend($1)', [first])
  await failed
  assert.notEqual(await own(), first)
  await Promise.all([link.close(), other.close()])
})

test('L2: a call without an answer ends, and calls behind it are not held up', async () => {
  const silent = createServer((socket) => socket.on('error', () => undefined)).listen(
    0,
    '127.0.0.1',
  )
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const link = linkTo(`postgres://u:secret@127.0.0.1:${port}/d`, 50)
  await assert.rejects(link.call('be asked', 'SELECT 1'), { code: 'HDL_STORE_FAILED' })
  await link.close()
  silent.close()

  const clock = new VirtualClock()
  const [slow, other] = [linkTo(postgres.address, 200, clock), linkTo(postgres.address)]
  const sleeping = slow.call('sleep', 'SELECT pg_sleep(600)')
  const behind = slow.call<[number]>('be asked', 'SELECT 1')
  const asleep =
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
  await until(async () => (await other.call('be asked', asleep)).length > 0)
  const failed = assert.rejects(sleeping, { code: 'HDL_STORE_FAILED' })
  await clock.advance(200)
  await failed
  assert.deepEqual(await behind, [[1]])
  await Promise.all([slow.close(), other.close()])
})

test('a refusal of the database is distinguished from a missing answer', async () => {
  const link = linkTo(postgres.address)
  await assert.rejects(link.call('be asked', 'SELECT * FROM missing'), (error) =>
    isRefused(error, '42P01'),
  )
  await assert.rejects(linkTo('postgres://127.0.0.1:1/d').call('be asked', 'SELECT 1'), (error) => {
    assert.ok(!isRefused(error))
    return true
  })
  await link.close()
})

test('L3: no error holds the password', async () => {
  const wrong = new URL(postgres.address)
  wrong.password = 'not-the-secret'
  const absent = new URL(postgres.address)
  absent.port = '1'
  for (const { href, password } of [wrong, absent]) {
    const link = linkTo(href)
    await assert.rejects(link.call('be asked', 'SELECT 1'), (error) => {
      assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes(password))
      return true
    })
    await link.close()
  }
})

test('a password that is missing is named as such', async () => {
  const none = new URL(postgres.address)
  none.password = ''
  const link = linkTo(none.href)
  await assert.rejects(link.call('be asked', 'SELECT 1'), {
    code: 'HDL_STORE_FAILED',
    message: /asks for a password/,
  })
  await link.close()
})

test('after closing, calls fail; closing twice is harmless', async () => {
  const link = linkTo(postgres.address)
  await link.call('be asked', 'SELECT 1')
  await link.close()
  await link.close()
  await assert.rejects(link.call('be asked', 'SELECT 1'), { code: 'HDL_CLOSED' })
})
