import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test, type TestContext } from 'node:test'
import { Graph, job, run, startRun, type Job, type LoopContext, type Run } from '@heddle/core'
import { systemKernel, type Journal, type Kernel } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { cutOff, historyOf, journals } from './kit.ts'

function virtual(): { clock: VirtualClock; kernel: Kernel } {
  const clock = new VirtualClock()
  return { clock, kernel: { ...systemKernel, clock } }
}

/** A graph with one loop job. */
function only(run_: (context: LoopContext) => Promise<unknown>, options: object = {}): Graph {
  const graph = new Graph()
  graph.add(
    'flow',
    job({ name: 'flow', ...options }, (_: void, context) => run_(context)),
  )
  return graph
}

const plus: Job<number, number> = job({ name: 'plus' }, (n: number) => n + 1)

const day = 24 * 60 * 60 * 1_000

test('G4: a suspended job holds no permit: steps run with a concurrency of 1, several at a time', async () => {
  const flow = only(async (ctx) => {
    const first = await ctx.run(plus, 1)
    const both = await Promise.all([ctx.run(plus, first), ctx.run(plus, 10)])
    return [first, ...both]
  })
  const result = await run(flow, { concurrency: 1 })
  assert.deepEqual(result.valueOf('flow'), [2, 3, 11])
})

test('G4: steps have retries, timeouts and needs of their own', async () => {
  const { clock, kernel } = virtual()
  const flaky = job({ name: 'flaky', retries: 2, needs: { db: 1 } }, (_: void, { attempt }) => {
    if (attempt < 2) throw new Error('again')
    return attempt
  })
  const stuck = job(
    { name: 'stuck', timeout: 50 },
    (_: void, { signal }) =>
      new Promise((_done, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error)),
      ),
  )
  const flow = only(async (ctx) => {
    const attempt = await ctx.run(flaky)
    const code = await ctx.run(stuck).catch((error: { code: string }) => error.code)
    return [attempt, code]
  })
  const result = await clock.runUntil(run(flow, { kernel, resources: { db: 1 } }))
  assert.deepEqual(result.valueOf('flow'), [2, 'HDL_TIMEOUT'])
})

test('G11: a sleep of three days holds nothing but its place in one timer; explain() says until when', async () => {
  const { clock, kernel } = virtual()
  const graph = new Graph()
  const sleeper = job({ name: 'sleeper', timeout: 1_000 }, (_: void, ctx) => ctx.sleep(3 * day))
  for (let index = 0; index < 100; index++) graph.add(`sleeper ${index}`, sleeper)
  const started = await startRun(graph, { kernel, concurrency: 1 })
  await clock.advance(1_000)
  const { suspended, running } = started.scheduler.stats()
  assert.deepEqual({ suspended, running }, { suspended: 100, running: 0 })
  assert.ok(clock.pending <= 2, `${clock.pending} timers`)
  assert.equal(started.scheduler.explain('sleeper 7').text, 'sleeps until 2026-01-04 00:00:00')
  const result = await clock.runUntil(started.result)
  assert.equal(result.ok, true)
  assert.equal(clock.now(), 3 * day)
  assert.equal(clock.pending, 0)
})

test('a result that cannot be stored is named with its step, and a missing signal with the repair', async (t) => {
  const { clock, kernel } = virtual()
  const journal = await journals['memory']!(t)
  const graph = new Graph()
  const broken = job({ name: 'broken' }, () => () => 1)
  graph.add(
    'flow',
    job({ name: 'flow' }, (_: void, ctx) => ctx.run(broken).then(() => 1)),
  )
  graph.add(
    'order',
    job({ name: 'order' }, (_: void, ctx) => ctx.waitFor('approval', { deadline: 10 })),
  )
  const result = await clock.runUntil(run(graph, { kernel, journal }))
  const messages = [...result.failed].map(([name, error]) => [name, (error as Error).message])
  assert.deepEqual(Object.fromEntries(messages), {
    flow: 'The value of "flow run:broken#0" cannot be stored: it is a function.',
    order: 'The wait for the signal "approval" timed out after 10 ms.',
  })
})

test('finished steps stand for later attempts, with and without a journal', async (t) => {
  for (const journal of [undefined, await journals['memory']!(t)]) {
    let calls = 0
    const count = job({ name: 'count' }, () => ++calls)
    const flow = only(
      async (ctx) => {
        const got = await ctx.run(count)
        if (ctx.attempt < 2) throw new Error('again')
        return got
      },
      { retries: 2 },
    )
    const result = await run(flow, { retryBaseDelay: 0, ...(journal && { journal }) })
    assert.equal(result.valueOf('flow'), 1)
    assert.equal(calls, 1)
  }
})

