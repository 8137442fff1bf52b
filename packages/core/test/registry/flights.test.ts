import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isError } from '../../src/errors.ts'
import { Flights } from '../../src/registry/flights.ts'
import { codeOf, gate, listenersOf, testKernel, turn, watch, withCode } from './support.ts'

/** A computation that the test ends, and that counts how often it was started. */
function computation<V>() {
  const runs: { signal: AbortSignal; done: PromiseWithResolvers<V> }[] = []
  const start = (signal: AbortSignal): Promise<V> => {
    const done = gate<V>()
    runs.push({ signal, done })
    return done.promise
  }
  return { runs, start }
}

test('S12 I1: coalesced duplicates are all answered by one computation, in order', async () => {
  const flights = new Flights<string, string>()
  const { runs, start } = computation<string>()
  const told: number[] = []
  const all = Array.from({ length: 50 }, (_, i) =>
    flights.join('h', start).then((value) => {
      told.push(i)
      return value
    }),
  )
  assert.equal(runs.length, 1)
  assert.equal(flights.callers('h'), 50)
  runs[0]!.done.resolve('plot')
  assert.deepEqual(new Set(await Promise.all(all)), new Set(['plot']))
  assert.deepEqual(
    told,
    told.toSorted((a, b) => a - b),
  )
  assert.equal(flights.size, 0)
  const { started, shared, succeeded, callers } = flights.stats()
  assert.deepEqual([started, shared, succeeded, callers], [1, 49, 1, 0])
})

test('the key is free after landing: the next join computes again', async () => {
  const flights = new Flights<string, number>()
  let runs = 0
  assert.equal(await flights.join('h', () => ++runs), 1)
  assert.equal(await flights.join('h', () => ++runs), 2)
})

test('an error of the computation, at once or late, reaches every caller as the same object', async () => {
  const flights = new Flights<string, string>()
  const error = new Error('no')
  const starts = [
    () => {
      throw error
    },
    () => Promise.reject(error),
  ]
  for (const start of starts) {
    const first = watch(flights.join('h', start))
    const second = watch(flights.join('h', start))
    await turn()
    assert.ok(first.error === error && second.error === error)
    assert.equal(flights.size, 0)
  }
  assert.equal(flights.stats().failed, 2)
})

test('I3: the abort of the first caller does not affect the others', async () => {
  const kernel = testKernel()
  const flights = new Flights<string, string>({ kernel })
  const { runs, start } = computation<string>()
  const first = new AbortController()
  const a = watch(flights.join('h', start, { signal: first.signal }))
  const b = watch(flights.join('h', start, { deadline: 10 }))
  const c = watch(flights.join('h', start))
  first.abort('left')
  await kernel.clock.advance(10)
  assert.equal(codeOf(a.error), 'HDL_CANCELLED')
  assert.equal(codeOf(b.error), 'HDL_TIMEOUT')
  assert.equal(runs[0]!.signal.aborted, false)
  runs[0]!.done.resolve('plot')
  await turn()
  assert.equal(c.value, 'plot')
  assert.equal(listenersOf(first.signal), 0)
  assert.equal(kernel.clock.pending, 0)
})

test('S65 I4: when the last caller has left the computation is cancelled, and the key is free', async () => {
  const flights = new Flights<string, string>()
  const { runs, start } = computation<string>()
  const clients = [new AbortController(), new AbortController()]
  const waits = clients.map(({ signal }) => watch(flights.join('h', start, { signal })))
  clients[0]!.abort()
  assert.equal(runs[0]!.signal.aborted, false)
  clients[1]!.abort()
  assert.ok(runs[0]!.signal.aborted)
  assert.ok(isError(runs[0]!.signal.reason, 'HDL_CANCELLED'))
  assert.equal(flights.has('h'), false)
  const later = watch(flights.join('h', start))
  assert.equal(runs.length, 2, 'a later caller does not get an aborted computation')
  assert.equal(flights.stats().abandoned, 1)
  runs[0]!.done.resolve('dropped')
  await turn()
  assert.equal(flights.stats().abandoned, 0)
  assert.ok(flights.has('h'), 'I5: landing late does not remove the newer flight')
  runs[1]!.done.resolve('plot')
  await turn()
  assert.equal(later.value, 'plot')
  assert.ok(waits.every(({ state }) => state === 'rejected'))
})

test('S65 I4: under `keep` it finishes for the next caller, and one caller can ask for that', async () => {
  for (const [ofAll, ofOne] of [
    ['keep', undefined],
    ['cancel', 'keep'],
  ] as const) {
    const flights = new Flights<string, string>({ whenAbandoned: ofAll })
    const { runs, start } = computation<string>()
    const client = new AbortController()
    const left = watch(flights.join('h', start, { signal: client.signal, whenAbandoned: ofOne }))
    client.abort()
    assert.equal(runs[0]!.signal.aborted, false)
    const later = watch(flights.join('h', start))
    assert.equal(runs.length, 1)
    runs[0]!.done.resolve('plot')
    await turn()
    assert.deepEqual([left.state, later.value], ['rejected', 'plot'])
  }
})

