import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import {
  AbortCallback,
  followAbort,
  unfollowAbort,
  type AbortFollower,
} from '../../src/kernel/abort.ts'

class Recorder implements AbortFollower {
  list: object | undefined
  previous: AbortFollower | undefined
  next: AbortFollower | undefined
  readonly #told: (reason: unknown) => void

  constructor(told: (reason: unknown) => void) {
    this.#told = told
  }

  onAbort(reason: unknown): void {
    this.#told(reason)
  }
}

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length

test('followers are notified once, in the order in which they came, with the reason', () => {
  const controller = new AbortController()
  const told: [number, unknown][] = []
  for (let i = 0; i < 3; i++) {
    followAbort(controller.signal, new Recorder((reason) => told.push([i, reason])))
  }
  controller.abort('why')
  controller.abort('again')
  assert.deepEqual(told, [
    [0, 'why'],
    [1, 'why'],
    [2, 'why'],
  ])
  assert.equal(listeners(controller.signal), 0)
})

test('100,000 followers are one native listener, which leaves with the last of them', () => {
  const { signal } = new AbortController()
  const followers = Array.from({ length: 100_000 }, () => new Recorder(() => assert.fail()))
  for (const follower of followers) followAbort(signal, follower)
  assert.equal(listeners(signal), 1)
  for (const follower of followers) unfollowAbort(signal, follower)
  assert.equal(listeners(signal), 0)
})

test('leaving twice, or without having followed, is harmless', () => {
  const { signal } = new AbortController()
  const stays = new Recorder(() => undefined)
  const leaves = new Recorder(() => undefined)
  unfollowAbort(signal, leaves)
  followAbort(signal, stays)
  followAbort(signal, leaves)
  unfollowAbort(signal, leaves)
  unfollowAbort(signal, leaves)
  assert.equal(listeners(signal), 1)
  unfollowAbort(signal, stays)
  assert.equal(listeners(signal), 0)
})

test('a follower that another follower removes is no longer notified', () => {
  const controller = new AbortController()
  const told: string[] = []
  const second = new Recorder(() => told.push('second'))
  const first = new Recorder(() => {
    told.push('first')
    unfollowAbort(controller.signal, second)
  })
  followAbort(controller.signal, first)
  followAbort(controller.signal, second)
  controller.abort()
  assert.deepEqual(told, ['first'])
  assert.equal(second.list, undefined)
})

test('a follower may come back after it left', () => {
  const controller = new AbortController()
  let told = 0
  const follower = new Recorder(() => told++)
  followAbort(controller.signal, follower)
  unfollowAbort(controller.signal, follower)
  followAbort(controller.signal, follower)
  controller.abort()
  assert.equal(told, 1)
})

test('a callback is called once, and not at all after it was disposed', () => {
  const controller = new AbortController()
  const told: unknown[] = []
  const kept = new AbortCallback(controller.signal, (reason) => told.push(reason))
  {
    using _left = new AbortCallback(controller.signal, () => assert.fail('it has left'))
  }
  controller.abort('why')
  kept[Symbol.dispose]()
  assert.deepEqual(told, ['why'])
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
})
