import assert from 'node:assert/strict'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type {
  DiskAnswer,
  DiskBatch,
  DiskRequest,
  WireMeta,
} from '../../../../src/cache/tiers/disk/messages.ts'
import { DiskServer } from '../../../../src/cache/tiers/disk/server.ts'
import { temporaryFolder } from '../support.ts'

/** A server with a port that the test looks into. */
function startServer(directory: string, maxBytes = 10_000_000) {
  const answers = new Map<number, DiskAnswer[]>()
  const inbox: DiskBatch[] = []
  let notice = Promise.withResolvers<void>()
  let messages = 0
  const server = new DiskServer(
    { directory, name: 'cache', maxBytes, durable: false },
    {
      post: (message) => {
        messages++
        for (const answer of message.answers) {
          answers.set(answer.id, [...(answers.get(answer.id) ?? []), answer])
        }
        notice.resolve()
        notice = Promise.withResolvers()
      },
      next: () => inbox.shift(),
    },
  )
  const send = (...requests: DiskRequest[]): void => server.accept({ now: 0, requests })
  /** The last answer to a request that is not about credit. */
  const answer = async (id: number): Promise<DiskAnswer> => {
    for (;;) {
      const found = answers.get(id)?.find((each) => !('credit' in each))
      if (found !== undefined) return found
      await notice.promise
    }
  }
  return {
    send,
    answer,
    answers,
    inbox,
    server,
    sent: () => messages,
    home: join(directory, 'cache'),
  }
}

const meta = (key: string, version = 1): WireMeta => ({
  key,
  version,
  createdAt: 0,
  ttl: Infinity,
  parent: undefined,
})

const codeOf = (answer: DiskAnswer): string | undefined =>
  'error' in answer ? answer.error.code : undefined

test('what comes while it opens waits, and is then done in order', async () => {
  using folder = temporaryFolder()
  const { send, answer, inbox } = startServer(folder.path)
  send({ id: 1, type: 'open' }, { id: 2, type: 'write', meta: meta('a'), body: new Uint8Array(3) })
  send({ id: 3, type: 'delete', key: 'a', version: 999 })
  inbox.push({ now: 0, requests: [{ id: 4, type: 'peek', key: 'a' }] })
  assert.deepEqual(await answer(1), { id: 1, value: 0 })
  assert.deepEqual(await answer(2), { id: 2, value: false })
  assert.deepEqual(await answer(3), { id: 3, value: true })
  send({ id: 5, type: 'close' })
  assert.deepEqual(await answer(5), { id: 5, value: undefined })
  // Too late: nothing is open.
  send({ id: 6, type: 'peek', key: 'a' }, { id: 7, type: 'clear' }, { id: 8, type: 'close' })
  for (const id of [6, 7, 8]) assert.equal(codeOf(await answer(id)), 'HDL_CLOSED')
})

test('everything that has arrived is one commit, and one message of answers', async () => {
  using folder = temporaryFolder()
  const { send, answer, inbox, sent } = startServer(folder.path)
  send({ id: 1, type: 'open' })
  await answer(1)
  const before = sent()
  for (let id = 10; id < 110; id++) {
    const body = new Uint8Array(10)
    inbox.push({ now: 0, requests: [{ id, type: 'write', meta: meta(`key ${id}`, id), body }] })
  }
  send({ id: 9, type: 'write', meta: meta('first', 9), body: new Uint8Array(10) })
  await answer(109)
  assert.equal(sent() - before, 1)
  send({ id: 200, type: 'close' })
  await answer(200)
})

test('a large value that cannot be written fails at its end, and leaves nothing', async () => {
  using folder = temporaryFolder()
  const { send, answer, answers, home } = startServer(folder.path)
  send({ id: 1, type: 'open' })
  await answer(1)
  // Its draft is in the way.
  writeFileSync(join(home, 'staging', '2'), 'somebody')
  const bytes = (): Uint8Array => new Uint8Array(1000)
  send(
    { id: 2, type: 'begin', meta: meta('a') },
    { id: 2, type: 'piece', bytes: bytes() },
    { id: 2, type: 'piece', bytes: bytes() },
    { id: 2, type: 'end' },
  )
  assert.equal(codeOf(await answer(2)), 'HDL_STORE_FAILED')
  assert.equal(answers.get(2)?.filter((each) => 'credit' in each).length, 1, 'the rest was taken')

  rmSync(join(home, 'files'), { recursive: true })
  send(
    { id: 3, type: 'begin', meta: meta('a') },
    { id: 3, type: 'piece', bytes: bytes() },
    { id: 3, type: 'end' },
    // Of a value that nobody began.
    { id: 99, type: 'piece', bytes: bytes() },
  )
  assert.equal(codeOf(await answer(3)), 'HDL_STORE_FAILED')
  assert.deepEqual(readdirSync(join(home, 'staging')), [])
  send({ id: 4, type: 'peek', key: 'a' }, { id: 5, type: 'close' })
  assert.deepEqual(await answer(4), { id: 4, value: undefined })
  await answer(5)
})

test('a large value that is replaced while it is read is answered with what is there then', async () => {
  using folder = temporaryFolder()
  const { send, answer, home } = startServer(folder.path)
  send({ id: 1, type: 'open' })
  await answer(1)
  const large = (id: number, fill: number): void =>
    send(
      { id, type: 'begin', meta: meta('a', id) },
      { id, type: 'piece', bytes: new Uint8Array(3_000_000).fill(fill) },
      { id, type: 'end' },
    )
  large(2, 1)
  await answer(2)
  send({ id: 3, type: 'read', key: 'a' })
  send({ id: 4, type: 'write', meta: meta('a', 4), body: new Uint8Array([5]) })
  const found = (await answer(3)) as { value: { body: Uint8Array } }
  assert.deepEqual(found.value.body, new Uint8Array([5]))

  large(5, 2)
  await answer(5)
  send({ id: 6, type: 'read', key: 'a' })
  send({ id: 7, type: 'delete', key: 'a', version: 999 })
  assert.deepEqual(await answer(6), { id: 6, value: undefined })
  assert.deepEqual(readdirSync(join(home, 'files')), [])

  large(8, 3)
  await answer(8)
  send({ id: 9, type: 'read', key: 'a' }, { id: 10, type: 'close' })
  assert.equal(codeOf(await answer(9)), 'HDL_CLOSED')
  await answer(10)
})
