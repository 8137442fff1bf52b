import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { job } from '@heddle/core'
import { Dispatcher, type AdmittedTask } from '@heddle/core/lowlevel'
import { serveJob } from '../../src/jobs/served-job.ts'
import { Computation } from '../../src/jobs/computation.ts'

const load = job({ name: 'load' }, () => 1)
const plot = job({ name: 'plot' }, () => 2)

function work(total: number, isSubmitted = true): Computation {
  const served = serveJob({ name: 'two', prepare: load, item: plot, total })
  const submitted = isSubmitted ? { input: 'csv' } : undefined
  return new Computation({
    served,
    tenant: 'default',
    submitted,
    handle: 'h',
    total,
    priority: 1,
    at: 0,
  })
}

function takeAll(of: Computation): number[] {
  const taken = []
  for (let index = of.take(); index !== undefined; index = of.take()) taken.push(index)
  return taken
}

test('results are taken from the newest to the oldest, requested ones first', () => {
  const whole = work(5)
  assert.equal(whole.take(), 0)
  whole.ask(-3)
  whole.ask(-4)
  assert.ok(whole.isAsked)
  assert.deepEqual(takeAll(whole), [-3, -4, -1, -2])
  assert.ok(!whole.isAsked)
  assert.ok(!whole.hasMore)
})

test('work that was never submitted makes only requested results, until a submit', () => {
  const partial = work(3, false)
  assert.equal(partial.isWhole, false)
  assert.equal(partial.hasMore, false)
  assert.deepEqual(takeAll(partial), [])
  partial.ask(-1)
  assert.deepEqual(takeAll(partial), [-1])
  partial.complete({ input: undefined })
  assert.equal(partial.isWhole, true)
  assert.deepEqual(takeAll(partial), [0, -2])
  partial.complete({ input: 'another' })
  assert.deepEqual(
    partial.submitted,
    { input: undefined },
    'the first input stays: they are the same',
  )
})

test('one that is being made is not made a second time; one that was made is, when it is asked for', () => {
  const whole = work(2)
  assert.equal(whole.awaits(-1), true)
  assert.equal(whole.awaits(-1), true)
  assert.equal(whole.take(), -1)
  assert.equal(whole.awaits(-1), true, 'it is being made')
  whole.ask(-1)
  assert.equal(whole.take(), 0)
  assert.equal(whole.take(), undefined)
  whole.made(-1)
  assert.equal(whole.awaits(-1), false, 'it was made: look in the store')
  assert.equal(whole.take(), undefined)
  whole.ask(-1)
  assert.equal(whole.take(), -1)
  assert.deepEqual(whole.asked, new Set([-1]))
})

test('the maker of results is notified of each caller that asks for more', () => {
  const whole = work(1)
  let calls = 0
  whole.onMore = () => calls++
  whole.ask(0)
  assert.equal(calls, 1)
  whole.ask(0)
  assert.equal(calls, 2)
  whole.take()
  whole.ask(0)
  assert.equal(calls, 2, 'it is being made')
})

test('property: every index is taken once, none is lost, and one that is asked for comes before the rest', () => {
  const step = fc.oneof(
    fc.constant({ do: 'take' as const }),
    fc.record({ do: fc.constant('ask' as const), which: fc.nat(11) }),
    fc.record({ do: fc.constant('made' as const), which: fc.nat(11) }),
  )
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.array(step, { maxLength: 60 }),
      (total, steps) => {
        const whole = work(total)
        const urgent = new Set<number>()
        const making = new Set<number>()
        const counts = new Map<number, number>()
        /** Asked for after it was made: it is to be made again. */
        const again = new Map<number, number>()
        const take = (): number | undefined => {
          const index = whole.take()
          if (index === undefined) return undefined
          const [first] = urgent
          if (first !== undefined) assert.equal(index, first, 'the one that was asked for first')
          assert.ok(!making.has(index), 'it is being made already')
          assert.ok(index <= 0 && index > -total)
          urgent.delete(index)
          making.add(index)
          counts.set(index, (counts.get(index) ?? 0) + 1)
          return index
        }
        for (const one of steps) {
          if (one.do === 'take') take()
          else {
            // Not -0, as in the service.
            const index = 0 - (one.which % total)
            if (one.do === 'made') {
              whole.made(index)
              making.delete(index)
            } else if (!making.has(index)) {
              if (counts.has(index) && !urgent.has(index))
                again.set(index, (again.get(index) ?? 0) + 1)
              urgent.add(index)
              whole.ask(index)
            } else whole.ask(index)
          }
          assert.equal(whole.isAsked, urgent.size > 0)
        }
        while (take() !== undefined);
        assert.ok(!whole.hasMore)
        for (let index = 0; index > -total; index--) {
          assert.equal(counts.get(index), 1 + (again.get(index) ?? 0), `result ${index}`)
        }
      },
    ),
    { numRuns: 500 },
  )
})

test('W9 a higher priority moves everything that waits for it; a lower one nothing', () => {
  const whole = work(1)
  const moves: number[] = []
  const task = {
    priority: 1,
    done: new Promise(() => undefined),
    move: (to: number) => moves.push(to),
  }
  void whole.follow(task as unknown as AdmittedTask<unknown>)
  whole.raise(3)
  whole.raise(1)
  assert.deepEqual(moves, [])
  whole.raise(0)
  whole.raise(0)
  assert.deepEqual(moves, [0])
  assert.equal(whole.priority, 0)
})

test('W9 attempts that start after the work was raised are moved at once', async () => {
  const dispatcher = new Dispatcher({ concurrency: 1 })
  const { promise: busy, resolve: free } = Promise.withResolvers<void>()
  void dispatcher.run(() => busy)
  const whole = work(1)
  whole.raise(0)
  const task = dispatcher.submit(() => 'done', { priority: 1 })
  const done = whole.follow(task)
  assert.equal(task.priority, 0)
  free()
  assert.equal(await done, 'done')
})

test('the stage of a computation follows from its state', () => {
  const whole = work(1)
  const stages = (['looking', 'queued', 'preparing', 'making', 'done', 'ended'] as const).map(
    (state) => {
      whole.state = state
      return whole.stage
    },
  )
  assert.deepEqual(stages, ['request', 'queue', 'prepare', 'item', 'request', 'request'])
})

test('the end is reported once, with its cause; a later caller gets the same answer', async () => {
  const whole = work(1)
  const error = new Error('not today')
  whole.end('ended', error)
  await whole.ended
  assert.ok(whole.isEnded)
  assert.equal(whole.error, error)
  await assert.rejects(whole.looked, error)
  const other = work(1)
  other.sayLooked('missing')
  other.end('ended', error)
  assert.equal(await other.looked, 'missing')
})
