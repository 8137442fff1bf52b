import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { openCache } from '../../src/cache/cache.ts'
import { HeldTier } from './held-tier.ts'
import { leftovers, nothing, openBench, openCold } from './support.ts'
import { serviceConformance } from '../../src/testing/service-conformance.ts'

test('S21 delete beats a slow read: afterwards the value is in neither tier', async () => {
  const bench = await openCold({ key: 'old' })
  const { cache, tier, clock } = bench
  const slow = cache.get('key')
  await clock.settle()
  tier.find('read').happen() // it has seen the value, but the cache does not know yet
  const deleted = cache.delete('key')
  await clock.settle()
  tier.find('delete').answer()
  assert.equal(await deleted, true)
  tier.find('read').answer()
  assert.equal(await slow, undefined)
  await clock.settle()

  assert.equal(cache.tryGet('key'), undefined)
  tier.isHolding = false
  assert.equal(await cache.get('key'), undefined)
  assert.equal(await tier.inner.peek('key'), undefined)
  assert.deepEqual(leftovers(bench), nothing)
})

test('S21 a slow read that was overtaken by a set gives the new value at once', async () => {
  const bench = await openCold({ key: 'old' })
  const { cache, tier, clock } = bench
  const slow = cache.get('key')
  await clock.settle()
  const set = cache.set('key', 'new')
  assert.equal(await slow, 'new', 'without waiting for the tier')
  tier.release()
  await set
  await clock.settle()
  assert.equal(cache.tryGet('key'), 'new')
  assert.deepEqual(leftovers(bench), nothing)
})

test('S22 the last set wins in both tiers and after a restart', async () => {
  const bench = await openBench()
  const { cache, tier, clock } = bench
  tier.isHolding = true
  const first = cache.set('key', 'A')
  const second = cache.set('key', 'B')
  assert.equal(cache.tryGet('key'), 'B')
  assert.equal(tier.held.length, 1, 'one write of a key at a time')
  tier.find('write').answer()
  await first
  await clock.settle()
  tier.find('write').answer()
  await second
  assert.equal(cache.tryGet('key'), 'B')
  assert.deepEqual(leftovers(bench), nothing)
  tier.isHolding = false
  assert.equal(await (await bench.restart()).get('key'), 'B')
})

test('B2, B3: of a thousand sets only the first and the last are written, and all callers are notified', async () => {
  const bench = await openBench<number>()
  const { cache, tier, clock } = bench
  tier.isHolding = true
  const sets = Array.from({ length: 1000 }, (_, index) => cache.set('key', index))
  tier.find('write').answer()
  await clock.settle()
  tier.find('write').answer()
  await Promise.all(sets)
  assert.deepEqual(tier.log, ['write key', 'write key'])
  tier.isHolding = false
  assert.equal(await (await bench.restart()).get('key'), 999)
  assert.deepEqual(leftovers(bench), nothing)
})

test('S23 set then delete: a miss in both tiers and after a restart', async () => {
  const bench = await openBench()
  const { cache, tier, clock } = bench
  tier.isHolding = true
  const set = cache.set('key', 'A')
  const deleted = cache.delete('key')
  assert.equal(cache.tryGet('key'), undefined)
  assert.equal(await cache.get('key'), undefined, 'the tier is not asked')
  tier.find('write').answer()
  await set
  await clock.settle()
  tier.find('delete').answer()
  assert.equal(await deleted, true)
  assert.deepEqual(leftovers(bench), nothing)
  tier.isHolding = false
  assert.equal(await cache.get('key'), undefined)
  assert.equal(await (await bench.restart()).get('key'), undefined)
})

test('S24 clear while a read is in flight: nothing comes back', async () => {
  const bench = await openCold({ key: 'old', other: 'old' })
  const { cache, tier, clock } = bench
  const slow = cache.get('key')
  await clock.settle()
  tier.find('read').happen()
  const cleared = cache.clear()
  assert.equal(await slow, undefined)
  await clock.settle()
  tier.find('read').answer()
  await clock.settle()
  assert.equal(await cache.get('other'), undefined, 'the tier is not asked before it is empty')
  assert.equal(cache.tryGet('key'), undefined)
  tier.find('clear').answer()
  await cleared
  assert.deepEqual(leftovers(bench), nothing)
  assert.equal(tier.inner.stats().entries, 0)
})

test('clear waits for a write under way, and a value set after it stays', async () => {
  const bench = await openBench()
  const { cache, tier, clock } = bench
  tier.isHolding = true
  const before = cache.set('key', 'before')
  const cleared = cache.clear()
  const after = cache.set('key', 'after')
  assert.equal(cache.tryGet('key'), 'after')
  assert.deepEqual(tier.log, ['write key'])
  tier.find('write').answer()
  await before
  await clock.settle()
  assert.deepEqual(tier.log, ['write key', 'clear'])
  tier.find('clear').answer()
  await cleared
  await clock.settle()
  tier.find('write').answer()
  await after
  tier.isHolding = false
  assert.equal(await (await bench.restart()).get('key'), 'after')
  assert.deepEqual(leftovers(bench), nothing)
})

