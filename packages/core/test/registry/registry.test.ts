import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError, isError } from '../../src/errors.ts'
import { outcomes } from '../../src/registry/outcomes.ts'
import { Registry } from '../../src/registry/registry.ts'
import { Slots } from '../../src/registry/slots.ts'
import { codeOf, gate, listenersOf, testKernel, turn, watch, withCode } from './support.ts'

test('S1 success wakes the waiter once, and nothing is left', async () => {
  const kernel = testKernel()
  const registry = new Registry<string>({ kernel })
  const result = registry.wait('h', 0, { deadline: 1000 })
  assert.equal(registry.size, 1)
  assert.equal(registry.notifySuccess('h', 0, 'plot'), 1)
  assert.equal(registry.notifySuccess('h', 0, 'again'), 0)
  assert.equal(await result, 'plot')
  assert.equal(registry.size, 0)
  assert.equal(kernel.clock.pending, 0)
})

test('S2 an error reaches the waiter as the same object', async () => {
  const registry = new Registry<string>()
  const error = new TypeError('bad column')
  const result = registry.wait('h', 0)
  registry.notifyError('h', 0, error)
  await assert.rejects(result, (caught) => caught === error)
  assert.equal(registry.size, 0)
})

test('S3 one success without an id wakes all waiters of the key in order of registration', async () => {
  const registry = new Registry<string>()
  const woken: number[] = []
  const all = Array.from({ length: 100 }, (_, i) => registry.wait('h', 0).then(() => woken.push(i)))
  assert.equal(registry.notifySuccess('h', 0, 'plot'), 100)
  await Promise.all(all)
  assert.deepEqual(
    woken,
    Array.from({ length: 100 }, (_, i) => i),
  )
})

test('S4 keys are independent', async () => {
  const registry = new Registry<string>()
  const first = watch(registry.wait('h', 0))
  const second = watch(registry.wait('h', -1))
  registry.notifySuccess('h', 0, 'plot')
  await turn()
  assert.deepEqual([first.state, second.state], ['fulfilled', 'pending'])
  assert.equal(registry.active('h'), 1)
  registry.cancelAll()
})

test('S5 cancelling a handle ends all its waiters with a reason that names it, and no other', async () => {
  const registry = new Registry<string>()
  const mine = Array.from({ length: 15 }, (_, i) => watch(registry.wait('h', -(i % 5))))
  const other = watch(registry.wait('other', 0))
  assert.equal(registry.cancelAllForHandle('h', 'deleted by ada'), 15)
  await turn()
  for (const { error } of mine) {
    assert.ok(isError(error, 'HDL_CANCELLED'))
    assert.match(error.message, /"h".*deleted by ada/)
  }
  assert.equal(other.state, 'pending')
  assert.equal(registry.size, 1)
  registry.cancelAll()
})

test('S6 flush ends everything, and later waits work', async () => {
  const registry = new Registry<string>()
  const all = Array.from({ length: 20 }, (_, i) => watch(registry.wait(`h${i}`, 0)))
  assert.equal(registry.cancelAll('flush'), 20)
  await turn()
  assert.ok(all.every(({ error }) => codeOf(error) === 'HDL_CANCELLED'))
  const later = registry.wait('h0', 0)
  registry.notifySuccess('h0', 0, 'plot')
  assert.equal(await later, 'plot')
})

test('S6 a flush with a Heddle error passes it on: callers of a server that stops are asked to come back', async () => {
  const registry = new Registry<string>()
  const result = registry.wait('h', 0)
  registry.cancelAll(new HeddleError('HDL_DRAINING', { what: 'The service', retryAfter: 2000 }))
  await assert.rejects(result, { code: 'HDL_DRAINING', retryable: true, retryAfter: 2000 })
})

test('S8 a result that is there already resolves at once and registers nothing', async () => {
  const registry = new Registry<string | undefined>()
  const result = registry.wait('h', 0, { look: () => ({ value: 'cached' }) })
  assert.equal(registry.size, 0)
  assert.equal(await result, 'cached')
  assert.equal(await registry.wait('h', 0, { look: () => ({ value: undefined }) }), undefined)
  assert.equal(registry.stats().remembered, 0)
  assert.equal(registry.stats().outcomes.success, 2)
})

