import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { systemRandom, seededRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { Scheduler } from '../../src/scheduler/scheduler.ts'

/** Runs nodes that take the given milliseconds of virtual time. */
async function ran(
  graph: Readonly<Record<string, readonly [ms: number, after: readonly string[]]>>,
  concurrency: number,
): Promise<{ scheduler: Scheduler; duration: number }> {
  const clock = new VirtualClock()
  const scheduler = new Scheduler({ concurrency, kernel: { clock, random: systemRandom } })
  for (const [name, [, after]] of Object.entries(graph)) scheduler.add(name, { after })
  const result = await clock.runUntil(
    scheduler.run((name) => new Promise<void>((done) => clock.setTimer(graph[name]![0], done))),
  )
  return { scheduler, duration: result.duration }
}

test('critical path and slack of a diamond are computed', async () => {
  const { scheduler } = await ran(
    { a: [10, []], slow: [50, ['a']], fast: [5, ['a']], end: [20, ['slow', 'fast']] },
    4,
  )
  const critical = await scheduler.criticalPath()
  assert.equal(critical.length, 80)
  assert.deepEqual(critical.path, [
    { name: 'a', ms: 10 },
    { name: 'slow', ms: 50 },
    { name: 'end', ms: 20 },
  ])
  assert.equal(critical.slackOf('slow'), 0)
  assert.equal(critical.slackOf('fast'), 45)
  assert.equal(critical.slackOf('nobody'), undefined)
})

test('what-if: more slots shorten the run down to the critical path, fewer lengthen it', async () => {
  const { scheduler, duration } = await ran(
    { a: [10, []], b: [10, []], c: [10, []], d: [10, []] },
    2,
  )
  assert.equal(duration, 20)
  assert.equal((await scheduler.whatIf({ concurrency: 2 })).duration, 20)
  assert.equal((await scheduler.whatIf({ concurrency: 4 })).duration, 10)
  assert.equal((await scheduler.whatIf({ concurrency: 1 })).duration, 40)
})

test('what-if: impossible limits are refused, not answered', async () => {
  const clock = new VirtualClock()
  const scheduler = new Scheduler({
    resources: { upload: 4 },
    kernel: { clock, random: systemRandom },
  })
  scheduler.add('heavy', { needs: { upload: 3 } })
  await clock.runUntil(scheduler.run(() => undefined))
  for (const concurrency of [0, NaN]) {
    await assert.rejects(scheduler.whatIf({ concurrency }), { code: 'HDL_BAD_OPTION' })
  }
  await assert.rejects(scheduler.whatIf({ resources: { upload: 2 } }), {
    code: 'HDL_WOULD_DEADLOCK',
    message: 'A node needs 3 permits of "upload" but there are only 2: it could never start.',
  })
})

test('the back-off of a node that was tried again counts; nodes that never ran do not', async () => {
  const clock = new VirtualClock()
  const scheduler = new Scheduler({ retries: 1, kernel: { clock, random: seededRandom(1) } })
  scheduler.add('a')
  scheduler.add('flaky', { after: ['a'] })
  scheduler.add('broken', { retries: 0 })
  scheduler.add('never', { after: ['broken'] })
  const result = await clock.runUntil(
    scheduler.run((name, { attempt }) => {
      if (name === 'broken' || (name === 'flaky' && attempt === 0)) throw new Error('no')
    }),
  )
  const critical = await scheduler.criticalPath()
  assert.equal(critical.length, result.duration, 'back-off counts as time the node took')
  assert.deepEqual(
    critical.path.map(({ name }) => name),
    ['a', 'flaky'],
  )
  assert.equal(critical.slackOf('broken'), result.duration)
  assert.equal(critical.slackOf('never'), undefined)
})

test('property: what-if with the real limits gives the real duration; without limits, the critical path', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.integer({ min: 1, max: 30 }),
      fc.integer({ min: 1, max: 5 }),
      async (seed, size, slots) => {
        const random = seededRandom(seed)
        const graph: Record<string, readonly [number, readonly string[]]> = {}
        for (let i = 0; i < size; i++) {
          const after = Array.from(
            { length: Math.floor(random.next() * Math.min(i, 3)) },
            () => `n${Math.floor(random.next() * i)}`,
          )
          graph[`n${i}`] = [1 + Math.floor(random.next() * 50), after]
        }
        const { scheduler, duration } = await ran(graph, slots)
        assert.equal((await scheduler.whatIf({})).duration, duration)
        const { length } = await scheduler.criticalPath()
        assert.equal((await scheduler.whatIf({ concurrency: Infinity })).duration, length)
        assert.ok(length <= duration)
      },
    ),
    { numRuns: 300 },
  )
})