test('S25 fifty gets of a cold key are one read of the tier and fifty equal answers', async () => {
  const bench = await openCold({ key: 'value' })
  const { cache, tier, clock } = bench
  const gets = Array.from({ length: 50 }, () => cache.get('key'))
  await clock.settle()
  assert.deepEqual(tier.log, ['read key'])
  tier.release()
  assert.deepEqual(new Set(await Promise.all(gets)), new Set(['value']))
  await clock.settle()
  assert.deepEqual(cache.stats().hits, { memory: 0, tier: 50 })
  assert.deepEqual(leftovers(bench), nothing)
})

test('C4: a caller that leaves does not affect the others; the last one ends the read', async () => {
  const bench = await openCold({ key: 'value' })
  const { cache, tier, clock } = bench
  const first = new AbortController()
  const gone = cache.get('key', { signal: first.signal })
  const stays = cache.get('key')
  const late = cache.get('key', { deadline: 10 })
  await clock.settle()
  first.abort()
  await assert.rejects(gone, { code: 'HDL_CANCELLED' })
  const timedOut = assert.rejects(late, { code: 'HDL_TIMEOUT' })
  await clock.advance(10)
  await timedOut
  tier.release()
  assert.equal(await stays, 'value')
  assert.equal(getEventListeners(first.signal, 'abort').length, 0)
  assert.deepEqual(leftovers(bench), nothing)
})

test('S26 deleting absent keys does not push out live ones', async () => {
  const bench = await openBench({ maxEntries: 100 })
  const { cache, tier } = bench
  for (let i = 0; i < 100; i++) await cache.set(`live ${i}`, 'value')
  tier.isHolding = true
  const deletes = Array.from({ length: 1000 }, (_, index) => cache.delete(`absent ${index}`))
  for (let i = 0; i < 100; i++) assert.equal(cache.tryGet(`live ${i}`), 'value')
  assert.equal(cache.stats().entries, 100)
  tier.release()
  assert.ok((await Promise.all(deletes)).every((existed) => !existed))
  assert.deepEqual(leftovers(bench), nothing)
})

test('S28 a transaction holds up its own key only, and not its readers', async () => {
  const bench = await openBench<number>()
  const { cache } = bench
  await cache.set('a', 1)
  const inside = Promise.withResolvers<void>()
  const running = cache.transaction('a', async (tx) => {
    await inside.promise
    tx.set((tx.get() ?? 0) + 1)
    return 'done'
  })
  const behind = cache.set('a', 10)
  const next = cache.update('a', (value = 0) => value + 1)
  await cache.set('b', 5)
  assert.equal(await cache.update('b', (value = 0) => value + 1), 6)
  assert.equal(await cache.get('a'), 1, 'readers see what is committed')
  inside.resolve()
  assert.equal(await running, 'done')
  await behind
  assert.equal(await next, 11, 'in the order in which they came')
  assert.deepEqual(leftovers(bench), nothing)
})

test('C6: a transaction that throws, or whose caller leaves, changes nothing', async () => {
  const bench = await openBench()
  const { cache, clock } = bench
  await cache.set('key', 'old')
  const failing = cache.transaction('key', (tx) => {
    tx.set('new')
    assert.equal(tx.get(), 'new', 'it sees its own draft')
    throw new Error('no')
  })
  await assert.rejects(failing, { message: 'no' })
  assert.equal(cache.tryGet('key'), 'old')

  const inside = Promise.withResolvers<void>()
  const signals: AbortSignal[] = []
  const leaving = cache.transaction(
    'key',
    async (tx) => {
      signals.push(tx.signal)
      await inside.promise
      tx.set('new')
    },
    { deadline: 5 },
  )
  const behind = cache.set('key', 'behind')
  const timedOut = assert.rejects(leaving, { code: 'HDL_TIMEOUT' })
  await clock.advance(5)
  await timedOut
  assert.equal(signals[0]?.aborted, true)
  assert.equal(cache.tryGet('key'), 'old', 'the key is free when the body has ended')
  inside.resolve()
  await behind
  assert.equal(cache.tryGet('key'), 'behind')
  assert.deepEqual(leftovers(bench), nothing)
})

test('C6: a transaction cannot be used after its end, and cannot commit over a clear', async () => {
  const { cache, clock } = await openBench()
  await cache.set('key', 'old')
  let kept: { get(): unknown } | undefined
  await cache.transaction('key', (tx) => {
    kept = tx
  })
  assert.throws(() => kept!.get(), { code: 'HDL_CLOSED' })

  const inside = Promise.withResolvers<void>()
  const overtaken = cache.transaction('key', async (tx) => {
    await inside.promise
    tx.set(`${tx.get()} again`)
  })
  const refused = assert.rejects(overtaken, { code: 'HDL_GONE', retryable: true })
  await clock.settle()
  await cache.clear()
  inside.resolve()
  await refused
  assert.equal(await cache.get('key'), undefined)
})

