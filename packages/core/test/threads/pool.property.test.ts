import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import fc from 'fast-check'
import { createFlags, createKernel, createPool, settle, turn } from './fixtures/support.ts'

/** The behaviour of a task, with the outcomes it may have when it is not cancelled. */
const behaviours = {
  plus: { input: 1, ends: ['ok'] },
  plusLater: { input: 1, ends: ['ok'] },
  echoOrExit: { input: 'exit', ends: ['HDL_THREAD_CRASHED', 'HDL_QUARANTINED'] },
  throwLater: { input: 'x', ends: ['HDL_THREAD_CRASHED', 'HDL_QUARANTINED'] },
  fail: { input: 'x', ends: ['E_TEST'] },
  echo: { input: () => 0, ends: ['HDL_NOT_CLONEABLE'] },
  notCloneable: { input: 0, ends: ['HDL_NOT_CLONEABLE'] },
  // These end only when they are cancelled.
  untilCancelled: { input: 'flags', ends: [] },
  untilAborted: { input: 'flags', ends: [] },
  stubborn: { input: 'flags', ends: [] },
} as const
type Behaviour = keyof typeof behaviours

const step = fc.record({
  job: fc.constantFrom(...(Object.keys(behaviours) as Behaviour[])),
  /** Turns of the loop before it is cancelled. */
  cancelAfter: fc.option(fc.nat({ max: 40 })),
  /** Turns of the loop before the next step. */
  pause: fc.nat({ max: 3 }),
  transfer: fc.boolean(),
})

test('property P1 P2 P3: whatever finishes, crashes or is cancelled in whatever order, each task has one outcome and nothing is left', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 25 }),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 0, max: 8 }),
      async (steps, threads, maxQueue) => {
        const kernel = createKernel()
        await using made = createPool({ threads, maxQueue, grace: 50, crashLimit: 3, kernel })
        const { pool, run } = made
        const flags = createFlags()
        const outcomes: string[][] = steps.map(() => [])
        const signals: AbortSignal[] = []
        let admitted = 0
        const tasks: Promise<void>[] = []
        for (const [index, { job, cancelAfter, pause, transfer }] of steps.entries()) {
          const { input, ends } = behaviours[job]
          const controller = new AbortController()
          signals.push(controller.signal)
          const isEndless = ends.length === 0
          const given = input === 'flags' ? { flags } : input
          const buffer = new ArrayBuffer(8)
          const options = {
            signal: controller.signal,
            ...(transfer && { transfer: [buffer] }),
          }
          const refusedBefore = pool.stats().refused
          const result = run(job, transfer ? withBuffer(given, buffer) : given, options)
          if (pool.stats().refused === refusedBefore) admitted++
          assert.ok(pool.stats().queued <= maxQueue)
          tasks.push(
            result.then(
              () => void outcomes[index]!.push('ok'),
              (error: { code: string }) => void outcomes[index]!.push(error.code),
            ),
          )
          if (cancelAfter !== null || isEndless) {
            tasks.push(turns(cancelAfter ?? 5).then(() => controller.abort()))
          }
          await turns(pause)
        }
        await settle(pool, kernel.clock, Promise.all(tasks))
        for (const [index, { job, cancelAfter }] of steps.entries()) {
          const { ends } = behaviours[job]
          const possible = new Set<string>([...ends, 'HDL_OVERLOADED'])
          if (cancelAfter !== null || ends.length === 0) possible.add('HDL_CANCELLED')
          assert.equal(outcomes[index]!.length, 1, `${job} had ${outcomes[index]!.length} outcomes`)
          assert.ok(possible.has(outcomes[index]![0]!), `${job}: ${outcomes[index]![0]}`)
        }
        const stats = pool.stats()
        assert.deepEqual([stats.queued, stats.inFlight], [0, 0])
        for (const thread of stats.threads) assert.equal(thread.inFlight, 0)
        assert.ok(stats.completed + stats.failed + stats.cancelled <= admitted)
        assert.equal(kernel.clock.pending, 0)
        for (const signal of signals) assert.equal(getEventListeners(signal, 'abort').length, 0)
        pool.release('plus')
        await settle(pool, kernel.clock, run('plus', 1))
      },
    ),
    { numRuns: 8 },
  )
})

/** An input that carries a buffer to move, and is otherwise what the job expects. */
function withBuffer(input: unknown, buffer: ArrayBuffer): unknown {
  return typeof input === 'object' ? { ...input, buffer } : input
}

async function turns(count: number): Promise<void> {
  for (let done = 0; done < count; done++) await turn()
}