test('S8 an asynchronous lookup resolves only its own waiter, and removes it', async () => {
  const registry = new Registry<string>()
  const disk = gate<{ value: string } | undefined>()
  const result = registry.wait('h', 0, { look: () => disk.promise })
  const other = watch(registry.wait('h', 0))
  assert.equal(registry.size, 2)
  disk.resolve({ value: 'from disk' })
  assert.equal(await result, 'from disk')
  assert.equal(other.state, 'pending', 'it answers only who looked')
  registry.cancelAll()
})

test('a lookup that finds nothing, late or at once, leaves the waiter waiting', async () => {
  const registry = new Registry<string>()
  const late = watch(registry.wait('h', 0, { look: () => Promise.resolve(undefined) }))
  const once = watch(registry.wait('h', 0, { look: () => undefined }))
  await turn()
  assert.deepEqual([late.state, once.state], ['pending', 'pending'])
  registry.notifySuccess('h', 0, 'plot')
  await turn()
  assert.deepEqual([late.value, once.value], ['plot', 'plot'])
})

test('a lookup that fails, late or at once, ends the waiter with its error', async () => {
  const registry = new Registry<string>()
  const broken = new Error('disk')
  await assert.rejects(
    registry.wait('h', 0, { look: () => Promise.reject(broken) }),
    (error) => error === broken,
  )
  await assert.rejects(
    registry.wait('h', 0, {
      look: () => {
        throw broken
      },
    }),
    (error) => error === broken,
  )
  assert.equal(registry.size, 0)
  assert.equal(registry.stats().outcomes.error, 2)
})

test('S9 telling or cancelling the unknown does nothing and keeps nothing', () => {
  const registry = new Registry<string>()
  for (let i = 0; i < 1000; i++) {
    assert.equal(registry.notifySuccess(`h${i}`, 0, 'plot'), 0)
    assert.equal(registry.notifyError(`h${i}`, 0, new Error('no')), 0)
    assert.equal(registry.cancelRequest(`h${i}`, 0, 1), 'unknown')
    assert.equal(registry.cancelAllForHandle(`h${i}`), 0)
    assert.equal(registry.active(`h${i}`), 0)
    assert.ok(registry.gone(`h${i}`).aborted)
  }
  assert.equal(registry.stats().remembered, 0)
  assert.equal(registry.stats().submitted, 0)
})

test('S10 result and disconnect in one turn: the first wins, never both', async () => {
  const registry = new Registry<string>()
  for (const resultFirst of [true, false]) {
    const client = new AbortController()
    const result = watch(registry.wait('h', 0, { disconnect: client.signal }))
    const deliver = (): number => registry.notifySuccess('h', 0, 'plot')
    const leave = (): void => client.abort()
    for (const act of resultFirst ? [deliver, leave] : [leave, deliver]) act()
    await turn()
    assert.equal(result.state, resultFirst ? 'fulfilled' : 'rejected')
  }
  const { success, disconnected } = registry.stats().outcomes
  assert.deepEqual([success, disconnected], [1, 1])
})

test('S10 a result that an earlier abort listener made does not reach a client that has gone', async () => {
  const registry = new Registry<string>()
  const client = new AbortController()
  client.signal.addEventListener('abort', () => registry.notifySuccess('h', 0, 'too late'))
  const result = registry.wait('h', 0, { disconnect: client.signal })
  client.abort()
  await assert.rejects(result, withCode('HDL_CANCELLED'))
  assert.equal(registry.stats().outcomes.disconnected, 1)
})

test('S11 1,000 aborted waiters with two-hour limits leave no entry, no timer, no listener', async () => {
  const kernel = testKernel()
  const registry = new Registry<string>({ kernel })
  const outer = new AbortController()
  const client = new AbortController()
  const all = Array.from({ length: 1000 }, () =>
    watch(
      registry.wait('h', 0, {
        signal: outer.signal,
        disconnect: client.signal,
        deadline: 7_200_000,
      }),
    ),
  )
  assert.equal(registry.size, 1000)
  assert.equal(kernel.clock.pending, 1, 'all deadlines share one timer')
  outer.abort()
  await turn()
  assert.ok(all.every(({ state }) => state === 'rejected'))
  assert.equal(registry.size, 0)
  assert.equal(kernel.clock.pending, 0)
  assert.equal(listenersOf(outer.signal) + listenersOf(client.signal), 0)
})