test('C6: a set that waits behind a transaction counts as done before a later clear', async () => {
  const bench = await openBench()
  const { cache } = bench
  const inside = Promise.withResolvers<void>()
  const running = cache.transaction('key', () => inside.promise)
  const waiting = cache.set('key', 'late')
  await cache.clear()
  inside.resolve()
  await running
  await waiting
  assert.equal(await cache.get('key'), undefined)
  assert.deepEqual(leftovers(bench), nothing)
})

test('update deletes with undefined, and gives the new value', async () => {
  const { cache } = await openBench()
  assert.equal(await cache.update('key', (old) => `${old ?? 'none'}+`), 'none+')
  assert.equal(await cache.update('key', () => undefined), undefined)
  assert.equal(await cache.has('key'), false)
})

test('C4: getOrCompute computes once, and the signal aborts when the last caller has left', async () => {
  const bench = await openBench()
  const { cache, clock } = bench
  const made = Promise.withResolvers<string>()
  let runs = 0
  const compute = (): Promise<string> => {
    runs++
    return made.promise
  }
  const leaver = new AbortController()
  const gone = cache.getOrCompute('key', compute, { signal: leaver.signal })
  const stays = [cache.getOrCompute('key', compute), cache.getOrCompute('key', compute)]
  await clock.settle()
  leaver.abort()
  await assert.rejects(gone, { code: 'HDL_CANCELLED' })
  made.resolve('value')
  assert.deepEqual(await Promise.all(stays), ['value', 'value'])
  assert.equal(runs, 1)
  assert.equal(cache.tryGet('key'), 'value')

  const controller = new AbortController()
  const aborted = Promise.withResolvers<void>()
  const lonely = cache.getOrCompute(
    'other',
    ({ signal, key }) => {
      assert.equal(key, 'other')
      signal.addEventListener('abort', () => aborted.resolve())
      return aborted.promise.then(() => 'too late')
    },
    { signal: controller.signal },
  )
  await clock.settle()
  controller.abort()
  await assert.rejects(lonely, { code: 'HDL_CANCELLED' })
  await aborted.promise
  await clock.settle()
  assert.equal(await cache.get('other'), undefined, 'nobody was there to want it')
  assert.equal(cache.stats().computed, 2)
  assert.deepEqual(leftovers(bench), nothing)
})

test('C5: a computed value does not replace one that was set, nor come back after a delete', async () => {
  const { cache, clock } = await openBench()
  for (const change of ['set', 'delete'] as const) {
    const made = Promise.withResolvers<string>()
    const computed = cache.getOrCompute(change, () => made.promise)
    await clock.settle()
    if (change === 'set') await cache.set('set', 'newer')
    else await cache.delete('delete')
    // A caller after the change does not get a value that was requested before it.
    const second = cache.getOrCompute(change, () => 'second')
    made.resolve('stale')
    assert.equal(await computed, 'stale', 'its own callers get it')
    assert.equal(await second, change === 'set' ? 'newer' : 'second')
    assert.equal(await cache.get(change), change === 'set' ? 'newer' : 'second')
  }
})

test('getOrCompute reads the tier first, and computes without it when it cannot be read', async () => {
  const bench = await openCold({ key: 'stored' })
  const { cache, tier, clock } = bench
  const compute = (): string => 'computed'
  const found = cache.getOrCompute('key', compute)
  await clock.settle()
  tier.find('read').answer()
  assert.equal(await found, 'stored')

  const made = cache.getOrCompute('other', compute)
  await clock.settle()
  tier.find('read').fail(new Error('disk'))
  assert.equal(await made, 'computed')
  const read = cache.get('third')
  await clock.settle()
  tier.find('read').fail(new Error('disk'))
  await assert.rejects(read, { code: 'HDL_STORE_FAILED', message: /read "third": disk/ })
  tier.release()
  await clock.settle()
  assert.deepEqual(leftovers(bench), nothing)
})

test('getOrCompute passes errors on and stores nothing; undefined is given and not stored', async () => {
  const { cache } = await openBench<string | undefined>()
  const failing = cache.getOrCompute('key', () => Promise.reject(new Error('no')))
  await assert.rejects(failing, { message: 'no' })
  assert.equal(await cache.getOrCompute('key', () => undefined), undefined)
  assert.equal(await cache.has('key'), false)
  const code = (): string => (() => 1) as never
  await assert.rejects(cache.getOrCompute('key', code), { code: 'HDL_NOT_CLONEABLE' })
})

test('C3: a set is fulfilled when the tier has it, and not before', async () => {
  const { cache, tier, clock } = await openBench()
  tier.isHolding = true
  let isDone = false
  const set = cache.set('key', 'value').then(() => (isDone = true))
  await clock.settle()
  tier.find('write').happen()
  await clock.settle()
  assert.equal(isDone, false)
  tier.find('write').answer()
  await set
})

