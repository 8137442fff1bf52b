import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Graph, job, startRun, type CriticalPath, type GraphResult } from '@heddle/core'
import {
  criticalPathOf,
  openJournal,
  readRecord,
  seededRandom,
  timedNodes,
} from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'

/** A graph to make: a number is a job that takes this many milliseconds, a list a sub-graph. */
interface Plan {
  readonly work: number | readonly Plan[]
  readonly links: readonly number[]
}

/** How long builders take. */
const buildTime = 3

function makeGraph(plans: readonly Plan[], clock: VirtualClock): Graph {
  const graph = new Graph()
  const wait = (ms: number): Promise<void> => new Promise((done) => void clock.setTimer(ms, done))
  for (const [i, { work, links }] of plans.entries()) {
    const after = [...new Set(i === 0 ? [] : links.map((link) => `n${link % i}`))]
    if (typeof work === 'number') {
      graph.add(
        `n${i}`,
        job({ name: 'work' }, () => wait(work)),
        { after },
      )
      continue
    }
    const build = async (): Promise<Graph> => {
      await wait(buildTime)
      return makeGraph(work, clock)
    }
    graph.subgraph(`n${i}`, build, { after })
  }
  return graph
}

interface Ended {
  readonly result: GraphResult
  readonly live: CriticalPath
  readonly recorded: CriticalPath
  /** With as many permits as wanted. */
  readonly forecast: number
}

async function runPlans(plans: readonly Plan[], concurrency: number): Promise<Ended> {
  const clock = new VirtualClock()
  const kernel = { clock, random: seededRandom(1) }
  await using journal = await openJournal('memory', { kernel })
  const started = await startRun(makeGraph(plans, clock), { journal, kernel, concurrency })
  const result = await clock.runUntil(started.result)
  const live = await started.scheduler.criticalPath()
  const { duration } = await started.scheduler.whatIf({ concurrency: Infinity })
  const record = await readRecord(journal, started.id!, { now: clock.wallTime() })
  return { result, live, recorded: await criticalPathOf(timedNodes(record)), forecast: duration }
}

test('the critical path goes through the nodes of a sub-graph, also of one inside another', async () => {
  const inner: Plan[] = [
    { work: 5, links: [] },
    { work: [{ work: 20, links: [] }], links: [0] },
    { work: 7, links: [0] },
  ]
  const plans: Plan[] = [
    { work: 10, links: [] },
    { work: inner, links: [0] },
    { work: 2, links: [1] },
  ]
  const { result, live, recorded } = await runPlans(plans, 1)
  assert.equal(result.ok, true)
  assert.deepEqual(recorded.path, [
    { name: 'n0', ms: 10 },
    { name: 'n1', ms: 3 },
    { name: 'n1/n0', ms: 5 },
    { name: 'n1/n1', ms: 3 },
    { name: 'n1/n1/n0', ms: 20 },
    { name: 'n2', ms: 2 },
  ])
  assert.equal(recorded.length, 43)
  assert.equal(recorded.slackOf('n1/n2'), 16)
  assert.equal(recorded.slackOf('n1'), 0)
  assert.deepEqual(live.path, recorded.path)
  // One of n1/n2 and n1/n1/n0 waited for the permit; builders take none.
  assert.equal(result.duration, 47)
})

test('property: a live and a recorded run have one critical path through their sub-graphs', async () => {
  const plansOf = (depth: number): fc.Arbitrary<Plan[]> =>
    fc.array(
      fc.record({
        work:
          depth === 0
            ? fc.integer({ min: 1, max: 50 })
            : fc.oneof(fc.integer({ min: 1, max: 50 }), plansOf(depth - 1)),
        links: fc.array(fc.nat(), { maxLength: 3 }),
      }),
      { minLength: depth === 2 ? 1 : 0, maxLength: 5 },
    )
  await fc.assert(
    fc.asyncProperty(plansOf(2), fc.constantFrom(1, 3, Infinity), async (plans, concurrency) => {
      const { result, live, recorded, forecast } = await runPlans(plans, concurrency)
      assert.equal(recorded.length, live.length)
      for (const name of result.succeeded) {
        assert.equal(recorded.slackOf(name), live.slackOf(name), name)
        assert.ok(live.slackOf(name)! >= 0, name)
      }
      const sum = live.path.reduce((all, { ms }) => all + ms, 0)
      assert.equal(sum, live.length)
      assert.ok(live.length <= result.duration)
      if (concurrency === Infinity) assert.equal(live.length, result.duration)
      assert.equal(forecast, live.length)
    }),
    { numRuns: 100 },
  )
})
