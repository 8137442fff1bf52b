import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '../../src/errors.ts'
import { Shared, type SharedOptions } from '../../src/sync/shared.ts'
import { gate, listenersOf, testKernel, turn, watch, withCode, type TestKernel } from './support.ts'

interface Resource {
  readonly id: string
  alive: boolean
}

/** A `Shared` whose opens and closes end when the test says so. */
function world(options: Partial<SharedOptions<string, Resource>> = {}) {
  const kernel: TestKernel = testKernel()
  const log: string[] = []
  const opens: PromiseWithResolvers<void>[] = []
  const closes: PromiseWithResolvers<void>[] = []
  const signals: AbortSignal[] = []
  let made = 0
  const shared = new Shared<string, Resource>({
    name: 'db',
    kernel,
    open: async (key, { signal }) => {
      const id = `${key}${++made}`
      log.push(`open ${id}`)
      signals.push(signal)
      const step = gate()
      opens.push(step)
      await step.promise
      return { id, alive: true }
    },
    close: async (resource) => {
      log.push(`close ${resource.id}`)
      resource.alive = false
      const step = gate()
      closes.push(step)
      await step.promise
      log.push(`closed ${resource.id}`)
    },
    ...options,
  })
  return { shared, kernel, log, opens, closes, signals }
}

test('H2: one open however many ask; H3: closed after the last', async () => {
  const { shared, opens, closes, log } = world()
  const asked = Array.from({ length: 5 }, () => watch(shared.use('a')))
  assert.equal(opens.length, 1)
  opens[0]!.resolve()
  await turn()
  const leases = asked.map((each) => each.value!)
  assert.equal(new Set(leases.map((lease) => lease.value)).size, 1)
  assert.equal(shared.stats().leases, 5)

  for (const lease of leases.slice(1)) lease.release()
  leases[1]!.release()
  assert.equal(shared.stats().leases, 1)
  assert.equal(leases[0]!.value.alive, true)

  const disposed = watch(leases[0]![Symbol.asyncDispose]())
  await turn()
  assert.equal(disposed.state, 'pending', 'the last one waits for the close')
  assert.equal(shared.stats().closing, 1)
  closes[0]!.resolve()
  await turn()
  assert.equal(disposed.state, 'fulfilled')
  assert.equal(shared.has('a'), false)
  assert.deepEqual(log, ['open a1', 'close a1', 'closed a1'])
})

test('await using gives it back and waits for the close', async () => {
  const closed: string[] = []
  const shared = new Shared({
    open: (key: string) => ({ key }),
    close: async ({ key }) => {
      await turn()
      closed.push(key)
    },
  })
  {
    await using lease = await shared.use('a')
    assert.deepEqual(lease.value, { key: 'a' })
    assert.equal(lease.key, 'a')
    await using second = await shared.use('a', { deadline: 0 })
    assert.equal(second.value, lease.value)
  }
  assert.deepEqual(closed, ['a'])
  assert.deepEqual(shared.stats(), {
    keys: 0,
    opening: 0,
    open: 0,
    closing: 0,
    leases: 0,
    waiting: 0,
  })
})

test('H1: a caller that asks during the close waits for its end and gets a new resource', async () => {
  const { shared, opens, closes, log } = world()
  const first = shared.use('a')
  opens[0]!.resolve()
  ;(await first).release()
  const second = watch(shared.use('a'))
  assert.equal(shared.tryUse('a'), undefined)
  await turn()
  assert.equal(opens.length, 1, 'no open while the close is under way')
  closes[0]!.resolve()
  await turn()
  assert.equal(opens.length, 2)
  opens[1]!.resolve()
  await turn()
  assert.equal(second.value?.value.id, 'a2')
  assert.deepEqual(log, ['open a1', 'close a1', 'closed a1', 'open a2'])
})

