import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RwLock } from '../../src/sync/rwlock.ts'
import { testKernel, turn, watch, withCode } from './support.ts'

test('R1: many readers or one writer are inside', async () => {
  const lock = new RwLock()
  const a = await lock.read()
  const b = await lock.read()
  assert.equal(lock.tryWrite(), undefined)
  const writer = watch(lock.write())
  a.release()
  await turn()
  assert.equal(writer.state, 'pending')
  b.release()
  await turn()
  assert.equal(writer.state, 'fulfilled')
  assert.equal(lock.tryRead(), undefined)
  assert.equal(lock.tryWrite(), undefined)
  writer.value?.release()
  assert.deepEqual(lock.stats(), {
    readers: 0,
    writing: false,
    waitingReaders: 0,
    waitingWriters: 0,
  })
})

test('R2: a stream of readers does not starve a writer', async () => {
  const lock = new RwLock()
  let reading = await lock.read()
  const writer = watch(lock.write())
  assert.equal(lock.tryRead(), undefined)
  const later = watch(lock.read())
  reading.release()
  await turn()
  assert.equal(writer.state, 'fulfilled')
  assert.equal(later.state, 'pending')
  writer.value?.release()
  await turn()
  assert.equal(later.state, 'fulfilled')
  reading = later.value!
  reading.release()
})

test('R2: a stream of writers does not starve readers; neighbouring readers go in together', async () => {
  const lock = new RwLock()
  const order: string[] = []
  const first = await lock.write()
  const enter = async (id: string, mode: 'read' | 'write'): Promise<void> => {
    using _ = await lock[mode]()
    order.push(`${id} with ${lock.stats().readers} reading`)
    await turn()
  }
  const all = [
    enter('w1', 'write'),
    enter('r1', 'read'),
    enter('r2', 'read'),
    enter('w2', 'write'),
    enter('r3', 'read'),
    enter('w3', 'write'),
  ]
  assert.deepEqual(lock.stats(), {
    readers: 0,
    writing: true,
    waitingReaders: 3,
    waitingWriters: 3,
  })
  first.release()
  await Promise.all(all)
  assert.deepEqual(order, [
    'w1 with 0 reading',
    'r1 with 2 reading',
    'r2 with 2 reading',
    'w2 with 0 reading',
    'r3 with 1 reading',
    'w3 with 0 reading',
  ])
})

test('a writer that gives up lets the readers behind it in at once', async () => {
  const kernel = testKernel()
  const lock = new RwLock({ kernel })
  const reading = await lock.read()
  const controller = new AbortController()
  const byAbort = watch(lock.write({ signal: controller.signal }))
  const r1 = watch(lock.read())
  const byDeadline = watch(lock.write({ deadline: 30 }))
  const r2 = watch(lock.read())

  controller.abort()
  await turn()
  withCode('HDL_CANCELLED')(byAbort.error)
  assert.equal(r1.state, 'fulfilled')
  assert.equal(r2.state, 'pending')

  await kernel.clock.advance(30)
  withCode('HDL_TIMEOUT')(byDeadline.error)
  assert.equal(r2.state, 'fulfilled')
  assert.equal(lock.stats().readers, 3)
  assert.equal(kernel.clock.pending, 0)
  for (const permit of [reading, r1.value, r2.value]) permit?.release()
  assert.notEqual(lock.tryWrite(), undefined)
})

test('W4: readers that share the signal of the writer before them do not get in on its abort', async () => {
  const lock = new RwLock()
  const reading = await lock.read()
  const controller = new AbortController()
  const writer = watch(lock.write({ signal: controller.signal }))
  const doomed = watch(lock.read({ signal: controller.signal }))
  const free = watch(lock.read({ signal: new AbortController().signal }))
  controller.abort()
  await turn()
  assert.equal(writer.state, 'rejected')
  assert.equal(doomed.state, 'rejected')
  assert.equal(free.state, 'fulfilled')
  assert.equal(lock.stats().readers, 2)
  reading.release()
})
