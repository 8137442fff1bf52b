/** How jobs with durable steps end: with the run that drains, and when they return too early. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job, run, startRun, type Job, type LoopContext } from '@heddle/core'
import { systemKernel, type Kernel } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { journals } from './kit.ts'

const day = 24 * 60 * 60 * 1_000

function virtual(): { clock: VirtualClock; kernel: Kernel } {
  const clock = new VirtualClock()
  return { clock, kernel: { ...systemKernel, clock } }
}

function flow(run_: (ctx: LoopContext) => unknown, options: object = {}): Job {
  return job({ name: 'flow', ...options }, (_: unknown, ctx) => run_(ctx))
}

const sleeper = job({ name: 'sleeper' }, (_: void, ctx) => ctx.sleep(day))
const asker = job({ name: 'asker' }, (_: void, ctx) => ctx.waitFor('approval'))
const broken = job({ name: 'broken', retries: 50, retryBaseDelay: day }, () => {
  throw new Error('broken')
})
const plus = job({ name: 'plus' }, (n: number) => n + 1)

/** The job's reaction to a cancel of the run, and whether it is idle then. */
const idle: Record<string, (graph: Graph) => void> = {
  'a step that sleeps': (graph) =>
    graph.add(
      'n',
      flow((ctx) => ctx.run(sleeper)),
    ),
  'a step that waits for a signal, and a catch': (graph) =>
    graph.add(
      'n',
      flow((ctx) => ctx.run(asker).catch(() => 'no approval: refused')),
    ),
  'a step of a step': (graph) => {
    const middle = job({ name: 'middle' }, (_: void, ctx) => ctx.run(sleeper))
    graph.add(
      'n',
      flow((ctx) => ctx.run(middle)),
    )
  },
  'a step that sleeps beside a sleep': (graph) =>
    graph.add(
      'n',
      flow((ctx) => Promise.all([ctx.run(sleeper), ctx.sleep(day)])),
    ),
  'a job with retries': (graph) =>
    graph.add(
      'n',
      flow((ctx) => ctx.run(sleeper), { retries: 3 }),
    ),
  'a step that waits for its next attempt': (graph) =>
    graph.add(
      'n',
      flow((ctx) => ctx.run(broken)),
    ),
  'elements of a map that collects': (graph) =>
    graph.map(
      'n',
      flow((ctx) => ctx.run(sleeper)),
      { over: () => [1, 2], failures: 'collect' },
    ),
  'elements whose steps wait for their next attempt': (graph) =>
    graph.map(
      'n',
      flow((ctx) => ctx.run(broken)),
      { over: () => [1, 2], failures: 'collect' },
    ),
}

for (const [what, build] of Object.entries(idle)) {
  test(`G12: a graceful cancel ends ${what} as cancelled, and the run can be resumed`, async (t) => {
    const { clock, kernel } = virtual()
    const journal = await journals['memory']!(t, kernel)
    const make = (): Graph => {
      const graph = new Graph()
      build(graph)
      return graph
    }
    const started = await startRun(make(), { kernel, journal })
    await clock.advance(5)
    started.scheduler.cancel()
    const result = await clock.runUntil(started.result)
    assert.deepEqual(result.cancelled, ['n'])
    assert.deepEqual([...result.failed], [])
    assert.equal(clock.now(), 5)
    const resumed = await startRun(make(), { kernel, journal, resume: started.id! })
    await clock.advance(5)
    assert.equal(resumed.scheduler.stateOf('n'), 'suspended')
    resumed.scheduler.cancel({ abort: true })
    await clock.runUntil(resumed.result)
  })
}