test('S13 waiters from different routes are answered by one completion', async () => {
  const registry = new Registry<string>()
  const submitted = registry.open('h', 0)
  const polled = registry.open('h', 0)
  registry.notifySuccess('h', 0, 'plot')
  assert.deepEqual(await Promise.all([submitted.done, polled.done]), ['plot', 'plot'])
})

test('S15 a stale job notifies its waiters instead of being silent', async () => {
  const registry = new Registry<string>()
  const result = registry.wait('h', 0)
  registry.notifyError('h', 0, new HeddleError('HDL_SUPERSEDED', { what: 'Job 1', by: 'job 2' }))
  await assert.rejects(result, withCode('HDL_SUPERSEDED'))
  assert.equal(registry.stats().outcomes.superseded, 1)
})

test('S16 data evicted before the second stage: the waiter is notified in the same turn', async () => {
  const registry = new Registry<string>()
  const result = watch(registry.wait('h', 0))
  registry.notifyError('h', 0, new HeddleError('HDL_GONE', { what: 'The input of "h"' }))
  await Promise.resolve()
  await Promise.resolve()
  assert.equal(codeOf(result.error), 'HDL_GONE')
})

test('S18 a bad index is refused at once although the handle is pending', async () => {
  const registry = new Registry<string>()
  const pending = watch(registry.wait('h', 0))
  const look = (): never => {
    throw new HeddleError('HDL_BAD_OPTION', {
      option: 'index',
      value: -99_999,
      expected: 'from -19 to 0',
    })
  }
  await assert.rejects(registry.wait('h', -99_999, { look }), withCode('HDL_BAD_OPTION'))
  assert.deepEqual([registry.size, pending.state], [1, 'pending'])
  registry.cancelAll()
})

test('S19 I3: 10,000 waits of one key from two endpoints have growing, unique ids', async () => {
  const registry = new Registry<number>()
  const open = (): number => registry.open('h', 0).id
  const ids = Array.from({ length: 10_000 }, open)
  assert.deepEqual(
    ids,
    ids.map((_, i) => i + 1),
  )
  assert.equal(registry.size, 10_000)
  assert.equal(registry.notifySuccess('h', 0, 1), 10_000)
})

test('S20 the 1,001st waiter of a key is refused, the others are unaffected', async () => {
  const registry = new Registry<string>({ maxWaitersPerKey: 1000 })
  const all = Array.from({ length: 1000 }, () => registry.wait('h', 0))
  await assert.rejects(registry.wait('h', 0), {
    code: 'HDL_TOO_MANY_WAITERS',
    retryable: true,
    details: { what: 'Result "h" [0]', limit: 1000 },
  })
  const elsewhere = registry.wait('h', -1)
  registry.notifySuccess('h', 0, 'plot')
  registry.notifySuccess('h', -1, 'plot')
  assert.equal((await Promise.all([...all, elsewhere])).length, 1001)
  assert.equal(registry.stats().outcomes.rejected, 1)
})

test('I7: the limit over all keys; cached results are served beyond it', async () => {
  const registry = new Registry<string>({ maxWaiters: 2 })
  const waits = [registry.wait('a', 0), registry.wait('b', 0)]
  await assert.rejects(registry.wait('c', 0), withCode('HDL_TOO_MANY_WAITERS'))
  assert.equal(await registry.wait('c', 0, { look: () => ({ value: 'hit' }) }), 'hit')
  const late = registry.wait('c', 0, { look: () => Promise.reject(new Error('unheard')) })
  await assert.rejects(late, withCode('HDL_TOO_MANY_WAITERS'))
  registry.notifySuccess('a', 0, 'x')
  registry.notifySuccess('b', 0, 'x')
  await Promise.all(waits)
})

test('S64 one of three duplicates leaves: two are active and the work continues', async () => {
  const registry = new Registry<string>()
  const clients = [1, 2, 3].map(() => new AbortController())
  const waits = clients.map(({ signal }) => watch(registry.wait('h', 0, { disconnect: signal })))
  const gone = registry.gone('h', 0)
  clients[0]!.abort()
  assert.equal(registry.active('h', 0), 2)
  assert.equal(gone.aborted, false)
  registry.notifySuccess('h', 0, 'plot')
  await turn()
  assert.deepEqual(
    waits.map(({ state }) => state),
    ['rejected', 'fulfilled', 'fulfilled'],
  )
  assert.equal(gone.aborted, false, 'I5: being served is not leaving')
})

