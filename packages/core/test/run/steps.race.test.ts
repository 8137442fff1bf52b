/** G15: a job that races its waits continues with its permits, and what has lost takes no signal. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job, run, startRun, type LoopContext, type NodeRef } from '@heddle/core'
import { systemKernel, type Kernel } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { cutOff, historyOf, journals } from './kit.ts'

function virtual(): { clock: VirtualClock; kernel: Kernel } {
  const clock = new VirtualClock()
  return { clock, kernel: { ...systemKernel, clock } }
}

function graphOf<T>(work: (ctx: LoopContext) => Promise<T>): { graph: Graph; node: NodeRef<T> } {
  const graph = new Graph()
  const node = graph.add(
    'n',
    job({ name: 'flow' }, (_: void, ctx) => work(ctx)),
  )
  return { graph, node }
}

const never = job({ name: 'never' }, (_: void, ctx) => ctx.waitFor('never'))
const broken = job({ name: 'broken' }, () => {
  throw new Error('broken')
})

/** Ways to continue while a wait is under way. */
const races: Record<string, (ctx: LoopContext) => Promise<unknown>> = {
  'race, a sleep wins': (ctx) => Promise.race([ctx.waitFor('go'), ctx.sleep(10)]),
  'race, a sleep with then() wins': (ctx) =>
    Promise.race([ctx.waitFor('go'), ctx.sleep(10).then(() => 'late')]),
  'race, the loser has then() and catch()': (ctx) =>
    Promise.race([
      ctx
        .waitFor('go')
        .then(() => 'go')
        .catch(() => 'no'),
      ctx.sleep(10),
    ]),
  'race, the loser is a step': (ctx) => Promise.race([ctx.run(never), ctx.sleep(10)]),
  'any, a step fails and a sleep wins': (ctx) =>
    Promise.any([ctx.waitFor('go'), ctx.run(broken), ctx.sleep(10)]),
  'all, a step fails': (ctx) =>
    Promise.all([ctx.waitFor('go'), ctx.run(broken)]).catch(() => undefined),
  'a deferred promise': (ctx) => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    ctx.waitFor('go').then(resolve, () => undefined)
    ctx.sleep(10).then(resolve, () => undefined)
    return promise
  },
}

for (const [what, race] of Object.entries(races)) {
  test(`G15: the job has its permits after ${what}`, async () => {
    const { clock, kernel } = virtual()
    const hold = Promise.withResolvers<void>()
    const raced = Promise.withResolvers<void>()
    const { graph } = graphOf(async (ctx) => {
      await race(ctx)
      raced.resolve()
      await hold.promise
    })
    const started = await startRun(graph, { kernel, concurrency: 1 })
    await clock.runUntil(raced.promise)
    assert.equal(started.scheduler.stateOf('n'), 'running')
    assert.equal(started.scheduler.stats().running, 1)
    hold.resolve()
    assert.equal((await clock.runUntil(started.result)).ok, true)
  })
}

/** Ways to wait for all: one function for several of them does not make a race. */
const whole: Record<string, (ctx: LoopContext) => Promise<unknown>> = {
  all: (ctx) => Promise.all([ctx.waitFor('go'), ctx.sleep(10)]),
  allSettled: (ctx) => Promise.allSettled([ctx.waitFor('go'), ctx.run(broken)]),
  'all with one function': (ctx) =>
    Promise.all([ctx.waitFor('go').then(String), ctx.sleep(10).then(String)]),
  'all with one function of the job': (ctx) => {
    const text = (value: unknown): string => value as string
    return Promise.all([ctx.waitFor('go').then(text), ctx.sleep(10).then(text)])
  },
  'any, of which one fails': (ctx) => Promise.any([ctx.waitFor('go'), ctx.run(broken)]),
  'one after the other': async (ctx) => {
    const go = ctx.waitFor('go')
    await ctx.sleep(10)
    return go
  },
}

for (const [what, wait] of Object.entries(whole)) {
  test(`G15: the job stays suspended until the signal comes: ${what}`, async () => {
    const { clock, kernel } = virtual()
    const { graph } = graphOf(wait)
    const started = await startRun(graph, { kernel })
    await clock.advance(1_000)
    assert.equal(started.scheduler.stateOf('n'), 'suspended')
    await started.send('go', 'now')
    assert.equal((await clock.runUntil(started.result)).ok, true)
  })
}