test('H3: users are counted for each key', async () => {
  const { shared, opens, closes, log } = world()
  const a = shared.use('a')
  const b = shared.use('b')
  for (const step of opens) step.resolve()
  const leaseA = await a
  const leaseB = await b
  leaseA.release()
  await turn()
  assert.deepEqual(log.at(-1), 'close a1')
  assert.equal(leaseB.value.alive, true)
  closes[0]!.resolve()
  await turn()
  assert.equal(shared.has('a'), false)
  assert.equal(shared.has('b'), true)
})

test('a failed open gives every caller the error and leaves nothing', async () => {
  const { shared, opens, kernel } = world()
  const asked = [shared.use('a'), shared.use('a', { deadline: 1000 })].map(watch)
  const failure = new Error('refused')
  opens[0]!.reject(failure)
  await turn()
  assert.deepEqual(
    asked.map((each) => each.error),
    [failure, failure],
  )
  assert.equal(shared.has('a'), false)
  assert.equal(kernel.clock.pending, 0)

  const again = watch(shared.use('a'))
  opens[1]!.resolve()
  await turn()
  assert.equal(again.value?.value.id, 'a2')
})

test('an open that throws at once is a failed open', async () => {
  const shared = new Shared<string, never>({
    open: () => {
      throw new Error('at once')
    },
    close: () => {},
  })
  await assert.rejects(shared.use('a'), /at once/)
  assert.equal(shared.has('a'), false)
})

test('H5: a caller that aborts leaves alone', async () => {
  const { shared, opens, signals, kernel } = world()
  const controller = new AbortController()
  const aborting = watch(shared.use('a', { signal: controller.signal }))
  const late = watch(shared.use('a', { deadline: 10 }))
  const patient = watch(shared.use('a'))
  controller.abort()
  await kernel.clock.advance(10)
  withCode('HDL_CANCELLED')(aborting.error)
  withCode('HDL_TIMEOUT')(late.error)
  assert.equal(signals[0]!.aborted, false)
  opens[0]!.resolve()
  await turn()
  assert.equal(patient.value?.value.alive, true)
  assert.equal(shared.stats().leases, 1)
  assert.equal(kernel.clock.pending, 0)
  assert.equal(listenersOf(controller.signal), 0)
})

test('H5: the last caller that leaves during the open closes the opened resource', async () => {
  const { shared, opens, closes, signals, log } = world()
  const controller = new AbortController()
  const asked = watch(shared.use('a', { signal: controller.signal }))
  controller.abort()
  await turn()
  withCode('HDL_CANCELLED')(asked.error)
  assert.equal(signals[0]!.aborted, true, 'the open is told that nobody wants it')
  assert.equal(shared.has('a'), true)
  opens[0]!.resolve()
  await turn()
  assert.equal(shared.stats().closing, 1)
  closes[0]!.resolve()
  await turn()
  assert.equal(shared.has('a'), false)
  assert.deepEqual(log, ['open a1', 'close a1', 'closed a1'])
})

test('H5: an unwanted open that fails leaves nothing', async () => {
  const { shared, opens } = world()
  const controller = new AbortController()
  const asked = watch(shared.use('a', { signal: controller.signal }))
  controller.abort()
  opens[0]!.reject(new Error('obeyed'))
  await turn()
  withCode('HDL_CANCELLED')(asked.error)
  assert.equal(shared.has('a'), false)
})

test('H1: a caller that asks while an unwanted open is under way waits for its close and a new open', async () => {
  const { shared, opens, closes, log } = world()
  const controller = new AbortController()
  void watch(shared.use('a', { signal: controller.signal }))
  controller.abort()
  const next = watch(shared.use('a'))
  await turn()
  assert.equal(opens.length, 1)
  opens[0]!.resolve()
  await turn()
  closes[0]!.resolve()
  await turn()
  opens[1]!.resolve()
  await turn()
  assert.equal(next.value?.value.id, 'a2')
  assert.deepEqual(log, ['open a1', 'close a1', 'closed a1', 'open a2'])
})