test('a failed step is tried again by the next attempt, and stands when the attempt was interrupted', async (t) => {
  let calls = 0
  const fails = job({ name: 'fails' }, () => {
    if (++calls < 3) throw new Error(`call ${calls}`)
    return calls
  })
  const retried = only((ctx) => ctx.run(fails), { retries: 5 })
  assert.equal((await run(retried, { retryBaseDelay: 0 })).valueOf('flow'), 3)

  calls = 0
  const undo = job({ name: 'undo' }, () => 'undone')
  const caught = (): Graph =>
    only((ctx) =>
      ctx.run(fails).catch(async (error: Error) => `${error.message} ${await ctx.run(undo)}`),
    )
  const whole = await journals['memory']!(t)
  const { run: id } = await run(caught(), { journal: whole })
  const history = await historyOf(whole, id!)
  const failedAt = history.findIndex((row) => row.kind === 'part' && row.state === 'failed')
  const crashed = await journals['memory']!(t)
  const again = await cutOff(whole, id!, failedAt + 1, crashed)
  const result = await run(caught(), { journal: crashed, resume: again })
  assert.equal(calls, 1)
  assert.equal(result.valueOf('flow'), 'call 1 undone')
})

test('G8: another job or input under a recorded step is refused; a key keeps a step in another order', async (t) => {
  const whole = await journals['memory']!(t)
  const other = job({ name: 'other' }, (n: number) => n)
  const { run: id } = await run(
    only(async (ctx) => {
      await ctx.run(plus, 1)
      await ctx.run(plus, 2, { key: 'second' })
    }),
    { journal: whole },
  )
  const history = await historyOf(whole, id!)
  const end = history.findLastIndex((row) => row.kind === 'part') + 1
  const resumed = async (flow: Graph): Promise<{ code?: string; message?: string }> => {
    const crashed = await journals['memory']!(t)
    const again = await cutOff(whole, id!, end, crashed)
    const result = await run(flow, { journal: crashed, resume: again })
    return result.failed.get('flow') ?? {}
  }
  const input = await resumed(only((ctx) => ctx.run(plus, 5)))
  assert.equal(input.code, 'HDL_STEP_CHANGED')
  assert.match(input.message!, /recorded with another input, and is now called with 5\./)
  const keyed = await resumed(only((ctx) => ctx.run(other, 2, { key: 'second' })))
  assert.equal(keyed.code, 'HDL_STEP_CHANGED')
  assert.match(keyed.message!, /the job "plus", and is now called with "other"/)
  const swapped = await resumed(
    only(async (ctx) => {
      assert.equal(await ctx.run(plus, 2, { key: 'second' }), 3)
      assert.equal(await ctx.run(plus, 1), 2)
    }),
  )
  assert.deepEqual(swapped, {})
})

test('a key that is used twice, steps after the end, and steps of a bare scheduler are refused', async () => {
  let late: Promise<unknown> | undefined
  const flow = only(async (ctx) => {
    await ctx.run(plus, 1, { key: 'k' })
    const twice = await ctx
      .run(plus, 1, { key: 'k' })
      .catch((error: { code: string }) => error.code)
    setImmediate(() => {
      late = ctx.run(plus, 1)
      late.catch(() => undefined)
    })
    return twice
  })
  const result = await run(flow)
  assert.equal(result.valueOf('flow'), 'HDL_BAD_OPTION')
  await new Promise<void>((resolve) => setImmediate(resolve))
  await assert.rejects(late!, { code: 'HDL_NO_STEPS' })
})

test('steps that a job does not wait for are stopped when it returns', async () => {
  let aborted = false
  const slow = job(
    { name: 'slow' },
    (_: void, { signal }) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => {
          aborted = true
          resolve(undefined)
        }),
      ),
  )
  const flow = only(async (ctx) => {
    ctx.run(slow).catch(() => undefined)
    await ctx.run(plus, 1)
  })
  const result = await run(flow)
  assert.equal(result.ok, true)
  assert.equal(aborted, true)
})

