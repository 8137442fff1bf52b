import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Dispatcher, type AdmittedTask } from '../../src/admission/dispatcher.ts'
import { Capacity } from '../../src/capacity/capacity.ts'
import { isError } from '../../src/errors.ts'
import type { Needs } from '../../src/graph/job.ts'
import { outcomes, type Outcome } from '../../src/registry/outcomes.ts'
import { gate, listenersOf, testKernel, turn } from '../sync/support.ts'

const nth = fc.nat({ max: 12 })
const limit = fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined })

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('submit' as const),
      priority: fc.integer({ min: 0, max: 3 }),
      tenant: fc.constantFrom('a', 'b'),
      needs: fc.constantFrom<Needs>({}, { gpu: 1 }, { gpu: 1, loop: 0 }, { loop: 0 }),
      queueTimeout: limit,
      timeout: limit,
      deadline: limit,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('settle' as const), nth, ok: fc.boolean() }),
  },
  fc.record({ do: fc.constantFrom('cancel' as const, 'abort' as const), nth }),
  fc.record({ do: fc.constant('move' as const), nth, priority: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ do: fc.constant('advance' as const), by: fc.integer({ min: 1, max: 40 }) }),
)

interface Modelled {
  readonly task: AdmittedTask<number>
  readonly needsNothing: boolean
  readonly client: AbortController
  readonly submittedAt: number
  readonly queueTimeout: number
  readonly timeout: number
  readonly deadline: number
  startedAt: number | undefined
  settled: boolean
  /** The outcome that follows from the first event. */
  expected: Outcome | undefined
  readonly done: PromiseWithResolvers<number>
}

const capacity = 8
const grace = 30

test('I1 I2 I3 I5: any sequence gives every task one outcome, the first, and leaves nothing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const kernel = testKernel()
      const permits = new Capacity({ loop: { permits: 2, reserved: 1 }, resources: { gpu: 1 } })
      const dispatcher = new Dispatcher({
        kernel,
        capacity,
        permits,
        grace,
      })
      const all: Modelled[] = []
      let refused = 0
      const end = (each: Modelled, outcome: Outcome): void => {
        each.expected ??= outcome
      }
      /** When its next limit strikes. */
      const dueAt = (each: Modelled): number =>
        Math.min(
          each.submittedAt + each.deadline,
          each.startedAt === undefined
            ? each.submittedAt + each.queueTimeout
            : each.startedAt + each.timeout,
        )
      for (const next of steps) {
        const now = kernel.clock.now()
        switch (next.do) {
          case 'submit': {
            const { priority, tenant, needs } = next
            const client = new AbortController()
            const done = gate<number>()
            const modelled = {
              needsNothing: needs['loop'] === 0 && needs['gpu'] === undefined,
              client,
              submittedAt: now,
              queueTimeout: next.queueTimeout ?? Infinity,
              timeout: next.timeout ?? Infinity,
              deadline: next.deadline ?? Infinity,
              startedAt: undefined as number | undefined,
              settled: false,
              expected: undefined,
              done,
            }
            try {
              const task = dispatcher.submit(
                () => {
                  modelled.startedAt = kernel.clock.now()
                  return done.promise
                },
                {
                  priority,
                  tenant,
                  needs,
                  queueTimeout: next.queueTimeout,
                  timeout: next.timeout,
                  deadline: next.deadline,
                  signal: client.signal,
                },
              )
              all.push(Object.assign(modelled, { task }))
            } catch (error) {
              assert.ok(isError(error, 'HDL_OVERLOADED'))
              refused++
            }
            break
          }
          case 'settle': {
            const each = all[next.nth]
            if (each === undefined || each.startedAt === undefined || each.settled) break
            each.settled = true
            if (next.ok) each.done.resolve(1)
            else each.done.reject(new Error('no'))
            end(each, next.ok ? 'success' : 'error')
            await turn()
            break
          }
          case 'cancel': {
            const each = all[next.nth]
            if (each === undefined) break
            assert.equal(each.task.cancel(), each.expected === undefined)
            end(each, 'cancelled')
            break
          }
          case 'abort': {
            const each = all[next.nth]
            each?.client.abort()
            if (each !== undefined) end(each, 'cancelled')
            break
          }
          case 'move': {
            const each = all[next.nth]
            if (each === undefined) break
            const queued = each.task.state === 'queued'
            assert.equal(each.task.move(next.priority), queued)
            break
          }
          case 'advance':
            // Millisecond by millisecond, so that the model sees every start.
            for (let i = 0; i < next.by; i++) {
              await kernel.clock.advance(1)
              for (const each of all) {
                if (each.expected === undefined && dueAt(each) <= kernel.clock.now()) {
                  end(each, 'timeout')
                }
              }
            }
        }
        await turn()
        const { queue, stopping } = dispatcher.stats()
        const { thread: _thread, ...pools } = permits.stats()
        assert.ok(queue.queued + queue.running + queue.reserved <= capacity)
        for (const pool of Object.values(pools)) {
          assert.ok(pool.used <= pool.permits && pool.usedReserved <= pool.reserved)
        }
        const holding = all.filter(
          ({ task }) => task.state === 'running' || task.state === 'stopping',
        )
        assert.equal(queue.running, holding.length, 'I1')
        assert.equal(stopping, holding.filter(({ task }) => task.state === 'stopping').length)
        for (const each of all) {
          assert.equal(each.task.outcome, each.expected, 'I2')
          if (each.needsNothing) assert.notEqual(each.task.state, 'queued', 'I5')
        }
        const idle = Object.values(pools).every(
          ({ used, usedReserved }) => used + usedReserved === 0,
        )
        if (idle) assert.equal(queue.queued, 0, 'I5')
      }
      dispatcher.cancelAll()
      for (const each of all) end(each, 'cancelled')
      await kernel.clock.advance(grace)
      const settled = await Promise.allSettled(all.map(({ task }) => task.done))
      for (const [i, { expected, task }] of all.entries()) {
        assert.equal(settled[i]!.status === 'fulfilled', expected === 'success')
        assert.equal(task.state, 'ended')
      }
      const stats = dispatcher.stats()
      assert.equal(
        outcomes.reduce((total, outcome) => total + stats.outcomes[outcome], 0),
        stats.submitted,
        'I2',
      )
      assert.deepEqual([stats.submitted, stats.outcomes.rejected], [all.length + refused, refused])
      const { loop, gpu } = permits.stats()
      assert.deepEqual([loop!.used, loop!.usedReserved, gpu!.used], [0, 0, 0], 'I3')
      assert.deepEqual(
        [stats.queue.queued, stats.queue.running, stats.queue.tenants, kernel.clock.pending],
        [0, 0, 0, 0],
      )
      for (const { client } of all) assert.equal(listenersOf(client.signal), 0)
      for (const { done } of all) done.resolve(0)
      await turn()
      assert.equal(permits.stats()['loop']!.used, 0, 'I3: not a second time')
    }),
    { numRuns: 150 },
  )
})