test('G15: the signal goes to the wait after the race, also after a restart at any row', async (t) => {
  const { clock, kernel } = virtual()
  const make = (): Graph =>
    graphOf(async (ctx) => {
      const first = await Promise.race([ctx.waitFor('go'), ctx.sleep(10).then(() => 'late')])
      return [first, await ctx.waitFor('go')]
    }).graph
  const open = journals['memory']!
  const journal = await open(t, kernel)
  const started = await startRun(make(), { kernel, journal })
  await clock.advance(100)
  await started.send('go', 'now')
  const result = await clock.runUntil(started.result)
  assert.deepEqual(result.valueOf('n'), ['late', 'now'])
  const history = await historyOf(journal, result.run!)
  const rowOf = (path: string): number =>
    history.findIndex(
      (row) => row.kind === 'part' && row.part.path === path && row.state === 'succeeded',
    )
  const [from, to] = [rowOf('sleep#0'), rowOf('wait:go#1')]
  assert.ok(from >= 0 && to > from + 1)
  for (let rows = from; rows < to; rows++) {
    const other = await open(t, kernel)
    const resume = await cutOff(journal, result.run!, rows + 1, other)
    await other.post!(resume, { kind: 'signal', name: 'go', value: 'again', by: 'test' })
    const resumed = await clock.runUntil(run(make(), { kernel, journal: other, resume }))
    assert.deepEqual(resumed.valueOf('n'), ['late', 'again'], `row ${rows}`)
  }
})

test('G15: a wait that is raced again and again takes the signal', async () => {
  const { clock, kernel } = virtual()
  const { graph, node } = graphOf(async (ctx) => {
    const approval = ctx.waitFor<string>('approval')
    for (let reminders = 0; ; reminders++) {
      const answer = await Promise.race([approval, ctx.sleep(1_000)])
      if (answer !== undefined) return `${answer} after ${reminders}`
    }
  })
  const started = await startRun(graph, { kernel })
  await clock.advance(3_500)
  assert.equal(started.scheduler.stateOf('n'), 'suspended')
  await started.send('approval', 'yes')
  assert.equal((await clock.runUntil(started.result)).of(node), 'yes after 3')
})

test('G15: a wait that lost its race takes a signal that came in between when the job waits for it again', async () => {
  const { clock, kernel } = virtual()
  const hold = Promise.withResolvers<void>()
  const { graph, node } = graphOf(async (ctx) => {
    const go = ctx.waitFor<string>('go')
    await Promise.race([go, ctx.sleep(10)])
    await hold.promise
    return go
  })
  const started = await startRun(graph, { kernel })
  await clock.advance(100)
  await started.send('go', 'kept')
  await clock.advance(100)
  assert.equal(started.scheduler.stateOf('n'), 'running')
  hold.resolve()
  assert.equal((await clock.runUntil(started.result)).of(node), 'kept')
})

test('G13: a wait that was left takes no signal when code that outlives its job listens to it, at any moment', async () => {
  for (let turns = 0; turns <= 30; turns++) {
    const { clock, kernel } = virtual()
    const graph = new Graph()
    let hasHeard = false
    const first = graph.add(
      'first',
      job({ name: 'first' }, async (_: void, ctx) => {
        const go = ctx.waitFor('go')
        await Promise.race([go, ctx.sleep(10)])
        const listen = async (): Promise<void> => {
          for (let turn = 0; turn < turns; turn++) await Promise.resolve()
          await go
          hasHeard = true
        }
        listen().catch(() => undefined)
      }),
    )
    const second = graph.add(
      'second',
      job({ name: 'second' }, (_: void, ctx) => ctx.waitFor<string>('go')),
      { after: [first] },
    )
    const started = await startRun(graph, { kernel })
    await clock.advance(100)
    const text = `${turns} turns after the end of the race`
    assert.equal(started.scheduler.stateOf('first'), 'succeeded', text)
    assert.equal(started.scheduler.stateOf('second'), 'suspended', text)
    assert.equal(started.scheduler.stats().suspended, 1, text)
    await started.send('go', 'for the second')
    assert.equal((await clock.runUntil(started.result)).of(second), 'for the second', text)
    assert.equal(hasHeard, false, text)
    assert.equal(clock.pending, 0, text)
  }
})

test('G13: a kept signal stays for the next wait when code that outlives its job listens to a left one', async () => {
  let listenedLate = 0
  for (let turns = 0; turns <= 30; turns++) {
    const { clock, kernel } = virtual()
    const hold = Promise.withResolvers<void>()
    const graph = new Graph()
    let stateThen = ''
    const first = graph.add(
      'first',
      job({ name: 'first' }, async (_: void, ctx) => {
        const go = ctx.waitFor('go')
        await Promise.race([go, ctx.sleep(10)])
        await hold.promise
        const listen = async (): Promise<void> => {
          for (let turn = 0; turn < turns; turn++) await Promise.resolve()
          stateThen = started.scheduler.stateOf('first')!
          await go
        }
        listen().catch(() => undefined)
      }),
    )
    const second = graph.add(
      'second',
      job({ name: 'second' }, (_: void, ctx) => ctx.waitFor<string>('go', { deadline: 1_000 })),
      { after: [first] },
    )
    const started = await startRun(graph, { kernel })
    await clock.advance(100)
    await started.send('go', 'kept')
    hold.resolve()
    const result = await clock.runUntil(started.result)
    // Before the end of the attempt the wait is one of a job that runs: it may take the signal.
    if (stateThen === 'running') continue
    listenedLate++
    assert.equal(result.of(second), 'kept', `${turns} turns after the job returned`)
  }
  assert.ok(listenedLate > 10, `${listenedLate}`)
})