test('a caller that leaves a set ends its wait; the value stays', async () => {
  const bench = await openBench()
  const { cache, tier, clock } = bench
  tier.isHolding = true
  const controller = new AbortController()
  const set = cache.set('key', 'value', { signal: controller.signal })
  controller.abort()
  await assert.rejects(set, { code: 'HDL_CANCELLED' })
  tier.release()
  await clock.settle()
  assert.equal(cache.tryGet('key'), 'value')
  // A caller that has left before it came changes nothing.
  await assert.rejects(cache.set('key', 'x', { signal: controller.signal }), {
    code: 'HDL_CANCELLED',
  })
  await assert.rejects(cache.set('key', 'x', { deadline: 0 }), { code: 'HDL_TIMEOUT' })
  assert.equal(cache.tryGet('key'), 'value')
  assert.deepEqual(leftovers(bench), nothing)
})

test('B5: changes wait for room in order of arrival, and leave no trace when they give up', async () => {
  const bench = await openBench({ maxPending: 2 })
  const { cache, tier, clock } = bench
  tier.isHolding = true
  const inside = [cache.set('a', '1'), cache.set('b', '1')]
  const waiting = [cache.set('c', '1'), cache.set('d', '1')]
  const impatient = cache.set('e', '1', { deadline: 10 })
  await clock.settle()
  assert.equal(cache.stats().pending.waiting, 3)
  assert.equal(cache.tryGet('c'), undefined, 'nothing has happened yet')
  const timedOut = assert.rejects(impatient, { code: 'HDL_TIMEOUT' })
  await clock.advance(10)
  await timedOut
  tier.find('write', 'a').answer()
  await clock.settle()
  assert.equal(cache.tryGet('c'), '1')
  assert.equal(cache.tryGet('d'), undefined)
  tier.release()
  await Promise.all([...inside, ...waiting])
  assert.equal(cache.tryGet('e'), undefined)
  assert.deepEqual(leftovers(bench), nothing)
})

test('B5: bytes on their way are bounded as well', async () => {
  const bench = await openBench<Uint8Array>({ maxPendingBytes: 1000 })
  const { cache, tier, clock } = bench
  tier.isHolding = true
  const sets = Array.from({ length: 10 }, (_, i) => cache.set(`key ${i}`, new Uint8Array(600)))
  await clock.settle()
  assert.equal(cache.stats().pending.writes, 2, 'the second one found room')
  while (tier.held.length > 0) {
    tier.held[0]!.answer()
    await clock.settle()
    assert.ok(cache.stats().pending.bytes < 1600)
  }
  await Promise.all(sets)
  assert.deepEqual(leftovers(bench), nothing)
})

test('reads of the tier are bounded; further reads wait their turn', async () => {
  const bench = await openCold({ a: '1', b: '2', c: '3' }, { maxReads: 1 })
  const { cache, tier, clock } = bench
  const gets = ['a', 'b', 'c'].map((key) => cache.get(key))
  await clock.settle()
  assert.deepEqual(tier.log, ['read a'])
  while (tier.held.length > 0) {
    tier.held[0]!.answer()
    await clock.settle()
  }
  assert.deepEqual(await Promise.all(gets), ['1', '2', '3'])
  assert.deepEqual(tier.log, ['read a', 'read b', 'read c'])
  assert.deepEqual(leftovers(bench), nothing)
})

test('B4: a set that the tier refuses is deleted in memory and on the tier', async () => {
  const bench = await openBench()
  const { cache, tier, clock } = bench
  await cache.set('key', 'old')
  tier.isHolding = true
  const set = cache.set('key', 'new')
  tier.find('write').fail(new Error('disk full'))
  const error = { code: 'HDL_STORE_FAILED', message: /could not write "key": disk full/ }
  await assert.rejects(set, error)
  assert.equal(cache.tryGet('key'), undefined)
  await clock.settle()
  // The old value must not come back, so it is deleted; as long as that fails, the tier is not asked.
  tier.find('delete').fail(new Error('disk full'))
  await clock.settle()
  assert.equal(await cache.get('key'), undefined, 'and it is tried again')
  await clock.settle()
  tier.find('delete').answer()
  await clock.settle()
  assert.equal(cache.stats().failures, 2)
  assert.equal(await tier.inner.peek('key'), undefined)
  assert.deepEqual(leftovers(bench), nothing)
})

test('B4: a delete that fails stays a delete for readers; a later set makes it good', async () => {
  const bench = await openCold({ key: 'old' })
  const { cache, tier, clock } = bench
  const deleted = cache.delete('key')
  tier.find('delete').fail(new Error('disk'))
  await assert.rejects(deleted, { code: 'HDL_STORE_FAILED', message: /delete "key"/ })
  assert.equal(cache.stats().active, 1)
  const set = cache.set('key', 'new')
  await clock.settle()
  tier.release()
  await set
  await clock.settle()
  assert.equal(await (await bench.restart()).get('key'), 'new')
  assert.deepEqual(leftovers(bench), nothing)
})

