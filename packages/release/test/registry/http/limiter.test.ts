import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import fc from 'fast-check'
import { AdaptiveLimiter, type Turn } from '../../../src/registry/http/limiter.ts'
import { virtualKernel } from '../../support/virtual-time.ts'

const registry = 'http://registry.test'

test('RL1: a refusal holds all requests back until Retry-After is over', async () => {
  const kernel = virtualKernel()
  const limiter = new AdaptiveLimiter({ kernel, registry })
  const first = await limiter.pass('first')
  limiter.refused(first, 5000)
  assert.equal(limiter.stats().state, 'held')
  const starts: number[] = []
  const others = [1, 2, 3].map(async () => {
    starts.push((await limiter.pass('other')).startedAt)
  })
  await kernel.clock.advance(4999)
  assert.deepEqual(starts, [])
  await kernel.clock.runUntil(Promise.all(others))
  assert.deepEqual(starts, [5000, 5100, 5200], 'RL2: then one per gap')
})

test('RL1: a later refusal also moves requests that are sleeping', async () => {
  const kernel = virtualKernel()
  const limiter = new AdaptiveLimiter({ kernel, registry })
  const turns = [await limiter.pass('a'), await limiter.pass('b')]
  limiter.refused(turns[0]!, 1000)
  const waiting = limiter.pass('c')
  await kernel.clock.advance(500)
  limiter.refused(turns[1]!, 3000)
  assert.equal((await kernel.clock.runUntil(waiting)).startedAt, 3500)
})

test('RL3: a burst of refusals is one sign', async () => {
  const kernel = virtualKernel()
  const limiter = new AdaptiveLimiter({ kernel, registry })
  const burst: Turn[] = []
  for (let i = 0; i < 10; i++) burst.push(await limiter.pass(`request ${i}`))
  await kernel.clock.advance(10)
  for (const turn of burst) limiter.refused(turn, 1000)
  assert.deepEqual(limiter.stats(), { state: 'held', gap: 100, refusals: 10, cuts: 1 })
  const next = await kernel.clock.runUntil(limiter.pass('later'))
  limiter.refused(next, 1000)
  assert.equal(limiter.stats().cuts, 2)
  assert.equal(limiter.stats().gap, 150, 'slower by a third')
})

test('RL4: after enough successes the pace is lifted', async () => {
  const kernel = virtualKernel()
  const limiter = new AdaptiveLimiter({ kernel, registry })
  limiter.refused(await limiter.pass('first'), 1000)
  const from = kernel.clock.now()
  let successes = 0
  while (limiter.stats().gap > 0) {
    await kernel.clock.runUntil(limiter.pass('next'))
    limiter.succeeded()
    assert.ok(++successes < 3000)
  }
  const seconds = (kernel.clock.now() - from) / 1000
  assert.ok(seconds > 99 && seconds < 102, 'from 10 to 20 starts a second in steps of 0.1')
  assert.equal(limiter.stats().state, 'free')
})

test('a refusal without a time holds longer each time', async () => {
  const kernel = virtualKernel()
  const limiter = new AdaptiveLimiter({ kernel, registry })
  const holds: number[] = []
  for (let i = 0; i < 8; i++) {
    const turn = await kernel.clock.runUntil(limiter.pass('again'))
    const before = kernel.clock.now()
    limiter.refused(turn, undefined)
    holds.push((await kernel.clock.runUntil(limiter.pass('next'))).startedAt - before)
  }
  assert.deepEqual(holds, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
})

test('RL5: a request that gives up leaves no timer behind', async () => {
  const kernel = virtualKernel()
  const limiter = new AdaptiveLimiter({ kernel, registry })
  limiter.refused(await limiter.pass('first'), 60_000)
  const abort = new AbortController()
  const waiting = limiter.pass('waiting', { signal: abort.signal })
  abort.abort(new Error('enough'))
  await assert.rejects(waiting, (error) => isError(error, 'HDL_CANCELLED'))
  const late = limiter.pass('late', { deadline: 1000 })
  await assert.rejects(late, (error) => isError(error, 'HDL_TIMEOUT'))
  assert.equal(kernel.clock.pending, 0)
})

test('RL1, RL2, RL3 hold for any order of successes and refusals', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          refused: fc.boolean(),
          after: fc.nat(2000),
          latency: fc.integer({ min: 1, max: 300 }),
        }),
        { maxLength: 40 },
      ),
      fc.integer({ min: 1, max: 8 }),
      async (answers, workers) => {
        const kernel = virtualKernel()
        const limiter = new AdaptiveLimiter({ kernel, registry })
        /** What was known, and since when: a start at the very moment of a change may be older. */
        const known = [{ since: -Infinity, heldUntil: -Infinity, gap: 0 }]
        let last = -Infinity
        const queue = [...answers]
        const worker = async (): Promise<void> => {
          for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
            const { startedAt } = await limiter.pass('request')
            const { heldUntil, gap } = known.findLast(({ since }) => since < startedAt)!
            assert.ok(startedAt >= heldUntil, 'RL1')
            assert.ok(startedAt - last >= gap - 1e-6, 'RL2')
            last = startedAt
            await new Promise<void>((done) => void kernel.clock.setTimer(next.latency, done))
            const now = kernel.clock.now()
            if (next.refused) limiter.refused({ startedAt }, next.after)
            else limiter.succeeded()
            known.push({
              since: now,
              heldUntil: Math.max(known.at(-1)!.heldUntil, next.refused ? now + next.after : 0),
              gap: limiter.stats().gap,
            })
          }
        }
        const all = Promise.all(Array.from({ length: workers }, worker))
        await kernel.clock.runUntil(all)
        const { refusals, cuts } = limiter.stats()
        assert.ok(cuts <= refusals, 'RL3')
        assert.equal(kernel.clock.pending, 0)
      },
    ),
    { numRuns: 100 },
  )
})

test('RL6: a pause of hours refuses all requests at once, until the rest of it is short', async () => {
  const kernel = virtualKernel()
  const limiter = new AdaptiveLimiter({ kernel, registry })
  limiter.refused(await limiter.pass('first'), 3 * 3_600_000)
  await assert.rejects(limiter.pass('other'), (error) => {
    assert.ok(isError(error, 'HDL_REGISTRY_RATE'))
    assert.deepEqual([error.details.action, error.retryAfter], ['other', 3 * 3_600_000])
    return true
  })
  await kernel.clock.advance(3 * 3_600_000 - 60_000)
  const { startedAt } = await kernel.clock.runUntil(limiter.pass('later'))
  assert.equal(startedAt, 3 * 3_600_000)
})