test('ctx.idempotencyKey is the same in each attempt, and names node, element and step', async (t) => {
  const keys: string[] = []
  const note = job({ name: 'note', retries: 1 }, (_: unknown, ctx) => {
    keys.push(ctx.idempotencyKey)
    if (ctx.attempt === 0) throw new Error('again')
  })
  const graph = new Graph()
  const first = graph.add('first', note)
  const flow = graph.add(
    'flow',
    job({ name: 'flow' }, (_: void, ctx) => ctx.run(note, undefined)),
    { after: [first] },
  )
  graph.map('all', note, { over: () => [1], after: [flow] })
  graph.add('a name with spaces', note, { after: ['all'] })
  const { run: id } = await run(graph, { journal: await journals['memory']!(t), retryBaseDelay: 0 })
  const own = [`${id}/first`, `${id}/flow/run:note#0`, `${id}/all[0]`]
  assert.deepEqual(
    keys.slice(0, 6),
    own.flatMap((key) => [key, key]),
  )
  assert.match(keys[6]!, /^[\x21-\x7e]{20,200}$/)
})

test('no two pieces of work have one idempotency key, and none owns an artifact of the other', async (t) => {
  const journal = await journals['memory']!(t)
  const keys: string[] = []
  const note = job({ name: 'k' }, async (_: unknown, ctx) => {
    keys.push(ctx.idempotencyKey)
    await ctx.artifact('taken', 'text').catch(() => undefined)
  })
  const graph = new Graph()
  const steps = job({ name: 'steps' }, (_: void, ctx) => ctx.run(note, undefined))
  graph.map('m', note, { over: () => [1] })
  graph.add('m[0]', note, { after: ['m'] })
  graph.add('n', steps, { after: ['m[0]'] })
  graph.add('n/run:k#0', note, { after: ['n'] })
  graph.add('n run:k#0', note, { after: ['n/run:k#0'] })
  graph.add('build:web', note, { after: ['n run:k#0'] })
  const { run: id } = await run(graph, { journal })
  assert.equal(new Set(keys).size, 6)
  assert.deepEqual(
    [keys[0], keys[2], keys[5]],
    [`${id}/m[0]`, `${id}/n/run:k#0`, `${id}/build:web`],
  )
  for (const [first, second] of [
    ['m', 'm[0]'],
    ['n', 'n run:k#0'],
  ] as const) {
    const names = new Graph()
    const write = job(
      { name: 'k' },
      async (_: unknown, ctx) => void (await ctx.artifact('a', first)),
    )
    if (first === 'm') names.map(first, write, { over: () => [1] })
    else
      names.add(
        first,
        job({ name: 'steps' }, (_: void, ctx) => ctx.run(write, undefined)),
      )
    names.add(second, write, { after: [first] })
    const result = await run(names, { journal })
    assert.equal((result.failed.get(second) as { code: string }).code, 'HDL_ARTIFACT_TAKEN')
  }
})

test('a job that wakes takes its permits again and no start of a rate; a retry takes one', async () => {
  const { clock, kernel } = virtual()
  const starts: number[] = []
  const flow = only(
    async (ctx) => {
      starts.push(clock.now())
      for (let times = 0; times < 6; times++) await ctx.sleep(5)
      if (ctx.attempt < 2) throw new Error('again')
    },
    { needs: { api: 1, db: 1 }, retries: 2, retryBaseDelay: 0 },
  )
  const resources = { api: { limit: 2, per: 1_000 }, db: 1 }
  const result = await clock.runUntil(run(flow, { kernel, resources }))
  assert.equal(result.ok, true)
  assert.deepEqual(starts, [0, 30, 1_000])
  assert.equal(clock.now(), 1_000)
})

/** Sends a signal and waits until it was delivered. */
async function send(journal: Journal, { id }: Run, name: string, value: unknown): Promise<void> {
  await journal.post!(id!, { kind: 'signal', name, value, by: 'a test' })
}

test('G9: signals are delivered in order, each to one wait, also those sent before the wait', async (t) => {
  const { clock, kernel } = virtual()
  const journal = await journals['memory']!(t, kernel)
  const graph = new Graph()
  const approve = job({ name: 'approve' }, (_: void, ctx) => ctx.waitFor('approval'))
  graph.add('one', approve)
  graph.add('two', approve)
  const later = job({ name: 'later' }, async (_: void, ctx) => [
    await ctx.waitFor('early'),
    await ctx.waitFor('early'),
  ])
  graph.add('later', later, { after: ['one'] })
  const started = await startRun(graph, { kernel, journal })
  await clock.settle()
  assert.equal(started.scheduler.explain('one').text, 'waits for the signal "approval"')
  await send(journal, started, 'early', 1)
  await send(journal, started, 'early', 2)
  await send(journal, started, 'approval', { yes: true })
  await clock.settle()
  assert.equal(started.scheduler.stateOf('two'), 'suspended')
  await send(journal, started, 'approval', { yes: false })
  const result = await clock.runUntil(started.result)
  assert.deepEqual(result.valueOf('one'), { yes: true })
  assert.deepEqual(result.valueOf('two'), { yes: false })
  assert.deepEqual(result.valueOf('later'), [1, 2])
  assert.equal(clock.pending, 0)
})

