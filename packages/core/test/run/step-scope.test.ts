import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, isError, job, run, type LoopContext } from '@heddle/core'
import { systemKernel } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'

const leaf = job({ name: 'leaf' }, () => 'leaf')

/** A graph with one loop job. */
function only(body: (context: LoopContext) => Promise<unknown>, options: object = {}): Graph {
  const graph = new Graph()
  graph.add(
    'flow',
    job({ name: 'flow', ...options }, (_: void, context) => body(context)),
  )
  return graph
}

/** A step whose function is `body`. */
const stepOf = (body: (inner: LoopContext) => Promise<unknown>) =>
  job({ name: 'inner' }, (_: void, inner) => body(inner))

const calls: Readonly<Record<string, (ctx: LoopContext) => Promise<unknown>>> = {
  run: (ctx) => ctx.run(leaf),
  sleep: (ctx) => ctx.sleep(1),
  waitFor: (ctx) => ctx.waitFor('go'),
}
for (const [step, call] of Object.entries(calls)) {
  for (const concurrency of [1, 5]) {
    test(`G16: a step that calls ctx.${step}() of the job that waits for it fails at once, concurrency ${concurrency}`, async () => {
      const clock = new VirtualClock()
      const flow = only((ctx) => ctx.run(stepOf(() => call(ctx))))
      const running = run(flow, { concurrency, kernel: { ...systemKernel, clock } })
      const result = await clock.runUntil(running)
      const error = result.failed.get('flow')
      assert.ok(isError(error, 'HDL_STEP_OF_OUTER_JOB'), String(error))
      assert.equal(
        error.message,
        `The step "run:inner#0" of "flow" called ctx.${step}() of a job that waits for it.`,
      )
      assert.equal(clock.now(), 0)
    })
  }
}

test('G16: also after an await, from a step inside a step, and through a callback of the outer job', async () => {
  const turn = () => new Promise<void>((done) => setImmediate(done))
  const flows: Readonly<Record<string, (ctx: LoopContext) => Promise<unknown>>> = {
    'after an await': (ctx) =>
      ctx.run(
        stepOf(async () => {
          await turn()
          return ctx.run(leaf)
        }),
      ),
    'from a step inside a step': (ctx) =>
      ctx.run(stepOf((inner) => inner.run(stepOf(() => ctx.run(leaf))))),
    'through a callback': (ctx) => {
      const onFound = () => ctx.run(leaf)
      return ctx.run(stepOf(() => Promise.resolve().then(onFound)))
    },
  }
  for (const [what, body] of Object.entries(flows)) {
    const result = await run(only(body, { retries: 2 }), { concurrency: 1 })
    assert.ok(isError(result.failed.get('flow'), 'HDL_STEP_OF_OUTER_JOB'), what)
  }
})

test('G16: a step may use its own context, and runs that it starts are runs of their own', async () => {
  const flow = only(async (ctx) => {
    const own = await ctx.run(stepOf((inner) => inner.run(leaf)))
    const other = await ctx.run(
      stepOf(async () => {
        const result = await run(
          only((context) => context.run(stepOf((inner) => inner.run(leaf)))),
          { concurrency: 1 },
        )
        return result.valueOf('flow')
      }),
    )
    const chained = await Promise.all([
      ctx.run(leaf),
      ctx.run(leaf).then(() => ctx.run(stepOf((inner) => inner.run(leaf)))),
    ])
    return [own, other, ...chained]
  })
  const result = await run(flow, { concurrency: 1 })
  assert.deepEqual(result.valueOf('flow'), ['leaf', 'leaf', 'leaf', 'leaf'])
})

test('G16: an attempt that begins while a step of the last one still runs makes its own steps', async () => {
  const late = Promise.withResolvers<void>()
  const flow = only(
    async (ctx) => {
      if (ctx.attempt > 0) {
        const made = await ctx.run(leaf)
        late.resolve()
        return made
      }
      const slow = ctx.run(
        stepOf(async (inner) => {
          await inner.run(leaf)
          await late.promise
        }),
      )
      await Promise.race([slow, ctx.run(leaf)])
      throw new Error('again')
    },
    { retries: 1, retryBaseDelay: 0 },
  )
  const result = await run(flow, { concurrency: 5 })
  assert.equal(result.valueOf('flow'), 'leaf')
})
