import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { Mailbox, type Message } from '../../src/store/mailbox.ts'
import { serviceConformance } from '../../src/testing/service-conformance.ts'

/** A mailbox with posted messages; a write ends when the test says so. */
function setUp() {
  const clock = new VirtualClock()
  const posted: Message[] = []
  const wires = { write: Promise.resolve() }
  const grant = { shard: 0, epoch: 1 }
  const mailbox = new Mailbox<never>({
    ownership: { trusts: () => true, grants: () => [grant][Symbol.iterator]() },
    committer: { write: () => wires.write.then(() => void posted.shift()) },
    database: { messages: async () => [...posted] },
    clock,
    deliver: () => ({ rows: [] }),
  })
  const post = (id: string): void => {
    posted.push({ id, shard: 0, kind: 'cancel', to: 'a' })
    mailbox.wake()
  }
  return { clock, mailbox, post, wires }
}

serviceConformance('mailbox', () => {
  const { clock, mailbox, post, wires } = setUp()
  const occupy = (): void => {
    wires.write = new Promise(() => {})
    post('m1')
  }
  return { service: mailbox, occupy, held: () => clock.pending }
})

test('stop() waits for the read that is under way; a later wake reads nothing', async () => {
  const { clock, mailbox, post, wires } = setUp()
  await mailbox.start()
  const written = Promise.withResolvers<void>()
  wires.write = written.promise
  post('m1')
  const stopped = mailbox.stop()
  await clock.settle()
  assert.deepEqual(mailbox.stats(), { state: 'stopping', reading: true, taken: 0 })
  written.resolve()
  await stopped
  post('m2')
  await clock.settle()
  assert.deepEqual(mailbox.stats(), { state: 'stopped', reading: false, taken: 1 })
})

test('M2: a message without a wake is read at most a second later', async () => {
  const { clock, mailbox, post } = setUp()
  // Posted before the start: its wake is lost.
  post('m1')
  await mailbox.start()
  await clock.advance(999)
  assert.equal(mailbox.stats().taken, 0)
  await clock.advance(1)
  assert.equal(mailbox.stats().taken, 1)
  await mailbox.stop()
})
