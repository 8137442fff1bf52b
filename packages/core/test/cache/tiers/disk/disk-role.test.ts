import assert from 'node:assert/strict'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type {
  DiskChange,
  DiskQuestion,
  WireMeta,
} from '../../../../src/cache/tiers/disk/disk-messages.ts'
import { DiskRole } from '../../../../src/cache/tiers/disk/disk-role.ts'
import { HostServer } from '../../../../src/sqlite/host-server.ts'
import type { HostAnswer, HostMessage, HostRequest } from '../../../../src/sqlite/host-messages.ts'
import { temporaryFolder } from '../support.ts'

/** A host with a port that the test looks into. */
function startServer(directory: string, maxBytes = 10_000_000) {
  const answers = new Map<number, HostAnswer[]>()
  const inbox: HostMessage[] = []
  let notice = Promise.withResolvers<void>()
  let messages = 0
  const next = (): HostMessage | undefined => inbox.shift()
  const server = new HostServer(
    new DiskRole({ directory, name: 'cache', maxBytes, durable: false }),
    {
      post: (message) => {
        messages++
        for (const answer of message.answers) {
          answers.set(answer.id, [...(answers.get(answer.id) ?? []), answer])
        }
        notice.resolve()
        notice = Promise.withResolvers()
      },
      next,
      nextSoon: next,
      whenIdle: () => undefined,
    },
  )
  const send = (...requests: HostRequest[]): void => server.accept({ now: 0, requests })
  /** The last answer to a request that is not about credit. */
  const answer = async (id: number): Promise<HostAnswer> => {
    for (;;) {
      const found = answers.get(id)?.find((each) => !('credit' in each))
      if (found !== undefined) return found
      await notice.promise
    }
  }
  return { send, answer, answers, inbox, sent: () => messages, home: join(directory, 'cache') }
}

const ask = (id: number, question: DiskQuestion): HostRequest => ({ id, role: 0, ask: question })
const change = (id: number, made: DiskChange): HostRequest => ({ id, role: 0, change: made })
const open = (id: number): HostRequest => ({ id, open: true })
const close = (id: number): HostRequest => ({ id, close: undefined })

const meta = (key: string, version = 1): WireMeta => ({
  key,
  version,
  createdAt: 0,
  ttl: Infinity,
  parent: undefined,
})

const codeOf = (answer: HostAnswer): string | undefined =>
  'error' in answer ? answer.error.heddle?.code : undefined

test('operations that come while it opens wait, and are then done in order', async () => {
  using folder = temporaryFolder()
  const { send, answer, inbox } = startServer(folder.path)
  send(open(1), change(2, { type: 'write', meta: meta('a'), body: new Uint8Array(3) }))
  send(change(3, { type: 'delete', key: 'a', version: 999 }))
  inbox.push({ now: 0, requests: [ask(4, { type: 'peek', key: 'a' })] })
  assert.deepEqual(await answer(1), { id: 1, value: 0 })
  assert.deepEqual(await answer(2), { id: 2, value: false })
  assert.deepEqual(await answer(3), { id: 3, value: true })
  send(close(5))
  assert.deepEqual(await answer(5), { id: 5, value: undefined })
  // Too late: nothing is open.
  send(ask(6, { type: 'peek', key: 'a' }), change(7, { type: 'clear' }), close(8))
  for (const id of [6, 7, 8]) assert.equal(codeOf(await answer(id)), 'HDL_CLOSED')
})

test('everything that has arrived is one commit, and one message of answers', async () => {
  using folder = temporaryFolder()
  const { send, answer, inbox, sent } = startServer(folder.path)
  send(open(1))
  await answer(1)
  const before = sent()
  for (let id = 10; id < 110; id++) {
    const body = new Uint8Array(10)
    inbox.push({
      now: 0,
      requests: [change(id, { type: 'write', meta: meta(`key ${id}`, id), body })],
    })
  }
  send(change(9, { type: 'write', meta: meta('first', 9), body: new Uint8Array(10) }))
  await answer(109)
  assert.equal(sent() - before, 1)
  send(close(200))
  await answer(200)
})

test('a large value that cannot be written fails at its end, and leaves nothing', async () => {
  using folder = temporaryFolder()
  const { send, answer, answers, home } = startServer(folder.path)
  send(open(1))
  await answer(1)
  // Its draft is in the way.
  writeFileSync(join(home, 'staging', '2'), 'somebody')
  const bytes = (): Uint8Array<ArrayBuffer> => new Uint8Array(1000)
  send(
    { id: 2, role: 0, begin: meta('a') },
    { id: 2, piece: bytes() },
    { id: 2, piece: bytes() },
    { id: 2, end: true },
  )
  assert.equal(codeOf(await answer(2)), 'HDL_STORE_FAILED')
  assert.equal(answers.get(2)?.filter((each) => 'credit' in each).length, 1, 'the rest was taken')

  rmSync(join(home, 'files'), { recursive: true })
  send(
    { id: 3, role: 0, begin: meta('a') },
    { id: 3, piece: bytes() },
    { id: 3, end: true },
    // A piece of a value that was never begun.
    { id: 99, piece: bytes() },
  )
  assert.equal(codeOf(await answer(3)), 'HDL_STORE_FAILED')
  assert.deepEqual(readdirSync(join(home, 'staging')), [])
  send(ask(4, { type: 'peek', key: 'a' }), close(5))
  assert.deepEqual(await answer(4), { id: 4, value: undefined })
  await answer(5)
})

test('a large value that is replaced during a read is answered with the current value', async () => {
  using folder = temporaryFolder()
  const { send, answer, home } = startServer(folder.path)
  send(open(1))
  await answer(1)
  const large = (id: number, fill: number): void =>
    send(
      { id, role: 0, begin: meta('a', id) },
      { id, piece: new Uint8Array(3_000_000).fill(fill) },
      { id, end: true },
    )
  large(2, 1)
  await answer(2)
  send(ask(3, { type: 'read', key: 'a' }))
  send(change(4, { type: 'write', meta: meta('a', 4), body: new Uint8Array([5]) }))
  const found = (await answer(3)) as { value: { body: Uint8Array } }
  assert.deepEqual(found.value.body, new Uint8Array([5]))

  large(5, 2)
  await answer(5)
  send(ask(6, { type: 'read', key: 'a' }))
  send(change(7, { type: 'delete', key: 'a', version: 999 }))
  assert.deepEqual(await answer(6), { id: 6, value: undefined })
  assert.deepEqual(readdirSync(join(home, 'files')), [])

  large(8, 3)
  await answer(8)
  send(ask(9, { type: 'read', key: 'a' }), close(10))
  assert.equal(codeOf(await answer(9)), 'HDL_CLOSED')
  await answer(10)
})
