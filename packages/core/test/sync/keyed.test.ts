import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyedMutex, KeyedRwLock } from '../../src/sync/keyed.ts'
import { testKernel, turn, watch, withCode } from './support.ts'

test('K1: the entry of a key is there exactly while a caller holds or waits', async () => {
  const locks = new KeyedMutex<string>()
  const a = await locks.acquire('a')
  assert.equal(locks.has('a'), true)
  const waiting = watch(locks.acquire('a'))
  assert.deepEqual(locks.statsOf('a'), { held: true, waiting: 1 })

  a.release()
  assert.equal(locks.has('a'), true)
  await turn()
  assert.equal(waiting.state, 'fulfilled')

  waiting.value?.release()
  assert.equal(locks.has('a'), false)
  assert.equal(locks.statsOf('a'), undefined)
  assert.deepEqual(locks.stats(), { keys: 0 })
})

test('keys do not block each other', async () => {
  const locks = new KeyedMutex<number>()
  const one = locks.tryAcquire(1)
  const two = locks.tryAcquire(2)
  assert.notEqual(one, undefined)
  assert.notEqual(two, undefined)
  assert.equal(locks.tryAcquire(1), undefined)
  assert.equal(locks.stats().keys, 2)
  one?.release()
  two?.release()
  assert.equal(locks.stats().keys, 0)
})

test('seed 003: a caller that comes between the release and the next holder finds the same lock', async () => {
  const locks = new KeyedMutex<string>()
  const first = await locks.acquire('a')
  const second = watch(locks.acquire('a'))
  first.release()
  // The old cache had removed the lock here: a newcomer would have made a second one and gone in.
  const third = watch(locks.acquire('a'))
  await turn()
  assert.equal(second.state, 'fulfilled')
  assert.equal(third.state, 'pending')
  second.value?.release()
  await turn()
  assert.equal(third.state, 'fulfilled')
  third.value?.release()
  assert.equal(locks.has('a'), false)
})

test('callers that are refused or give up leave no entry', async () => {
  const kernel = testKernel()
  for (const locks of [new KeyedMutex<string>({ kernel }), new KeyedRwLock<string>({ kernel })]) {
    const enter = (options: { signal?: AbortSignal; deadline?: number }): Promise<Disposable> =>
      locks instanceof KeyedMutex ? locks.acquire('a', options) : locks.write('a', options)
    await assert.rejects(enter({ signal: AbortSignal.abort() }), withCode('HDL_CANCELLED'))
    assert.equal(locks.has('a'), false)

    const held = await enter({ deadline: 0 })
    await assert.rejects(enter({ deadline: 0 }), withCode('HDL_TIMEOUT'))
    const controller = new AbortController()
    const aborted = watch(enter({ signal: controller.signal }))
    const late = watch(enter({ deadline: 5 }))
    controller.abort()
    await kernel.clock.advance(5)
    withCode('HDL_CANCELLED')(aborted.error)
    withCode('HDL_TIMEOUT')(late.error)
    assert.equal(locks.has('a'), true)
    held[Symbol.dispose]()
    assert.equal(locks.has('a'), false)
    assert.equal(kernel.clock.pending, 0)
  }
})

test('K1 for readers and writers: the last one out removes the entry', async () => {
  const locks = new KeyedRwLock<string>({ name: 'files' })
  const r1 = await locks.read('a')
  const r2 = locks.tryRead('a')
  assert.equal(locks.tryWrite('a'), undefined)
  const writing = watch(locks.write('a', { deadline: 60_000 }))
  r1.release()
  r2?.release()
  await turn()
  assert.equal(writing.state, 'fulfilled')
  assert.equal(locks.statsOf('a')?.writing, true)
  assert.equal(locks.stats().keys, 1)
  writing.value?.release()
  assert.equal(locks.has('a'), false)
  const direct = locks.tryWrite('a')
  direct?.release()
  assert.equal(locks.stats().keys, 0)
})