test('S65 all leave: the work is cancelled, or kept, as configured', async () => {
  for (const whenAbandoned of ['cancel', 'keep'] as const) {
    const registry = new Registry<string>({ whenAbandoned })
    const clients = [1, 2, 3].map(() => new AbortController())
    const waits = clients.map(({ signal }) => watch(registry.wait('h', 0, { disconnect: signal })))
    const signals = [registry.gone('h', 0), registry.gone('h')]
    for (const client of clients) client.abort()
    await turn()
    assert.ok(waits.every(({ state }) => state === 'rejected'))
    for (const signal of signals) {
      assert.equal(signal.aborted, whenAbandoned === 'cancel')
      if (signal.aborted) assert.ok(isError(signal.reason, 'HDL_CANCELLED'))
    }
    assert.equal(registry.gone('h').aborted, whenAbandoned === 'cancel')
    assert.equal(registry.stats().outcomes.disconnected, 3)
  }
})

test('I5: a caller that comes after the last has left gets a new signal', () => {
  const registry = new Registry<string>()
  const signals = (): AbortSignal[] => [registry.gone('h', 0), registry.gone('h')]
  const aborted = (them: readonly AbortSignal[]): boolean[] => them.map((each) => each.aborted)
  const first = registry.open('h', 0)
  const old = signals()
  first.cancel()
  assert.deepEqual(aborted(old), [true, true])
  const second = registry.open('h', 0)
  const fresh = signals()
  assert.deepEqual(aborted(fresh), [false, false])
  assert.equal(first.cancel(), false, 'double unregister is harmless')
  assert.deepEqual(aborted(fresh), [false, false])
  second.cancel()
  assert.deepEqual(aborted(fresh), [true, true])
})

test('I5: the handle goes with its last index; the timeout of the last one counts as leaving', async () => {
  const kernel = testKernel()
  const registry = new Registry<string>({ kernel })
  const first = registry.open('h', 0)
  const second = registry.open('h', -1, { deadline: 50 })
  const ofHandle = registry.gone('h')
  const ofIndex = registry.gone('h', 0)
  first.cancel()
  assert.deepEqual([ofIndex.aborted, ofHandle.aborted], [true, false])
  await kernel.clock.advance(50)
  assert.equal(second.outcome, 'timeout')
  assert.ok(ofHandle.aborted)
})

test('an abort listener of gone() may come back at once', async () => {
  const registry = new Registry<string>()
  const first = registry.open('h', 0)
  let again: Promise<string> | undefined
  registry.gone('h').addEventListener('abort', () => {
    again = registry.wait('h', 0)
  })
  assert.equal(registry.cancelAllForHandle('h'), 1)
  assert.equal(first.outcome, 'cancelled')
  assert.equal(registry.size, 1, 'the newcomer is not cancelled with the old ones')
  registry.notifySuccess('h', 0, 'plot')
  assert.equal(await again, 'plot')
})

test('S72 S74 a newer request of the slot supersedes the older; its client leaving later is harmless', async () => {
  const registry = new Registry<string>()
  const slots = new Slots()
  const oldClient = new AbortController()
  using oldTicket = slots.take('ada/left')
  const old = watch(registry.wait('h', 0, { slot: oldTicket, disconnect: oldClient.signal }))
  using newTicket = slots.take('ada/left')
  const newest = watch(registry.wait('h', 0, { slot: newTicket }))
  await turn()
  assert.equal(codeOf(old.error), 'HDL_SUPERSEDED')
  oldClient.abort()
  oldTicket.release()
  await turn()
  assert.equal(newest.state, 'pending')
  registry.notifySuccess('h', 0, 'plot')
  await turn()
  assert.equal(newest.value, 'plot')
  assert.deepEqual(listenersOf(newTicket.signal), 0)
  await assert.rejects(registry.wait('h', 0, { slot: oldTicket }), withCode('HDL_SUPERSEDED'))
  assert.equal(registry.stats().outcomes.superseded, 2)
})