test('a kept computation that fails without a waiting caller is counted, not thrown', async () => {
  const flights = new Flights<string, string>({ whenAbandoned: 'keep' })
  const { runs, start } = computation<string>()
  const client = new AbortController()
  const left = watch(flights.join('h', start, { signal: client.signal }))
  client.abort()
  runs[0]!.done.reject(new Error('nobody hears this'))
  await turn()
  assert.equal(left.state, 'rejected')
  assert.equal(flights.stats().unheard, 1)
})

test('S17 I5: a detached computation still answers its callers, and does not remove its successor', async () => {
  const flights = new Flights<string, string>()
  const { runs, start } = computation<string>()
  const before = watch(flights.join('h', start))
  assert.equal(flights.detach('h'), true)
  assert.equal(flights.detach('h'), false)
  const after = watch(flights.join('h', start))
  assert.equal(runs.length, 2)
  runs[0]!.done.resolve('old')
  await turn()
  assert.deepEqual([before.value, after.state], ['old', 'pending'])
  assert.ok(flights.has('h'))
  runs[1]!.done.resolve('new')
  await turn()
  assert.equal(after.value, 'new')
  assert.equal(flights.size, 0)
})

test('cancel(key) notifies its callers and aborts the computation; other keys are not affected', async () => {
  const flights = new Flights<string, string>()
  const { runs, start } = computation<string>()
  const mine = watch(flights.join('h', start))
  const other = watch(flights.join('other', start))
  assert.equal(flights.cancel('h', 'deleted'), true)
  assert.equal(flights.cancel('h'), false)
  await turn()
  assert.match(String(mine.error), /deleted/)
  assert.ok(runs[0]!.signal.aborted)
  assert.equal(other.state, 'pending')
  assert.equal(flights.cancelAll(), 1)
})

test('cancelAll reaches detached computations too', async () => {
  const flights = new Flights<string, string>()
  const { runs, start } = computation<string>()
  const detached = watch(flights.join('h', start))
  flights.detach('h')
  const current = watch(flights.join('h', start))
  assert.equal(flights.cancelAll('shutdown'), 2)
  await turn()
  assert.deepEqual([detached.state, current.state], ['rejected', 'rejected'])
  assert.ok(runs.every(({ signal }) => signal.aborted))
  assert.equal(flights.stats().callers, 0)
})

test('a caller that has already gone starts nothing', async () => {
  const flights = new Flights<string, string>()
  const start = (): never => assert.fail('started')
  await assert.rejects(
    flights.join('h', start, { signal: AbortSignal.abort() }),
    withCode('HDL_CANCELLED'),
  )
  await assert.rejects(flights.join('h', start, { deadline: 0 }), withCode('HDL_TIMEOUT'))
  assert.equal(flights.stats().started, 0)
})

test('a listener of the aborted computation may join the same key again', async () => {
  const flights = new Flights<string, string>()
  const { runs, start } = computation<string>()
  const client = new AbortController()
  const left = watch(flights.join('h', start, { signal: client.signal }))
  let again: Promise<string> | undefined
  runs[0]!.signal.addEventListener('abort', () => {
    again = flights.join('h', start)
  })
  client.abort()
  runs[0]!.done.resolve('old')
  runs[1]!.done.resolve('new')
  assert.equal(await again, 'new')
  assert.equal(left.state, 'rejected')
})

test('callers are bounded, and the refused are counted', async () => {
  const flights = new Flights<string, string>({ maxCallers: 2 })
  const { runs, start } = computation<string>()
  const all = [flights.join('h', start), flights.join('h', start)]
  await assert.rejects(flights.join('h', start), withCode('HDL_TOO_MANY_WAITERS'))
  runs[0]!.done.resolve('plot')
  assert.deepEqual(await Promise.all(all), ['plot', 'plot'])
  assert.equal(flights.stats().rejected, 1)
})

test('I6: waitIdle() waits for abandoned computations too', async () => {
  const kernel = testKernel()
  const flights = new Flights<string, string>({ kernel })
  const { runs, start } = computation<string>()
  await flights.waitIdle()
  const client = new AbortController()
  const left = watch(flights.join('h', start, { signal: client.signal }))
  client.abort()
  const idle = watch(flights.waitIdle({ deadline: 100 }))
  await turn()
  assert.equal(idle.state, 'pending')
  runs[0]!.done.reject(new Error('aborted'))
  await turn()
  assert.deepEqual([left.state, idle.state], ['rejected', 'fulfilled'])
  assert.equal(kernel.clock.pending, 0)
})

test('100,000 callers of one key share one computation and leave nothing', async () => {
  const kernel = testKernel()
  const flights = new Flights<string, number>({ kernel })
  const { runs, start } = computation<number>()
  const shared = new AbortController()
  const all: Promise<number>[] = []
  for (let i = 0; i < 100_000; i++) all.push(flights.join('h', start, { signal: shared.signal }))
  runs[0]!.done.resolve(7)
  assert.equal((await Promise.all(all)).length, 100_000)
  assert.equal(flights.stats().callers, 0)
  assert.equal(listenersOf(shared.signal), 0)
})

