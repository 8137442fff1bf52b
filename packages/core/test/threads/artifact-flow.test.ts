import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { ArtifactInfo } from '../../src/artifacts/artifact-store.ts'
import {
  ArtifactReader,
  ArtifactSender,
  type ArtifactNotice,
  type OnArtifact,
} from '../../src/threads/artifact-flow.ts'

const info: ArtifactInfo = { run: 'r', name: 'a', length: 1, sha256: '', createdAt: 1, by: '' }

/** Both sides in one thread: everything that is posted arrives in the next turn. */
function connect(onArtifact: OnArtifact | undefined) {
  const posted: ArtifactNotice[] = []
  const sender = new ArtifactSender((notice) => {
    posted.push(notice)
    setImmediate(() => reader.accept(notice, onArtifact))
  })
  const reader = new ArtifactReader((control) => setImmediate(() => sender.accept(control)))
  return { sender, reader, posted }
}

async function turns(): Promise<void> {
  for (let at = 0; at < 20; at++) await turn()
}

test('A1: the loop holds at most a window of pieces that the store has not asked for', async () => {
  const isRead = Promise.withResolvers<void>()
  const { sender, posted } = connect(async (_, content) => {
    await isRead.promise
    let pieces = 0
    for await (const _piece of content) pieces++
    return { ...info, length: pieces }
  })
  const pieces = Array.from({ length: 10 }, (_, at) => `piece ${at}`)
  const sending = sender.send(1, 'a', pieces)
  await turns()
  assert.deepEqual(
    posted.map(({ step }) => step),
    ['begin', 'piece', 'piece', 'piece', 'piece'],
  )
  isRead.resolve()
  assert.equal((await sending).length, 10)
  assert.equal(sender.pending(1), undefined)
})

test('A3: when a job leaves, the stream that the store reads ends, and so does its sender', async () => {
  let failure: unknown
  const { sender, reader } = connect(async (_, content) => {
    try {
      for await (const _piece of content) continue
    } catch (error) {
      failure = error
      throw error
    }
    return info
  })
  const content = async function* (): AsyncGenerator<string> {
    yield 'one'
    await new Promise(() => {})
  }
  const sending = sender.send(1, 'a', content())
  const other = sender.send(2, 'b', 'whole')
  await turns()
  const left = new Error('the job has left')
  reader.drop(1, left)
  sender.drop(1)
  await assert.rejects(sending, { code: 'HDL_CLOSED' })
  assert.deepEqual(await other, info)
  assert.equal(failure, left)
  assert.equal(reader.isIdle, true)
})

test('a store that refuses ends the content, and so does a loop without one', async () => {
  let isClosed = false
  const content = function* (): Generator<string> {
    try {
      for (;;) yield 'more'
    } finally {
      isClosed = true
    }
  }
  const refusing = connect(() => Promise.reject(new Error('no room')))
  await assert.rejects(refusing.sender.send(1, 'a', content()), { message: 'no room' })
  await turns()
  assert.equal(isClosed, true)
  const without = connect(undefined)
  await assert.rejects(without.sender.send(1, 'a', 'text'), { code: 'HDL_NO_ARTIFACTS' })
})

test('A2: an artifact that its job has not awaited is pending until the store has it', async () => {
  const stored = Promise.withResolvers<ArtifactInfo>()
  const { sender } = connect(() => stored.promise)
  void sender.send(1, 'a', 'text')
  assert.equal(sender.pending(2), undefined)
  const pending = sender.pending(1)
  stored.resolve(info)
  assert.deepEqual(await pending, [info])
})