test('B4: a clear that fails is made good by the next operation; until then nothing is there', async () => {
  const bench = await openCold({ key: 'old' })
  const { cache, tier, clock } = bench
  const cleared = cache.clear()
  tier.find('clear').fail(new Error('disk'))
  await assert.rejects(cleared, { code: 'HDL_STORE_FAILED', message: /clear: disk/ })
  assert.equal(await cache.get('key'), undefined)
  const set = cache.set('other', 'new')
  assert.deepEqual(
    tier.held.map((held) => held.type),
    ['clear'],
  )
  tier.release()
  await set
  await clock.settle()
  assert.equal(await cache.get('key'), undefined)
  assert.equal(await cache.get('other'), 'new')
  assert.deepEqual(leftovers(bench), nothing)
})

test('B4: a set that counts as done before a clear tries the clear again when that has failed', async () => {
  const bench = await openBench()
  const { cache, tier, clock } = bench
  const inside = Promise.withResolvers<void>()
  const running = cache.transaction('key', () => inside.promise)
  const waiting = cache.set('key', 'value')
  tier.isHolding = true
  const cleared = assert.rejects(cache.clear(), { code: 'HDL_STORE_FAILED' })
  tier.find('clear').fail(new Error('disk'))
  await cleared
  inside.resolve()
  await running
  await clock.settle()
  tier.find('clear').answer()
  await waiting
  assert.deepEqual(leftovers(bench), nothing)
})

test('B4: after too many refused deletes the content of the tier is given up, not remembered', async () => {
  const bench = await openBench()
  const { cache, tier, clock } = bench
  await cache.set('key', 'old')
  tier.isHolding = true
  const deletes = Array.from({ length: 1001 }, (_, index) => cache.delete(`key ${index}`))
  const told = Promise.allSettled(deletes)
  for (const held of tier.held.slice()) held.fail(new Error('disk'))
  assert.ok((await told).every(({ status }) => status === 'rejected'))
  await clock.settle()
  assert.equal(cache.stats().active, 0)
  tier.find('clear').answer()
  await clock.settle()
  assert.equal(cache.tryGet('key'), 'old', 'memory is right')
  assert.equal(await tier.inner.peek('key'), undefined)
  tier.isHolding = false
  assert.deepEqual(leftovers(bench), nothing)
})

test('S29 bounds in memory: entries and bytes, the oldest leave, counted by reason', async () => {
  const { cache } = await openBench<Uint8Array>({ maxEntries: 3, maxBytes: 10_000 })
  for (const key of ['a', 'b', 'c']) await cache.set(key, new Uint8Array(10))
  cache.tryGet('a')
  await cache.set('d', new Uint8Array(10))
  assert.equal(cache.tryGet('b'), undefined, 'used longest ago')
  assert.ok(cache.tryGet('a') && cache.tryGet('c') && cache.tryGet('d'))
  assert.deepEqual(cache.stats().evicted, { entries: 1, bytes: 0, expired: 0 })

  await cache.set('large', new Uint8Array(9980))
  assert.deepEqual(cache.stats().evicted, { entries: 2, bytes: 2, expired: 0 })
  assert.equal(cache.stats().entries, 1)
  assert.ok(cache.stats().bytes <= 10_000)
  await cache.set('too large', new Uint8Array(20_000))
  assert.equal(cache.tryGet('too large'), undefined)
  assert.equal((await cache.get('too large'))?.length, 20_000, 'the tier has it')
  assert.equal(cache.stats().entries, 1, 'and it pushed out nobody')
})

test('S29 time to live follows the injected clock, in both tiers', async () => {
  const bench = await openBench({ ttl: 1000 })
  const { cache, clock, tier } = bench
  await cache.set('default', 'value')
  await cache.set('short', 'value', { ttl: 10 })
  await cache.set('ever', 'value', { ttl: Infinity })
  await clock.advance(9)
  assert.equal(cache.tryGet('short'), 'value')
  await clock.advance(1)
  assert.equal(cache.tryGet('short'), undefined)
  assert.equal(await cache.get('short'), undefined)
  assert.equal(cache.stats().evicted.expired, 1)
  await clock.settle()
  assert.equal(await tier.inner.peek('short'), undefined, 'what is found to be too old is removed')

  const restarted = await bench.restart()
  assert.equal(await restarted.get('default'), 'value')
  await clock.advance(990)
  assert.equal(restarted.tryGet('default'), undefined, 'the time before the restart counts')
  assert.equal(await restarted.has('default'), false)
  assert.equal(await restarted.get('default'), undefined)
  assert.equal(await restarted.get('ever'), 'value')
  assert.equal(bench.clock.pending, 0, 'nothing waits for the end of an entry')
})

