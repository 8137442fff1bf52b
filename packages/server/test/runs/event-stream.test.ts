import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import type { FastifyReply } from 'fastify'
import { VirtualClock } from '@heddle/core/testing'
import { EventStream } from '../../src/runs/event-stream.ts'
import { told } from '../support/told.ts'

/** A client that takes what it is sent when the test says so. */
class SlowClient extends EventEmitter {
  readonly taken: string[] = []
  isDeaf = false
  isDestroyed = false

  setHeader(): void {}
  writeHead(): void {}
  flushHeaders(): void {}

  write(text: string): boolean {
    this.taken.push(text)
    return !this.isDeaf
  }

  end(): void {}

  destroy(): void {
    this.isDestroyed = true
    this.emit('close')
  }
}

function setUp() {
  const clock = new VirtualClock()
  const raw = new SlowClient()
  const reply = { raw, hijack: () => undefined, getHeaders: () => ({}) } as unknown as FastifyReply
  return { clock, raw, stream: new EventStream(reply, clock, 60_000) }
}

const frame = { event: 'beat', data: {} }

test('E1 a frame waits until the client has taken the one before', async () => {
  const { clock, raw, stream } = setUp()
  raw.isDeaf = true
  const sent = told(stream.send(frame))
  await clock.advance(59_000)
  assert.equal(sent.state, 'pending')
  raw.emit('drain')
  await clock.settle()
  assert.equal(sent.state, 'fulfilled')
  await clock.advance(60_000)
  assert.deepEqual([raw.isDestroyed, clock.pending], [false, 0])
})

test('E3 a client that takes nothing is cut off, and leaves its place', async () => {
  const { clock, raw, stream } = setUp()
  raw.isDeaf = true
  const sent = told(stream.send(frame))
  await clock.advance(60_000)
  assert.equal(sent.state, 'fulfilled')
  assert.deepEqual([raw.isDestroyed, stream.isClosed, clock.pending], [true, true, 0])
})