test('callers without time, or with an aborted signal, open nothing', async () => {
  const { shared, opens } = world()
  await assert.rejects(shared.use('a', { deadline: 0 }), withCode('HDL_TIMEOUT'))
  await assert.rejects(shared.use('a', { signal: AbortSignal.abort() }), withCode('HDL_CANCELLED'))
  assert.equal(shared.has('a'), false)
  assert.equal(opens.length, 0)
  assert.equal(shared.tryUse('a'), undefined)
})

test('a released lease does not show its value any more', async () => {
  const { shared, opens } = world()
  const asked = shared.use('a')
  opens[0]!.resolve()
  const lease = await asked
  {
    using _ = lease
  }
  assert.equal(lease.released, true)
  assert.throws(() => lease.value, withCode('HDL_NOT_HELD'))
})

test('linger keeps the resource for the next user', async () => {
  const { shared, opens, closes, kernel, log } = world({ linger: 100 })
  const asked = shared.use('a')
  opens[0]!.resolve()
  await (await asked)[Symbol.asyncDispose]()
  await kernel.clock.advance(99)
  const again = shared.tryUse('a')
  assert.equal(again?.value.id, 'a1')
  assert.equal(kernel.clock.pending, 0, 'the timer is gone while somebody uses it')
  await kernel.clock.advance(1000)
  assert.equal(again?.value.alive, true)
  again?.release()
  await kernel.clock.advance(100)
  assert.equal(log.at(-1), 'close a1')
  closes[0]!.resolve()
  await turn()
  assert.equal(shared.has('a'), false)
  assert.equal(kernel.clock.pending, 0)
})

test('H6: a close error is reported to the lease that waits for it', async () => {
  const told: unknown[] = []
  const { shared, opens, closes } = world({ onCloseError: (error) => told.push(error) })
  const asked = shared.use('a')
  opens[0]!.resolve()
  const disposed = watch((await asked)[Symbol.asyncDispose]())
  const cause = new Error('disk is gone')
  const next = watch(shared.use('a'))
  await turn()
  closes[0]!.reject(cause)
  await turn()
  assert.ok(isError(disposed.error, 'HDL_CLOSE_FAILED'))
  assert.match(disposed.error.message, /Shared "db" could not close 'a': disk is gone/)
  assert.equal(disposed.error.cause, cause)
  assert.deepEqual(told, [])
  assert.equal(opens.length, 2, 'a waiting caller gets a new resource all the same')
  opens[1]!.resolve()
  await turn()
  assert.equal(next.state, 'fulfilled')
  next.value?.release()
})

test('H6: otherwise the error goes to onCloseError', async () => {
  const told: [unknown, string][] = []
  const { shared, opens, closes } = world({
    onCloseError: (error, key) => told.push([error.cause, key]),
  })
  const asked = shared.use('a')
  opens[0]!.resolve()
  ;(await asked).release()
  const cause = new Error('disk is gone')
  closes[0]!.reject(cause)
  await turn()
  assert.deepEqual(told, [[cause, 'a']])
  await shared.close()
})

test('H6: otherwise, or when that handler throws, by close(), once', async () => {
  for (const onCloseError of [
    undefined,
    () => {
      throw new Error('handler failed')
    },
  ]) {
    const { shared, opens, closes } = world({ onCloseError })
    const causes: Error[] = []
    for (let i = 0; i < 2; i++) {
      const asked = shared.use('a')
      opens[i]!.resolve()
      ;(await asked).release()
      const cause = new Error(`failure ${i}`)
      causes.push(cause)
      closes[i]!.reject(cause)
      await turn()
    }
    await assert.rejects(shared.close(), (error) => {
      assert.ok(isError(error, 'HDL_CLOSE_FAILED'))
      assert.match(error.message, /could not close 'a' and 1 more: failure 0/)
      assert.deepEqual(
        error.errors?.map((each) => (each as Error).cause),
        causes,
      )
      return true
    })
    await shared.close()
  }
})