test('has() checks without reading and without counting as a use', async () => {
  const bench = await openCold({ key: 'value' }, { maxEntries: 1 })
  const { cache, tier, clock } = bench
  const has = [cache.has('key'), cache.has('key'), cache.has('absent')]
  await clock.settle()
  assert.deepEqual(tier.log, ['peek key', 'peek absent'])
  tier.release()
  assert.deepEqual(await Promise.all(has), [true, true, false])
  assert.equal(cache.stats().entries, 0)
  await cache.set('other', 'value')
  assert.equal(await cache.has('other'), true)
  const leaving = new AbortController()
  tier.isHolding = true
  const looked = cache.has('third', { signal: leaving.signal })
  leaving.abort()
  await assert.rejects(looked, { code: 'HDL_CANCELLED' })
  tier.release()
  await clock.settle()
  assert.deepEqual(leftovers(bench), nothing)
})

test("the tier's answer about a key counts until the key changes", async () => {
  const bench = await openBench({ maxBytes: 1 })
  const { cache, clock } = bench
  const made = Promise.withResolvers<string>()
  // While it runs, the state of the key is kept, and with it the answer of the tier.
  const computing = cache.getOrCompute('key', () => made.promise)
  await clock.settle()
  assert.equal(await cache.has('key'), false)
  await cache.set('key', 'value')
  assert.equal(await cache.has('key'), true)
  made.resolve('late')
  await computing
  assert.equal(await cache.get('key'), 'value')
  assert.deepEqual(leftovers(bench), nothing)
})

test('delete says whether there was something, also when only the tier knows', async () => {
  const { cache, tier } = await openCold({ cold: 'value' })
  tier.isHolding = false
  assert.equal(await cache.delete('cold'), true)
  assert.equal(await cache.delete('cold'), false)
  await cache.set('warm', 'value')
  assert.equal(await cache.delete('warm'), true)
})

test('C7: replacing, deleting or clearing a parent ends its derived entries', async () => {
  const bench = await openBench()
  const { cache, tier } = bench
  for (const end of ['set', 'delete', 'clear'] as const) {
    await cache.set('result', 'v1')
    const parent = await cache.entry('result')
    await cache.set('plot -1', 'of v1', { parent })
    await cache.set('plot -2', 'of v1', { parent: 'result' })
    assert.equal(cache.tryGet('plot -1'), 'of v1')
    if (end === 'set') await cache.set('result', 'v2')
    else if (end === 'delete') await cache.delete('result')
    else await cache.clear()
    for (const key of ['plot -1', 'plot -2']) {
      assert.equal(cache.tryGet(key), undefined)
      assert.equal(await cache.get(key), undefined)
      assert.equal(await cache.has(key), false)
      assert.equal(await tier.inner.peek(key), undefined)
    }
    // Work that was begun on the old version is refused.
    await assert.rejects(cache.set('plot -3', 'of v1', { parent }), { code: 'HDL_GONE' })
    assert.equal(await cache.get('plot -3'), undefined)
  }
  assert.deepEqual(leftovers(bench), nothing)
})

test('C7: also a derived entry that memory is too small for, replaced while it is written', async () => {
  const bench = await openBench({ maxBytes: 10 })
  const { cache, tier, clock } = bench
  await cache.set('result', 'v1')
  tier.isHolding = true
  const sets = ['one', 'two'].map((value) =>
    cache.set('plot', value.repeat(10), { parent: 'result' }),
  )
  assert.equal(cache.tryGet('plot'), 'two'.repeat(10))
  const deleted = cache.delete('result')
  assert.equal(cache.tryGet('plot'), undefined)
  while (tier.held.length > 0) {
    tier.held[0]!.answer()
    await clock.settle()
  }
  await Promise.all([...sets, deleted])
  assert.equal(await tier.inner.peek('plot'), undefined)
  assert.deepEqual(leftovers(bench), nothing)
})

test('C7: updating one derived entry writes that entry only', async () => {
  const { cache, tier } = await openBench()
  await cache.set('result', 'v1')
  const parent = await cache.entry('result')
  for (let i = 0; i < 3; i++) await cache.set(`plot ${i}`, 'plot', { parent })
  tier.log.length = 0
  await cache.update('plot 1', (plot) => `${plot}!`)
  assert.deepEqual(tier.log, ['write plot 1'])
  assert.equal(cache.tryGet('result'), 'v1')
  await cache.delete('result')
  assert.equal(cache.tryGet('plot 1'), undefined, 'it has stayed with its parent')
})

test('C7: a read of a derived entry that the parent overtakes gives nothing', async () => {
  const bench = await openBench()
  await bench.cache.set('result', 'v1')
  await bench.cache.set('plot', 'of v1', { parent: 'result' })
  const { tier, clock } = bench
  const cache = await bench.restart()
  tier.isHolding = true
  const slow = cache.get('plot')
  await clock.settle()
  tier.find('read', 'plot').happen()
  const deleted = cache.delete('result')
  tier.find('delete').answer()
  await deleted
  await clock.settle()
  // The parent is not in memory any more; the reader must ask the tier.
  tier.find('read', 'plot').answer()
  await clock.settle()
  tier.find('peek', 'result').answer()
  assert.equal(await slow, undefined)
  tier.release()
  await clock.settle()
  assert.deepEqual(leftovers({ ...bench, cache }), nothing)
})

