import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Mailbox,
  neverRead,
  type PostedMessage,
  type WantedMail,
} from '../../src/journal/mailbox.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'

/** A mailbox, what was posted, and what its reads have asked for and got. */
function setUp() {
  const clock = new VirtualClock()
  const posted: PostedMessage[] = []
  const asked: WantedMail[] = []
  let rows = 0
  let gate = Promise.resolve()
  const mailbox = new Mailbox({
    address: 'a test',
    clock,
    readEvery: 1_000,
    read: async (wanted) => {
      asked.push(wanted)
      const after = new Map(wanted)
      const found = posted.filter(({ run, mail }) => mail > (after.get(run) ?? Infinity))
      rows += found.length
      await gate
      return found
    },
  })
  const post = (run: number, kind = 'cancel'): void => {
    posted.push({ mail: posted.length + 1, run, kind, sender: 'a test', name: null, value: null })
  }
  return {
    clock,
    mailbox,
    asked,
    post,
    rowsRead: () => rows,
    hold: (until: Promise<void>) => (gate = until),
  }
}

/** A writer that notes the numbers of its messages. */
function writer() {
  const mails: number[] = []
  const kinds: (string | undefined)[] = []
  const onMessage = (message: { kind: string } | undefined, mail: number): void => {
    mails.push(mail)
    kinds.push(message?.kind)
  }
  return { mails, kinds, onMessage }
}

test('M1, M4: 400 messages that nothing takes are delivered once, and cost 400 rows to read', async () => {
  const { clock, mailbox, post, rowsRead } = setUp()
  const run = writer()
  mailbox.add(7, run)
  for (let count = 0; count < 400; count++) {
    post(7)
    mailbox.wake()
    await clock.settle()
  }
  await clock.advance(10_000)
  assert.deepEqual(
    run.mails,
    Array.from({ length: 400 }, (_, index) => index + 1),
  )
  assert.equal(rowsRead(), 400)
  await mailbox.stop()
})

test('M2: a message without a wake is read at most a second later', async () => {
  const { clock, mailbox, post } = setUp()
  const run = writer()
  mailbox.add(7, run)
  post(7)
  await clock.advance(999)
  assert.deepEqual(run.mails, [])
  await clock.advance(1)
  assert.deepEqual(run.mails, [1])
  await mailbox.stop()
  assert.equal(clock.pending, 0)
})

test('M2: reading continues after a read that took longer than the time between two', async () => {
  const { clock, mailbox, post, hold } = setUp()
  const run = writer()
  mailbox.add(7, run)
  const held = Promise.withResolvers<void>()
  void hold(held.promise)
  mailbox.wake()
  mailbox.add(8, writer())
  await clock.advance(5_000)
  held.resolve()
  await clock.settle()
  post(7)
  await clock.advance(1_000)
  assert.deepEqual(run.mails, [1])
  await mailbox.stop()
})

test('M3: a wake during a read makes another one follow at once', async () => {
  const { clock, mailbox, asked, post, hold } = setUp()
  const run = writer()
  mailbox.add(7, run)
  const held = Promise.withResolvers<void>()
  void hold(held.promise)
  mailbox.wake()
  post(7)
  mailbox.wake()
  mailbox.wake()
  assert.equal(asked.length, 1)
  held.resolve()
  await clock.settle()
  assert.deepEqual(asked, [[[7, neverRead]], [[7, 0]]])
  assert.deepEqual(run.mails, [1])
  await mailbox.stop()
})

test('M1: a run that is let go and resumed while its mail is read gets all of it, its old writer nothing', async () => {
  const { clock, mailbox, post, hold } = setUp()
  const [old, fresh] = [writer(), writer()]
  mailbox.add(7, old)
  post(7)
  post(8)
  const held = Promise.withResolvers<void>()
  void hold(held.promise)
  mailbox.wake()
  mailbox.remove(7)
  mailbox.add(7, fresh)
  held.resolve()
  await clock.settle()
  assert.deepEqual([old.mails, fresh.mails], [[], []])
  post(7)
  mailbox.wake()
  await clock.settle()
  assert.deepEqual([old.mails, fresh.mails], [[], [1, 3]])
  assert.equal(mailbox.has(7), true)
  mailbox.remove(7)
  assert.equal(clock.pending, 0, 'M5: nothing is read for no run')
  await mailbox.stop()
})

test('a message that a later version has sent is handed over unread, to be removed', async () => {
  const { clock, mailbox, post } = setUp()
  const run = writer()
  mailbox.add(7, run)
  post(7, 'something new')
  mailbox.wake()
  await clock.settle()
  assert.deepEqual([run.mails, run.kinds], [[1], [undefined]])
  await mailbox.stop()
  post(7)
  mailbox.wake()
  await clock.settle()
  assert.deepEqual(run.mails, [1])
})