test('G12: a step that runs may finish; then the job ends as soon as nothing of it runs', async () => {
  const { clock, kernel } = virtual()
  let isFinished = false
  const slow = job({ name: 'slow' }, async () => {
    await new Promise<void>((resolve) => clock.setTimer(100, resolve))
    isFinished = true
  })
  const failing = job({ name: 'failing', retries: 1, retryBaseDelay: day }, async () => {
    await new Promise<void>((resolve) => clock.setTimer(50, resolve))
    throw new Error('broken')
  })
  const graph = new Graph()
  graph.add(
    'both',
    flow((ctx) => Promise.all([ctx.run(slow), ctx.run(sleeper)])),
  )
  graph.add(
    'fails',
    flow((ctx) => ctx.run(failing)),
  )
  graph.add(
    'won',
    flow((ctx) => Promise.race([ctx.run(slow).then(() => 'slow'), ctx.sleep(day)])),
  )
  const started = await startRun(graph, { kernel })
  await clock.advance(5)
  started.scheduler.cancel()
  const result = await clock.runUntil(started.result)
  assert.equal(isFinished, true)
  assert.equal(result.valueOf('won'), 'slow')
  assert.deepEqual(result.cancelled.toSorted(), ['both', 'fails'])
  assert.ok(clock.now() <= 105, `ended after ${clock.now()} ms`)
})

const forgotten: Record<string, (ctx: LoopContext) => unknown> = {
  run: (ctx) => void ctx.run(plus, 1),
  sleep: (ctx) => void ctx.sleep(50),
  waitFor: (ctx) => void ctx.waitFor('x'),
}