test('C7: a derived entry is acknowledged when its parent is on the tier too', async () => {
  const { cache, tier, clock } = await openBench()
  tier.isHolding = true
  const parent = cache.set('result', 'v1')
  let isDone = false
  const derived = cache.set('plot', 'of v1', { parent: 'result' }).then(() => (isDone = true))
  tier.find('write', 'plot').answer()
  await clock.settle()
  assert.equal(isDone, false)
  tier.find('write', 'result').answer()
  await Promise.all([parent, derived])
})

test('C7: a derived entry expires with its parent, cannot be a parent, and needs one', async () => {
  const { cache, clock } = await openBench()
  await cache.set('result', 'v1', { ttl: 10 })
  await cache.set('plot', 'of v1', { parent: 'result', ttl: 1000 })
  await assert.rejects(cache.set('x', 'y', { parent: 'plot' }), { code: 'HDL_BAD_OPTION' })
  await assert.rejects(cache.set('x', 'y', { parent: 'nobody' }), { code: 'HDL_GONE' })
  await clock.advance(10)
  assert.equal(cache.tryGet('plot'), undefined)
  assert.equal(await cache.get('plot'), undefined)
})

test('C7: getOrCompute with a parent stores only if the parent is still the same', async () => {
  const { cache, clock } = await openBench()
  await cache.set('result', 'v1')
  assert.equal(await cache.getOrCompute('plot', () => 'of v1', { parent: 'result' }), 'of v1')
  assert.equal(cache.tryGet('plot'), 'of v1')
  await cache.set('result', 'v2')
  const made = Promise.withResolvers<string>()
  const late = cache.getOrCompute('plot', () => made.promise, { parent: 'result' })
  await clock.settle()
  await cache.set('result', 'v3')
  made.resolve('of v2')
  assert.equal(await late, 'of v2')
  assert.equal(await cache.get('plot'), undefined)
  assert.equal(await cache.getOrCompute('plot', () => 'x', { parent: 'nobody' }), 'x')
  assert.equal(await cache.has('plot'), false)
})

test('C7: thousands of derived entries end in one step and leave memory in slices', async () => {
  const { cache, clock } = await openBench<number>()
  await cache.set('parent', 0)
  const keys = Array.from({ length: 5000 }, (_, index) => `derived ${index}`)
  await Promise.all(keys.map((key) => cache.set(key, 1, { parent: 'parent' })))
  assert.equal(cache.stats().entries, 5001)
  const deleted = cache.delete('parent')
  assert.ok(keys.every((key) => cache.tryGet(key) === undefined))
  await deleted
  await clock.settle()
  assert.equal(cache.stats().entries, 0)
})

test('keys and values are checked where they come in', async () => {
  const { cache } = await openBench<unknown>()
  for (const key of ['', '\ud800', 5 as unknown as string]) {
    await assert.rejects(cache.set(key, 1), { code: 'HDL_BAD_OPTION' })
    await assert.rejects(cache.get(key), { code: 'HDL_BAD_OPTION' })
  }
  await assert.rejects(cache.set('key', undefined), { code: 'HDL_NOT_CLONEABLE' })
  await assert.rejects(cache.set('key', { f() {} }), { message: /\.f is a function/ })
  await assert.rejects(cache.set('key', 1, { ttl: -1 }), { code: 'HDL_BAD_OPTION' })
  await assert.rejects(openCache({ maxBytes: 0 }), { code: 'HDL_BAD_OPTION' })
  const small = await openCache({ maxValueBytes: 100 })
  await assert.rejects(small.set('key', 'x'.repeat(200)), { code: 'HDL_VALUE_TOO_LARGE' })
  assert.equal(cache.stats().active, 0)
})

test('a set that fails while a large value is encoded leaves the key deleted', async () => {
  const bench = await openBench<unknown>({ maxValueBytes: 2 ** 20 })
  const { cache } = bench
  await cache.set('key', 'old')
  const bad = [...Array.from({ length: 50_000 }, (_, index) => index), () => 1]
  const set = cache.set('key', bad)
  assert.equal(cache.tryGet('key'), bad, 'it is there at once, like any other')
  await assert.rejects(set, { code: 'HDL_NOT_CLONEABLE', message: /\[50000\] is a function/ })
  assert.equal(await cache.get('key'), undefined)
  await assert.rejects(cache.set('key', 'x'.repeat(2 ** 21)), { code: 'HDL_VALUE_TOO_LARGE' })
  await bench.clock.settle()
  assert.deepEqual(leftovers(bench), nothing)
})