test('S75 the same content from two slots: both answered, none superseded', async () => {
  const registry = new Registry<string>()
  const slots = new Slots()
  using a = slots.take('ada/left')
  using b = slots.take('bob/left')
  const waits = [registry.wait('h', 0, { slot: a }), registry.wait('h', 0, { slot: b })]
  registry.notifySuccess('h', 0, 'plot')
  assert.deepEqual(await Promise.all(waits), ['plot', 'plot'])
})

test('S78 cancelling one request leaves the other request of the same key waiting', async () => {
  const registry = new Registry<string>()
  const first = registry.open('h', 0)
  const second = registry.open('h', 0)
  assert.equal(registry.cancelRequest('h', 0, first.id, 'not needed'), 'cancelled')
  await assert.rejects(first.done, /not needed/)
  assert.equal(second.outcome, undefined)
  assert.equal(registry.notifySuccess('h', 0, 'plot', second.id), 1)
  assert.equal(await second.done, 'plot')
})

test('S79 cancelling twice, or after the end, says so and does nothing', () => {
  const registry = new Registry<string>()
  const { id } = registry.open('h', 0)
  assert.equal(registry.cancelRequest('h', 0, id), 'cancelled')
  assert.equal(registry.cancelRequest('h', 0, id), 'already_done')
  assert.equal(registry.cancelRequest('h', 0, id + 1), 'unknown', 'no such id yet')
  assert.equal(registry.cancelRequest('h', 0, 0), 'unknown')
  assert.equal(registry.stats().outcomes.cancelled, 1)
})

test('S80 I4: every request is counted once, by its outcome', async () => {
  const kernel = testKernel()
  const registry = new Registry<number>({ kernel, maxWaitersPerKey: 2 })
  const slots = new Slots()
  for (let i = 0; i < 14; i++) {
    const key = `h${i}`
    const client = new AbortController()
    using ticket = slots.take(key)
    registry.open(key, 0, { disconnect: client.signal, slot: ticket, deadline: 100 })
    switch (i % 7) {
      case 0:
        registry.notifySuccess(key, 0, i)
        break
      case 1:
        registry.notifyError(key, 0, new Error('no'))
        break
      case 2:
        await kernel.clock.advance(100)
        break
      case 3:
        client.abort()
        break
      case 4:
        slots.take(key).release()
        break
      case 5:
        registry.cancelRequest(key, 0, 1)
        break
      default:
        registry.open(key, 0)
        registry.open(key, 0)
        registry.notifySuccess(key, 0, i)
    }
  }
  const stats = registry.stats()
  assert.deepEqual(stats.outcomes, {
    success: 2 + 4,
    error: 2,
    timeout: 2,
    disconnected: 2,
    superseded: 2,
    cancelled: 2,
    rejected: 2,
  })
  assert.equal(
    outcomes.reduce((sum, outcome) => sum + stats.outcomes[outcome], 0),
    stats.submitted,
  )
  assert.equal(stats.active, 0)
  assert.equal(kernel.clock.pending, 0)
})

test('S80 requests whose caller had already left are counted and cost no lookup', async () => {
  const registry = new Registry<string>()
  const look = (): never => assert.fail('looked for a client that has gone')
  const gone = AbortSignal.abort()
  await assert.rejects(registry.wait('h', 0, { look, signal: gone }), withCode('HDL_CANCELLED'))
  await assert.rejects(registry.wait('h', 0, { look, disconnect: gone }), withCode('HDL_CANCELLED'))
  await assert.rejects(registry.wait('h', 0, { look, deadline: 0 }), withCode('HDL_TIMEOUT'))
  const { submitted, active, outcomes: counts } = registry.stats()
  assert.deepEqual(
    [submitted, active, counts.cancelled, counts.disconnected, counts.timeout],
    [3, 0, 1, 1, 1],
  )
})

test('S89 100,000 requests with one-hour limits that end at once leave no timer', async () => {
  const kernel = testKernel()
  const registry = new Registry<number>({ kernel, maxWaitersPerKey: Infinity })
  const all: Promise<number>[] = []
  for (let i = 0; i < 100_000; i++) all.push(registry.wait('h', 0, { deadline: 3_600_000 }))
  assert.equal(kernel.clock.pending, 1)
  assert.equal(registry.notifySuccess('h', 0, 7), 100_000)
  assert.equal(kernel.clock.pending, 0)
  assert.equal(registry.size, 0)
  assert.equal((await Promise.all(all)).length, 100_000)
})

