import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Queue } from '../../src/sync/queue.ts'
import { openScope } from '../../src/sync/scope.ts'
import { testKernel, turn, watch, withCode } from './support.ts'

test('seed 000 problem 2: a queued package that is removed is gone at once, no taker has to skip it', async () => {
  const queue = new Queue<string>({ capacity: 100 })
  for (let i = 0; i < 100; i++) queue.tryPut(`package ${i}`)
  const full = watch(queue.put('package 100'))

  assert.equal(queue.remove('package 50'), true)
  await turn()
  assert.equal(full.state, 'fulfilled', 'the slot is free at once, not when a worker comes by')

  const published: string[] = []
  queue.close()
  for await (const name of queue.items()) published.push(name)
  assert.equal(published.length, 100)
  assert.equal(published.includes('package 50'), false)
  await queue.waitIdle()
})

test('seed 000 problem 2: removing the last thing that was queued lets waitIdle end', async () => {
  const queue = new Queue<string>({ capacity: 1 })
  queue.tryPut('a')
  const idle = watch(queue.waitIdle())
  await turn()
  assert.equal(idle.state, 'pending')
  queue.remove('a')
  await turn()
  assert.equal(idle.state, 'fulfilled')
})

test('seed 000 problem 3: dependents that were never queued do not keep waitIdle waiting', async () => {
  const kernel = testKernel()
  const queue = new Queue<string>({ capacity: 10, kernel })
  const dependents = new Map([['core', ['plugin', 'docs']]])
  const failed: string[] = []
  const publish = (name: string): void => {
    if (name === 'core') throw new Error('registry is down')
  }
  queue.tryPut('core')
  queue.tryPut('tools')

  const worker = async (): Promise<void> => {
    for await (const name of queue.items()) {
      try {
        publish(name)
        for (const dependent of dependents.get(name) ?? []) await queue.put(dependent)
      } catch {
        failed.push(name)
      }
    }
  }
  const workers = [worker(), worker()]

  // No polling and no count of what will never come.
  await kernel.clock.runUntil(queue.waitIdle())
  assert.deepEqual(failed, ['core'])
  assert.equal(kernel.clock.now(), 0)
  queue.close()
  await Promise.all(workers)
})

test('seed 000 problem 4: a cancelled worker cannot forget that its package is done', async () => {
  const kernel = testKernel()
  const queue = new Queue<string>({ capacity: 10, kernel })
  for (const name of ['a', 'b', 'c']) queue.tryPut(name)
  const scope = openScope({ kernel })
  for (let i = 0; i < 3; i++) {
    void scope.start(async ({ signal }) => {
      using _ = await queue.take({ signal })
      const { promise, reject } = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => reject(signal.reason))
      await promise
    })
  }
  await turn()
  assert.equal(queue.stats().taken, 3)
  const idle = watch(queue.waitIdle())

  scope.cancel('q was pressed')
  await scope.join()
  await turn()

  assert.equal(idle.state, 'fulfilled')
  assert.equal(queue.stats().taken, 0)
  assert.equal(kernel.clock.pending, 0)
})

test('seed 000 problem 4: finishing twice, explicitly and by using, counts once', async () => {
  const queue = new Queue<string>({ capacity: 2 })
  queue.tryPut('a')
  queue.tryPut('b')
  {
    using ticket = await queue.take()
    ticket.done()
    ticket.done()
  }
  const other = await queue.take()
  const idle = watch(queue.waitIdle())
  await turn()
  assert.equal(idle.state, 'pending')
  other.done()
  await turn()
  assert.equal(idle.state, 'fulfilled')
})

test('seed 000 problem 4: a getter that is cancelled before it is served has taken nothing', async () => {
  const queue = new Queue<string>({ capacity: 1 })
  const controller = new AbortController()
  const getter = watch(queue.take({ signal: controller.signal }))
  controller.abort()
  await turn()
  withCode('HDL_CANCELLED')(getter.error)
  await queue.waitIdle()
  queue.tryPut('a')
  assert.equal(queue.tryTake()?.item, 'a')
})