test('B2: a large value that is overtaken while it is encoded is not written to its end', async () => {
  const bench = await openBench<unknown>()
  const { cache, tier, clock } = bench
  tier.isHolding = true
  const large = Array.from({ length: 100_000 }, (_, id) => ({ id, name: `node ${id}` }))
  const first = cache.set('key', large)
  assert.equal(await cache.get('key'), large, 'readers see it before it is encoded')
  assert.equal(cache.stats().bytes, 0, 'its size is not known yet')
  tier.find('write').happen()
  const second = cache.set('key', 'small')
  tier.find('write').answer()
  await clock.settle()
  while (tier.held.length === 0) await clock.settle()
  tier.release()
  await Promise.all([first, second])
  assert.equal(await (await bench.restart()).get('key'), 'small')
  assert.equal(cache.stats().failures, 0)

  await cache.set('key', large)
  assert.ok(cache.stats().bytes > 300_000 * 40, 'it is charged what it takes on the heap')
  const again = await (await bench.restart()).get('key')
  assert.deepEqual(again, large)
  assert.deepEqual(leftovers(bench), nothing)
})

test('a value that cannot be read back is a miss, and is removed', async () => {
  const bench = await openBench()
  const { tier, clock } = bench
  const meta = { version: 1, createdAt: 0, ttl: Infinity }
  await tier.inner.write('key', { ...meta, body: new Uint8Array([99, 1, 2]) })
  const cache = await bench.restart()
  assert.equal(await cache.get('key'), undefined)
  assert.equal(cache.stats().damaged, 1)
  await clock.settle()
  assert.equal(await tier.inner.peek('key'), undefined)
})

test('stop() writes pending entries, ends waits and refuses later calls', async () => {
  const bench = await openCold({ cold: 'value' }, { maxPending: 1 })
  const { cache, tier, clock } = bench
  const set = cache.set('key', 'value')
  const atTheDoor = cache.set('other', 'value')
  const reading = cache.get('cold')
  const computing = cache.getOrCompute('absent', () => 'value')
  await clock.settle()
  const outcomes = Promise.allSettled([atTheDoor, reading, computing])
  const stopped = cache.stop()
  const codes = (await outcomes).map((each) => (each as { reason?: { code: string } }).reason?.code)
  assert.deepEqual(codes, ['HDL_CLOSED', 'HDL_CANCELLED', 'HDL_CANCELLED'])
  await assert.rejects(cache.get('key2'), { code: 'HDL_CLOSED' })
  tier.release()
  await Promise.all([set, stopped, cache.stop()])
  assert.throws(() => cache.tryGet('key'), { code: 'HDL_CLOSED' })
  await assert.rejects(cache.clear(), { code: 'HDL_CLOSED' })
  await clock.settle()
  assert.equal(await (await bench.restart()).get('key'), 'value')
  assert.equal(clock.pending, 0)
})

test('stop() with a deadline closes the tier although a change is not written yet', async () => {
  const { cache, tier, clock } = await openCold({}, {})
  const signals: (AbortSignal | undefined)[] = []
  tier.close = (options) => Promise.resolve(void signals.push(options?.signal))
  void cache.set('key', 'value').catch(() => undefined)
  await clock.settle()
  const stopped = cache.stop({ deadline: 1_000 })
  await clock.settle()
  assert.deepEqual([cache.stats().state, signals], ['stopping', []])
  await clock.advance(1_000)
  await stopped
  assert.deepEqual([signals.length, signals[0]?.aborted], [1, true])
  assert.equal(clock.pending, 0)
})

serviceConformance('cache', async () => {
  const { cache, tier, clock } = await openCold({}, {})
  return {
    service: cache,
    occupy: async () => {
      void cache.set('key', 'value').catch(() => undefined)
      await clock.settle()
      assert.equal(tier.held.length, 1)
    },
    held: () => clock.pending,
  }
})

test('`await using` stops it, and a tier that cannot be opened is reported', async () => {
  let isClosed = false
  class ClosingTier extends HeldTier {
    override close = (): Promise<void> => {
      isClosed = true
      return Promise.resolve()
    }
  }
  {
    await using cache = await openCache({ tier: new ClosingTier(false) })
    await cache.set('key', 1)
  }
  assert.ok(isClosed)
  class BrokenTier extends HeldTier {
    override open(): Promise<number> {
      return Promise.reject(new Error('no disk'))
    }
  }
  await assert.rejects(openCache({ tier: new BrokenTier() }), { message: 'no disk' })
})

test('stats count the sources of answers', async () => {
  const { cache } = await openBench()
  await cache.get('absent')
  await cache.set('key', 'value')
  cache.tryGet('key')
  const { hits, misses, entries, tier } = cache.stats()
  assert.deepEqual(
    { hits, misses, entries },
    { hits: { memory: 1, tier: 0 }, misses: 1, entries: 1 },
  )
  assert.equal(tier.entries, 1)
})