test('a deadline ends only its own request, and names the limit', async () => {
  const kernel = testKernel()
  const registry = new Registry<string>({ kernel })
  const short = watch(registry.wait('h', 0, { deadline: 10 }))
  const long = watch(registry.wait('h', 0, { deadline: 20 }))
  const never = watch(registry.wait('h', 0, { deadline: Infinity }))
  await kernel.clock.advance(10)
  assert.ok(isError(short.error, 'HDL_TIMEOUT'))
  assert.equal(short.error.details.limit, 10)
  assert.equal(long.state, 'pending')
  await kernel.clock.advance(10)
  assert.deepEqual([long.state, never.state], ['rejected', 'pending'])
  assert.equal(kernel.clock.pending, 0)
  registry.cancelAll()
})

test('I3: ids are not used again when a key was forgotten, so an old cancel cannot hit a new request', () => {
  const registry = new Registry<string>({ remembered: 1 })
  const old = [registry.open('h', 0), registry.open('h', 0)].map(({ id }) => id)
  registry.cancelAll()
  assert.equal(registry.cancelRequest('h', 0, 2), 'already_done')
  registry.open('other', 0).cancel()
  assert.equal(registry.cancelRequest('h', 0, 2), 'unknown', 'forgotten')
  using fresh = registry.open('h', 0)
  assert.ok(fresh.id > Math.max(...old))
  assert.equal(registry.cancelRequest('h', 0, 2), 'unknown')
  assert.equal(fresh.outcome, undefined)
})

test('I3: memory of past keys is bounded, and a key in use is not forgotten', () => {
  const registry = new Registry<string>({ remembered: 10 })
  using held = registry.open('held', 0)
  for (let i = 0; i < 1000; i++) registry.open(`h${i}`, 0).cancel()
  assert.deepEqual([registry.stats().remembered, registry.stats().keys], [10, 1])
  assert.equal(registry.open('held', 0).id, held.id + 1)
  registry.cancelAll()
  assert.equal(registry.stats().remembered, 10)
})

test('a disposed request is cancelled; one that has ended is not touched', async () => {
  const registry = new Registry<string>()
  {
    using request = registry.open('h', 0)
    assert.equal(request.outcome, undefined)
  }
  assert.equal(registry.size, 0)
  const served = registry.open('h', 0)
  registry.notifySuccess('h', 0, 'plot')
  served[Symbol.dispose]()
  assert.equal(await served.done, 'plot')
})

test('a disconnect whose reason came from elsewhere still counts as a disconnect', async () => {
  const registry = new Registry<string>()
  const reasons = [
    undefined,
    new HeddleError('HDL_CANCELLED', { what: 'The socket', source: 'disconnect' }),
    new HeddleError('HDL_CANCELLED', { what: 'The socket', source: 'shutdown' }),
  ]
  for (const reason of reasons) {
    const client = new AbortController()
    const request = registry.open('h', 0, { disconnect: client.signal })
    client.abort(reason)
    await assert.rejects(request.done, (error) => {
      assert.ok(isError(error, 'HDL_CANCELLED'))
      assert.equal(error.details.source, 'disconnect')
      return true
    })
    assert.equal(request.outcome, 'disconnected')
  }
})

test("the reason of a request's signal gives its outcome", () => {
  const registry = new Registry<string>()
  const cases = [
    [new Error('stop'), 'cancelled'],
    [new HeddleError('HDL_TIMEOUT', { what: 'The handler', limit: 500 }), 'timeout'],
    [new HeddleError('HDL_SUPERSEDED', { what: 'It', by: 'another' }), 'superseded'],
  ] as const
  for (const [reason, outcome] of cases) {
    const controller = new AbortController()
    const request = registry.open('h', 0, { signal: controller.signal })
    controller.abort(reason)
    assert.equal(request.outcome, outcome)
  }
})

test('options are checked', () => {
  for (const options of [
    { maxWaiters: 0 },
    { maxWaitersPerKey: 1.5 },
    { remembered: -1 },
    { name: '' },
  ]) {
    assert.throws(() => new Registry(options), withCode('HDL_BAD_OPTION'))
  }
})