test('every wait ends: disposing the last lease waits for a hanging close up to its deadline', async () => {
  const { shared, opens, closes, kernel } = world({ closeDeadline: 200 })
  const asked = shared.use('a')
  opens[0]!.resolve()
  const disposed = watch((await asked)[Symbol.asyncDispose]())
  const next = watch(shared.use('a', { deadline: 500 }))
  await kernel.clock.advance(200)
  withCode('HDL_TIMEOUT')(disposed.error)
  await kernel.clock.advance(300)
  withCode('HDL_TIMEOUT')(next.error)
  assert.equal(opens.length, 1, 'not opened again while the close hangs')
  closes[0]!.resolve()
  await turn()
  assert.equal(shared.has('a'), false)
  assert.equal(kernel.clock.pending, 0)
})

test('close refuses new users, waits for the others, closes lingering resources', async () => {
  const { shared, opens, closes, log, kernel } = world({ linger: 1000 })
  const used = shared.use('used')
  const idle = shared.use('idle')
  const opening = watch(shared.use('opening'))
  opens[0]!.resolve()
  opens[1]!.resolve()
  const lease = await used
  ;(await idle).release()

  const closing = watch(shared.close())
  const again = watch(shared.close({ deadline: 5 }))
  await turn()
  withCode('HDL_CLOSED')(opening.error)
  await assert.rejects(shared.use('new'), withCode('HDL_CLOSED'))
  assert.equal(shared.tryUse('used'), undefined)
  assert.equal(log.at(-1), 'close idle2')
  opens[2]!.resolve()
  await turn()
  assert.equal(log.at(-1), 'close opening3')
  await kernel.clock.advance(5)
  withCode('HDL_TIMEOUT')(again.error)

  assert.equal(lease.value.alive, true)
  lease.release()
  assert.equal(log.at(-1), 'close used1')
  for (const step of closes) step.resolve()
  await turn()
  assert.equal(closing.state, 'fulfilled')
  assert.equal(shared.stats().keys, 0)
  assert.equal(kernel.clock.pending, 0)
})

test('linger: Infinity keeps resources until close()', async () => {
  const closed: string[] = []
  const kernel = testKernel()
  const shared = new Shared({
    kernel,
    linger: Infinity,
    open: (key: string) => key,
    close: (key) => {
      closed.push(key)
    },
  })
  ;(await shared.use('a')).release()
  assert.equal(kernel.clock.pending, 0)
  assert.equal(shared.tryUse('a')?.value, 'a')
  await assert.rejects(shared.close({ signal: AbortSignal.abort() }), withCode('HDL_CANCELLED'))
})

test('10,000 users of 100 keys, twice: everything is closed once for each open', async () => {
  const open = new Map<number, number>()
  let opened = 0
  const shared = new Shared({
    open: async (key: number) => {
      open.set(key, (open.get(key) ?? 0) + 1)
      assert.equal(open.get(key), 1)
      opened++
      await turn()
      return key
    },
    close: async (key) => {
      await turn()
      open.set(key, open.get(key)! - 1)
    },
  })
  const user = async (i: number): Promise<void> => {
    await using lease = await shared.use(i % 100)
    await turn()
    assert.equal(open.get(lease.value), 1)
  }
  for (let round = 1; round <= 2; round++) {
    await Promise.all(Array.from({ length: 10_000 }, (_, i) => user(i)))
    assert.equal(opened, 100 * round)
  }
  assert.equal(shared.stats().keys, 0)
})

test('options are checked', () => {
  const base = { open: () => 1, close: () => {} }
  assert.throws(() => new Shared({ ...base, linger: -1 }), withCode('HDL_BAD_OPTION'))
  assert.throws(() => new Shared({ ...base, closeDeadline: NaN }), withCode('HDL_BAD_OPTION'))
})

test('W4: an abort that another listener kept from us still gives no lease, and nothing stays open', async () => {
  const { shared, opens, closes } = world()
  const controller = new AbortController()
  controller.signal.addEventListener('abort', (event) => event.stopImmediatePropagation())
  const asked = watch(shared.use('a', { signal: controller.signal }))
  controller.abort()
  opens[0]!.resolve()
  await turn()
  withCode('HDL_CANCELLED')(asked.error)
  closes[0]!.resolve()
  await turn()
  assert.equal(shared.has('a'), false)
})