test('I1 to I6: any sequence of joins, aborts, detaches and landings', async () => {
  const key = fc.constantFrom('a', 'b')
  const nth = fc.nat({ max: 10 })
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        join: key,
        keep: fc.boolean(),
        deadline: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
      }),
    },
    fc.record({ abort: nth }),
    fc.record({ land: nth, ok: fc.boolean() }),
    fc.record({ detach: key }),
    fc.record({ cancel: key }),
    fc.record({ advance: fc.integer({ min: 1, max: 15 }) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const kernel = testKernel()
      const flights = new Flights<string, number>({ kernel })
      interface Run {
        readonly key: string
        readonly number: number
        readonly signal: AbortSignal
        readonly done: PromiseWithResolvers<number>
        readonly callers: Caller[]
        settled: boolean
        cancelled: boolean
        keep: boolean
      }
      interface Caller {
        readonly client: AbortController
        readonly result: ReturnType<typeof watch<number>>
        readonly dueAt: number
        expected: 'pending' | 'left' | number | 'failed'
      }
      const runs: Run[] = []
      const current = new Map<string, Run>()
      const callers: Caller[] = []
      const leave = (caller: Caller): void => {
        if (caller.expected === 'pending') caller.expected = 'left'
      }
      const check = (): void => {
        for (const run of runs) {
          if (run.settled) continue
          const deserted = run.callers.every(({ expected }) => expected !== 'pending')
          const abandoned = run.cancelled || (deserted && !run.keep)
          assert.equal(run.signal.aborted, abandoned, 'I4')
          if (abandoned && current.get(run.key) === run) current.delete(run.key)
        }
      }
      for (const next of steps) {
        if ('join' in next) {
          const client = new AbortController()
          const existing = current.get(next.join)
          const result = watch(
            flights.join(
              next.join,
              (signal) => {
                const done = gate<number>()
                const run = {
                  key: next.join,
                  number: runs.length,
                  signal,
                  done,
                  callers: [],
                  settled: false,
                  cancelled: false,
                  keep: false,
                }
                runs.push(run)
                current.set(next.join, run)
                return done.promise
              },
              {
                signal: client.signal,
                deadline: next.deadline,
                whenAbandoned: next.keep ? 'keep' : 'cancel',
              },
            ),
          )
          const run = current.get(next.join)!
          assert.ok(existing === undefined || existing === run, 'I1')
          run.keep ||= next.keep
          const dueAt = kernel.clock.now() + (next.deadline ?? Infinity)
          const caller: Caller = { client, result, dueAt, expected: 'pending' }
          run.callers.push(caller)
          callers.push(caller)
        } else if ('abort' in next) {
          const caller = callers[next.abort]
          if (caller === undefined) continue
          caller.client.abort()
          leave(caller)
        } else if ('land' in next) {
          const run = runs[next.land]
          if (run === undefined || run.settled) continue
          run.settled = true
          if (next.ok) run.done.resolve(run.number)
          else run.done.reject(new Error('no'))
          await turn()
          if (current.get(run.key) === run) current.delete(run.key)
          for (const caller of run.callers) {
            if (caller.expected === 'pending') caller.expected = next.ok ? run.number : 'failed'
          }
        } else if ('detach' in next) {
          assert.equal(flights.detach(next.detach), current.delete(next.detach))
        } else if ('cancel' in next) {
          const run = current.get(next.cancel)
          assert.equal(flights.cancel(next.cancel), run !== undefined)
          if (run !== undefined) run.cancelled = true
          for (const caller of run?.callers ?? []) leave(caller)
          current.delete(next.cancel)
        } else {
          const until = kernel.clock.now() + next.advance
          await kernel.clock.advance(next.advance)
          for (const caller of callers) if (caller.dueAt <= until) leave(caller)
        }
        check()
        assert.equal(flights.size, current.size, 'I5')
        assert.equal(
          flights.stats().callers,
          callers.filter(({ expected }) => expected === 'pending').length,
        )
      }
      flights.cancelAll()
      for (const run of runs) run.done.resolve(run.number)
      await turn()
      for (const { result, expected } of callers) {
        if (typeof expected === 'number') assert.equal(result.value, expected, 'I2')
        else assert.equal(result.state, 'rejected', 'I2')
      }
      const stats = flights.stats()
      assert.deepEqual(
        [stats.flights, stats.callers, stats.abandoned, stats.started],
        [0, 0, 0, runs.length],
      )
      assert.equal(stats.succeeded + stats.failed, runs.length)
      assert.equal(kernel.clock.pending, 0, 'I6')
      for (const { client } of callers) assert.equal(listenersOf(client.signal), 0, 'I6')
      await flights.waitIdle()
    }),
    { numRuns: 200 },
  )
})