test('a wait ends at its deadline, counted from its first call, also over a restart', async (t) => {
  const { clock, kernel } = virtual()
  const flow = (): Graph =>
    only((ctx) =>
      ctx.waitFor('approval', { deadline: day }).catch((error: { code: string }) => error.code),
    )
  const journal = await journals['memory']!(t, kernel)
  const started = await startRun(flow(), { kernel, journal })
  await clock.advance(day / 2)
  const crashed = await journals['memory']!(t, kernel)
  const rows = (await historyOf(journal, started.id!)).length
  const again = await cutOff(journal, started.id!, rows, crashed)
  const resumed = await startRun(flow(), { kernel, journal: crashed, resume: again })
  const result = await clock.runUntil(resumed.result)
  assert.equal(result.valueOf('flow'), 'HDL_TIMEOUT')
  assert.equal(clock.now(), day)
  await clock.runUntil(started.result)
})

test('a graceful cancel ends sleeps and waits, lets a step finish, and the run can be resumed', async (t) => {
  const { clock, kernel } = virtual()
  const journal = await journals['memory']!(t, kernel)
  const calls: string[] = []
  const slow = job({ name: 'slow' }, async () => {
    calls.push('slow')
    await new Promise<void>((resolve) => clock.setTimer(10, resolve))
    return 'slow'
  })
  const make = (): Graph => {
    const graph = new Graph()
    graph.add(
      'sleeps',
      job({ name: 'sleeps' }, (_: void, ctx) => ctx.sleep(day)),
    )
    graph.add(
      'waits',
      job({ name: 'waits' }, (_: void, ctx) => ctx.waitFor('go')),
    )
    graph.add(
      'works',
      job({ name: 'works' }, (_: void, ctx) => ctx.run(slow)),
    )
    return graph
  }
  const started = await startRun(make(), { kernel, journal })
  await clock.advance(5)
  started.scheduler.cancel()
  const result = await clock.runUntil(started.result)
  assert.deepEqual(result.cancelled.toSorted(), ['sleeps', 'waits'])
  assert.equal(result.valueOf('works'), 'slow')
  assert.equal(clock.now(), 10)
  const resumed = await startRun(make(), { kernel, journal, resume: started.id! })
  await clock.settle()
  await send(journal, resumed, 'go', 'gone')
  const last = await clock.runUntil(resumed.result)
  assert.equal(last.ok, true)
  assert.equal(last.valueOf('waits'), 'gone')
  assert.deepEqual(calls, ['slow'])
  assert.equal(clock.now(), day)
})

test('aborting the run ends every wait at once', async () => {
  const { clock, kernel } = virtual()
  const controller = new AbortController()
  const graph = only((ctx) => Promise.all([ctx.sleep(day), ctx.waitFor('never'), ctx.run(plus, 1)]))
  const running = run(graph, { kernel, signal: controller.signal })
  await clock.settle()
  controller.abort()
  const result = await clock.runUntil(running)
  assert.deepEqual(result.cancelled, ['flow'])
  assert.equal(clock.pending, 0)
})

/** All there is: steps in order and at once, with keys, sleeps, signals, nested steps, steps of elements. */
function everything(calls: string[]): Graph {
  const count = (name: string): Job<number, string> =>
    job({ name }, (n: number) => {
      calls.push(`${name} ${n}`)
      return `${name} ${n}`
    })
  const inner = job({ name: 'inner' }, async (n: number, ctx) => [
    await ctx.run(count('leaf'), n),
    await ctx.run(count('leaf'), n + 1),
  ])
  const flow = job({ name: 'flow' }, async (_: void, ctx) => {
    const first = await ctx.run(count('a'), 1)
    await ctx.sleep(1_000)
    const both = await Promise.all([ctx.run(count('a'), 2), ctx.run(count('b'), 3, { key: 'x/y' })])
    const signal = await ctx.waitFor('go')
    const nested = await ctx.run(inner, 5)
    return [first, ...both, signal, nested]
  })
  const graph = new Graph()
  graph.add('flow', flow)
  graph.map('all', inner, { over: () => [10, 20], window: 2 })
  return graph
}

