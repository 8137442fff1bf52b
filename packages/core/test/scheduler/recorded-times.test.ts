import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { systemRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { criticalPathOf, forecastOf, type TimedNode } from '../../src/scheduler/recorded-times.ts'
import { Scheduler } from '../../src/scheduler/scheduler.ts'

function node(name: string, startedAt: number, endedAt: number, ...after: string[]): TimedNode {
  return { name, after, startedAt, endedAt }
}

test('critical path and slack of a recorded diamond; nodes that did not run do not count', async () => {
  const critical = await criticalPathOf([
    node('end', 60, 80, 'slow', 'fast'),
    node('fast', 10, 15, 'a'),
    node('slow', 10, 60, 'a'),
    node('a', 0, 10, 'nobody'),
    { name: 'blocked', after: ['a'], endedAt: 900 },
    { name: 'running', after: ['a'], startedAt: 10 },
  ])
  assert.equal(critical.length, 80)
  assert.deepEqual(
    critical.path.map(({ name }) => name),
    ['a', 'slow', 'end'],
  )
  assert.equal(critical.slackOf('fast'), 45)
  assert.equal(critical.slackOf('blocked'), undefined)
})

test('a clock that was set back makes no negative time and no wrong order', async () => {
  const { path, length } = await criticalPathOf([
    node('b', 5, 25, 'a'),
    node('a', 10, 4),
    node('c', 5, 6, 'b'),
  ])
  assert.deepEqual(
    path.map(({ name }) => name),
    ['a', 'b', 'c'],
  )
  assert.equal(length, 21)
})

test('forecast: slots decide where the critical path does not', async () => {
  const four = ['a', 'b', 'c', 'd'].map((name) => node(name, 0, 10))
  assert.equal((await forecastOf(four, { concurrency: 2 })).duration, 20)
  assert.equal((await forecastOf(four, { concurrency: Infinity })).duration, 10)
})

test('forecast: a node of a sub-graph that takes longer or shorter makes the run as much longer or shorter', async () => {
  const nodes = [
    node('train', 0, 30),
    { ...node('train/a', 5, 25), readyAt: 5, parent: 'train' },
    node('end', 30, 40, 'train'),
  ]
  const played = async (by: number): Promise<number> => {
    const changed = nodes.map((each) =>
      each.name === 'train/a' ? { ...each, longerBy: by } : each,
    )
    return (await forecastOf(changed, { concurrency: 1 })).duration
  }
  assert.equal(await played(0), 40)
  assert.equal(await played(7), 47)
  assert.equal(await played(-7), 33)
  assert.equal(await played(-100), 20)
})

test('property: a recorded run has the critical path and the forecast of the live one', async () => {
  const graphs = fc.array(
    fc.record({ ms: fc.integer({ min: 1, max: 50 }), links: fc.array(fc.nat(), { maxLength: 3 }) }),
    { minLength: 1, maxLength: 25 },
  )
  await fc.assert(
    fc.asyncProperty(graphs, fc.integer({ min: 1, max: 4 }), async (graph, concurrency) => {
      const clock = new VirtualClock()
      const scheduler = new Scheduler({ concurrency, kernel: { clock, random: systemRandom } })
      const times = new Map<string, { startedAt?: number; endedAt?: number }>()
      scheduler.observe((event) => {
        if (event.type !== 'node') return
        if (event.state === 'running') times.set(event.name, { startedAt: event.at })
        if (event.state === 'succeeded') times.get(event.name)!.endedAt = event.at
      })
      const afters = graph.map(({ links }, i) => [
        ...new Set(i === 0 ? [] : links.map((link) => `n${link % i}`)),
      ])
      for (const [i, after] of afters.entries()) scheduler.add(`n${i}`, { after })
      const done = scheduler.run(
        (name) => new Promise<void>((end) => clock.setTimer(graph[Number(name.slice(1))]!.ms, end)),
      )
      await clock.runUntil(done)
      // In the order in which they started: what started together has equal times.
      const recorded = Array.from(times, ([name, time]) => {
        return { name, after: afters[Number(name.slice(1))]!, ...time }
      })
      const live = await scheduler.criticalPath()
      const past = await criticalPathOf(recorded, clock)
      assert.equal(past.length, live.length)
      for (const { name } of recorded) assert.equal(past.slackOf(name), live.slackOf(name))
      const forecast = await forecastOf(recorded, { concurrency }, clock)
      assert.equal(forecast.duration, (await scheduler.whatIf({})).duration)
      assert.equal(clock.pending, 0)
    }),
    { numRuns: 100 },
  )
})