for (const [step, forget] of Object.entries(forgotten)) {
  test(`G13: a job that does not await ctx.${step}() fails, and nothing else does`, async (t) => {
    const rejections: unknown[] = []
    const note = (error: unknown): void => void rejections.push(error)
    process.on('unhandledRejection', note)
    t.after(() => process.off('unhandledRejection', note))
    for (const journal of [undefined, await journals['memory']!(t)]) {
      const { clock, kernel } = virtual()
      const graph = new Graph()
      graph.add(
        'forgot',
        flow((ctx) => {
          forget(ctx)
          return 1
        }),
      )
      graph.add(
        'other',
        flow((ctx) => ctx.sleep(100)),
      )
      const result = await clock.runUntil(run(graph, { kernel, ...(journal && { journal }) }))
      const error = result.failed.get('forgot') as { code: string; message: string }
      assert.equal(error.code, 'HDL_STEP_NOT_AWAITED')
      assert.match(error.message, new RegExp(`did not await ctx.${step}\\(\\)`))
      if (step === 'run') assert.match(error.message, /ctx\.run\(\) of the job "plus"\.$/)
      assert.deepEqual(result.succeeded, ['other'])
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
    assert.deepEqual(rejections, [])
  })
}

test('G13: an attempt that fails beside a step of its own is tried again, and ends nothing else', async (t) => {
  const rejections: unknown[] = []
  const note = (error: unknown): void => void rejections.push(error)
  process.on('unhandledRejection', note)
  t.after(() => process.off('unhandledRejection', note))
  const { clock, kernel } = virtual()
  let attempts = 0
  const graph = new Graph()
  graph.add(
    'n',
    flow(
      async (ctx) => {
        const asleep = ctx.sleep(600)
        if (attempts++ < 2) throw new Error('again')
        await asleep
        return attempts
      },
      { retries: 3 },
    ),
  )
  graph.add(
    'floats',
    flow((ctx) => {
      void (async () => {
        await ctx.sleep(day)
      })()
      return 'returned'
    }),
  )
  const result = await clock.runUntil(run(graph, { kernel }))
  assert.equal(result.valueOf('n'), 3)
  assert.equal(result.valueOf('floats'), 'returned')
  await new Promise<void>((resolve) => setImmediate(resolve))
  assert.deepEqual(rejections, [])
  assert.equal(clock.pending, 0)
})

test('G13: the loser of a race may be under way when the job returns', async () => {
  const { clock, kernel } = virtual()
  const graph = new Graph()
  graph.add(
    'n',
    flow((ctx) => Promise.race([ctx.waitFor('x'), ctx.sleep(300).then(() => 'late')])),
  )
  const result = await clock.runUntil(run(graph, { kernel }))
  assert.equal(result.valueOf('n'), 'late')
  assert.equal(clock.now(), 300)
})

test('steps and artifacts that are asked for first after the end of the node, or the run, are refused', async (t) => {
  const journal = await journals['memory']!(t)
  let kept: LoopContext | undefined
  const graph = new Graph()
  const first = graph.add(
    'first',
    flow((ctx) => {
      kept = ctx
    }),
  )
  const late = async (): Promise<unknown[]> => {
    const calls = [kept!.run(plus, 1), kept!.sleep(1), kept!.waitFor('x'), kept!.artifact('a', 'b')]
    const outcomes = await Promise.allSettled(calls)
    return outcomes.map((each) =>
      each.status === 'rejected' ? (each.reason as { code: string }).code : 'fulfilled',
    )
  }
  const expected = ['HDL_NO_STEPS', 'HDL_NO_STEPS', 'HDL_NO_STEPS', 'HDL_CLOSED']
  graph.add(
    'second',
    flow(() => late()),
    { after: [first] },
  )
  const result = await run(graph, { journal })
  assert.deepEqual(result.valueOf('second'), expected)
  assert.deepEqual(await late(), expected)
  assert.deepEqual(await Array.fromAsync(journal.parts(result.run!, 'first')), [])
  assert.deepEqual(await journal.artifacts!.list(result.run!), [])
})

test('times without a date and names with half a character are refused with the option', async () => {
  const { clock, kernel } = virtual()
  const refusal = (error: { code: string; message: string }): string =>
    `${error.code} ${error.message}`
  const half = 'a\ud800'
  const graph = new Graph()
  graph.add(
    'n',
    flow(async (ctx) => [
      await ctx.sleep(Infinity).catch(refusal),
      await ctx.sleep(8.64e15).catch(refusal),
      await ctx.run(plus, 1, { key: half }).catch(refusal),
      await ctx.run(job({ name: half }, () => 1)).catch(refusal),
      await ctx.waitFor(half).catch(refusal),
      await Promise.race([ctx.waitFor('x', { deadline: 1e300 }), ctx.sleep(1)]),
    ]),
  )
  graph.map('m', plus, { over: () => [1], key: () => half })
  const result = await clock.runUntil(run(graph, { kernel }))
  const texts = result.valueOf('n') as (string | undefined)[]
  const options = ['milliseconds', 'milliseconds', 'key', 'name of the job', 'signal']
  for (const [index, option] of options.entries()) {
    assert.match(texts[index]!, new RegExp(`^HDL_BAD_OPTION Option "${option}"`))
  }
  assert.equal(texts[5], undefined)
  assert.equal((result.failed.get('m') as { code: string }).code, 'HDL_BAD_OPTION')
})

for (const abort of [true, false]) {
  test(`1,500 steps inside one another are ${abort ? 'aborted' : 'cancelled gracefully'} without a deep stack`, async () => {
    const { clock, kernel } = virtual()
    const atLeaf = Promise.withResolvers<void>()
    const deep: Job<number> = job({ name: 'deep' }, (levels: number, ctx) => {
      if (levels > 0) return ctx.run(deep, levels - 1)
      atLeaf.resolve()
      return ctx.waitFor('never')
    })
    const graph = new Graph()
    graph.add('deep', deep, { input: 1_500 })
    const started = await startRun(graph, { kernel })
    await clock.runUntil(atLeaf.promise)
    started.scheduler.cancel({ abort })
    const result = await clock.runUntil(started.result)
    assert.equal(result.state, 'cancelled')
    assert.deepEqual(result.cancelled, ['deep'])
  })
}

test('the help about a wrong option of a step speaks of code, and its stack has the line', async () => {
  const { clock, kernel } = virtual()
  const graph = new Graph()
  graph.add(
    'n',
    flow((ctx) => ctx.sleep(-1)),
  )
  const result = await clock.runUntil(run(graph, { kernel }))
  const error = result.failed.get('n') as Error & { code: string; help: string }
  assert.equal(error.code, 'HDL_BAD_OPTION')
  assert.match(error.help, /code/)
  assert.doesNotMatch(error.help, /command line|settings file/)
  assert.match(error.stack!, /steps\.ends\.test\.ts/)
})