const expected = {
  flow: ['a 1', 'a 2', 'b 3', 'gone', ['leaf 5', 'leaf 6']],
  all: [
    ['leaf 10', 'leaf 11'],
    ['leaf 20', 'leaf 21'],
  ],
}

async function finish(
  graph: Graph,
  journal: Journal,
  clock: VirtualClock,
  kernel: Kernel,
  resume?: string,
): Promise<string> {
  const started = await startRun(graph, {
    kernel,
    journal,
    concurrency: 2,
    ...(resume !== undefined && { resume }),
  })
  await journal.post!(started.id!, {
    kind: 'signal',
    name: 'go',
    value: 'gone',
    by: 'a test',
  }).catch(() => undefined)
  const result = await clock.runUntil(started.result)
  assert.equal(result.ok, true)
  assert.deepEqual({ flow: result.valueOf('flow'), all: result.valueOf('all') }, expected)
  return started.id!
}

test('G3: cut off after any row, finished steps never run again and everything is completed', async (t: TestContext) => {
  const { clock, kernel } = virtual()
  const whole = await journals['memory']!(t, kernel)
  const calls: string[] = []
  const id = await finish(everything(calls), whole, clock, kernel)
  const history = await historyOf(whole, id)
  for (let cut = 2; cut < history.length; cut++) {
    const crashed = await journals['memory']!(t, kernel)
    const again = await cutOff(whole, id, cut, crashed)
    const done = history
      .slice(0, cut)
      .flatMap((row) => (row.kind === 'part' && row.state === 'succeeded' ? [row.part.job] : []))
      .filter((name) => name !== undefined && name !== 'inner')
    calls.length = 0
    await finish(everything(calls), crashed, clock, kernel, again)
    assert.equal(calls.length, 9 - done.length, `cut ${cut}: ${calls.join()}`)
  }
})

/** A job that runs itself as a step, this many levels deep. */
function nesting(levels: number, onLeaf: () => void): Graph {
  const deep: Job<number, number> = job({ name: 'deep' }, async (left: number, ctx) => {
    if (left > 0) return (await ctx.run(deep, left - 1)) + 1
    onLeaf()
    return 0
  })
  const graph = new Graph()
  graph.add('flow', deep, { input: levels })
  return graph
}

test('the names of 3,000 steps inside one another take less than a megabyte in the journal', async (t) => {
  const journal = await journals['memory']!(t)
  const result = await run(
    nesting(3_000, () => {}),
    { journal },
  )
  assert.equal(result.valueOf('flow'), 3_000)
  const paths = (await historyOf(journal, result.run!)).flatMap((row) =>
    row.kind === 'part' ? [row.part.path] : [],
  )
  assert.equal(new Set(paths).size, 3_000)
  const characters = paths.reduce((sum, path) => sum + path.length, 0)
  assert.ok(characters < 1_000_000, `${characters} characters`)
})

for (const [name, open] of Object.entries(journals)) {
  test(`G3, ${name}: steps inside one another are found on resume, also under the paths of earlier versions`, async (t) => {
    const levels = 120
    const whole = await open(t)
    const { run: id } = await run(
      nesting(levels, () => {}),
      { journal: whole },
    )
    const history = await historyOf(whole, id!)
    const leaf = history.findIndex((row) => row.kind === 'part' && row.state === 'succeeded')
    // The innermost step succeeds first.
    let depth = levels
    const renamed = history.map((row) => {
      if (row.kind !== 'part') return row
      const path = Array.from({ length: depth-- }, () => 'run:deep#0').join('/')
      return { ...row, part: { ...row.part, path } }
    })
    assert.equal(depth, 0)
    assert.equal((renamed[leaf] as { part: { path: string } }).part.path.length, 120 * 11 - 1)
    const older: Pick<Journal, 'history' | 'results' | 'parts' | 'snapshot'> = {
      history: () => Readable.from(renamed) as AsyncIterable<never>,
      results: (...given) => whole.results(...given),
      parts: (...given) => whole.parts(...given),
      snapshot: (...given) => whole.snapshot(...given),
    }
    for (const from of [whole, older as Journal]) {
      for (const rows of [leaf + 1, leaf + 60, leaf + levels]) {
        const crashed = await open(t)
        const again = await cutOff(from, id!, rows, crashed)
        let leaves = 0
        const graph = nesting(levels, () => leaves++)
        const result = await run(graph, { journal: crashed, resume: again })
        assert.equal(result.valueOf('flow'), levels)
        assert.equal(leaves, 0, `${rows - leaf} steps had succeeded`)
      }
    }
  })
}
