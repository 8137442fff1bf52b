/**
 * Random lives of a service: in whatever order requests come, go, end and fail, at the end nothing
 * is left and every caller was answered once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { HeddleError, type ErrorCode } from '@heddle/core'
import { seededRandom, type Random } from '@heddle/core/lowlevel'
import { StoreLedger } from '../../src/jobs/store-ledger.ts'
import type { Answer } from '../support/bench.ts'
import { serveJob, type ItemInput } from '../../src/jobs/served-job.ts'
import { Bench, type Asking } from '../support/bench.ts'
import { Gate, type Gated } from '../support/gates.ts'
import { told, type Told } from '../support/told.ts'

const jobs = ['one', 'two', 'kept'] as const
type JobName = (typeof jobs)[number]

const asking = {
  job: fc.constantFrom(...jobs, 'two' as const),
  input: fc.constantFrom(0, 0, 0, 1),
  index: fc.integer({ min: -2, max: 0 }),
  request: fc.option(fc.constantFrom('r1', 'r2', 'r3'), { nil: undefined }),
  slot: fc.option(fc.constantFrom('left', 'right'), { nil: undefined }),
  priority: fc.constantFrom(0, 1, 3),
  force: fc.boolean(),
  wait: fc.constantFrom(0, 5, 500),
  deadline: fc.constantFrom(1, 20, 10_000),
  isGone: fc.constantFrom(false, false, false, true),
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('compute' as const), ...asking }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('acknowledge' as const), ...asking }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('result' as const), ...asking }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('leave' as const), who: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), who: fc.nat(20) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('finish' as const), which: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fail' as const), which: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), time: fc.nat(30) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('forget' as const),
      job: asking.job,
      input: asking.input,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('flush' as const) }) },
)

/** What may happen between two steps: nothing, some reactions, or everything that needs no time. */
const pause = fc.constantFrom(0, 1, 2, 3, 5, 8, 13, 'turn' as const, 'settle' as const)

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

interface Request {
  readonly id: string
  readonly handle: string
  readonly slot: string | undefined
  readonly answer: Told<Answer>
  readonly client: AbortController
  readonly isSubmit: boolean
  /** The errors that it may get. */
  readonly mayBe: Set<ErrorCode | undefined>
  /** Cancelled by its id or by its slot. */
  isCancelled: boolean
}

class Life {
  readonly bench: Bench
  readonly requests: Request[] = []
  readonly #gates: readonly Gate[]
  readonly #over = new Map<unknown, Gated<unknown>>()
  /** The last submit of each handle. */
  readonly #latest = new Map<string, Request>()
  readonly #late: string[] = []
  #isDraining = false
  #ids = 0

  constructor(bench: Bench, gates: readonly Gate[]) {
    this.bench = bench
    this.#gates = gates
    // W7. Not asserted here: an error of the store is only counted.
    bench.store.onKeep = (value) => {
      const made = this.#over.get(value)
      if (made?.context.cancelled !== false)
        this.#late.push(`${made?.context.name} was told to stop`)
    }
  }

  async take(one: Step): Promise<void> {
    switch (one.do) {
      case 'compute':
      case 'acknowledge':
      case 'result':
        return this.#ask(one)
      case 'leave':
        return this.#leave(this.requests[one.who])
      case 'cancel':
        return this.#cancel(this.requests[one.who])
      case 'finish':
      case 'fail':
        return this.#settle(this.#running[one.which], one.do === 'finish')
      case 'pass':
        return this.bench.clock.advance(one.time)
      case 'forget':
        return void this.bench.service.computations.forget(this.bench.handle(one.job, one.input))
      case 'flush':
        return void this.bench.service.forgetAll()
    }
  }

  #ask(one: Extract<Step, { do: 'compute' | 'acknowledge' | 'result' }>): void {
    const { job, input, isGone, index, ...rest } = one
    const handle = this.bench.handle(job, input)
    const client = new AbortController()
    if (isGone && index === 0) client.abort()
    const id = one.request ?? `request ${++this.#ids}`
    const how: Asking = {
      ...rest,
      index: job === 'one' ? 0 : index,
      request: id,
      disconnect: client.signal,
      slot: one.do === 'result' ? undefined : one.slot,
    }
    const asked =
      one.do === 'result' ? this.bench.result(handle, how) : this.bench[one.do](job, input, how)
    const mayBe = new Set<ErrorCode | undefined>(always)
    if (this.#isDraining) mayBe.add('HDL_DRAINING')
    if (one.do === 'result') mayBe.add('HDL_UNKNOWN_RESULT')
    for (const other of this.requests) {
      if (other.id !== id) continue
      // The first reader of the store may be the second to finish.
      other.mayBe.add('HDL_REQUEST_EXISTS')
      mayBe.add('HDL_REQUEST_EXISTS')
    }
    if (client.signal.aborted) mayBe.add('HDL_CANCELLED')
    const { slot } = how
    const isSubmit = one.do !== 'result'
    const request: Request = {
      id,
      handle,
      slot,
      answer: told(asked),
      client,
      isSubmit,
      mayBe,
      isCancelled: false,
    }
    for (const other of this.requests) {
      if (slot === undefined || other.slot !== slot) continue
      other.isCancelled = true
      other.mayBe.add('HDL_SUPERSEDED')
    }
    this.requests.push(request)
    if (one.do === 'result') return
    this.#latest.set(handle, request)
  }

  #leave(request: Request | undefined): void {
    request?.mayBe.add('HDL_CANCELLED')
    request?.client.abort()
  }

  #cancel(request: Request | undefined): void {
    if (request === undefined) return
    try {
      this.bench.service.cancel('default', request.id)
      for (const other of this.requests) {
        if (other.id !== request.id) continue
        other.isCancelled = true
        other.mayBe.add('HDL_CANCELLED')
      }
    } catch (error) {
      assert.ok(error instanceof HeddleError && error.code === 'HDL_UNKNOWN_REQUEST')
    }
  }

  get #running(): readonly Gated<unknown>[] {
    const over = new Set(this.#over.values())
    return this.#gates.flatMap(({ starts }) => starts).filter((one) => !over.has(one))
  }

  #settle(one: Gated<unknown> | undefined, isSuccess: boolean): void {
    if (one === undefined) return
    const value = `${one.context.name} #${this.#over.size}`
    this.#over.set(value, one)
    if (isSuccess) one.finish(value)
    else one.fail(new Error('not today'))
  }

  /** W1: a handle has at most one running computation that was not asked to stop. */
  assertOneEach(): void {
    const seen = new Set<string>()
    for (const { context } of this.#running) {
      if (context.cancelled) continue
      assert.ok(!seen.has(context.name), `two computations of ${context.name}`)
      seen.add(context.name)
    }
  }

  /** Lets everything end. */
  async end(): Promise<void> {
    const { clock, service } = this.bench
    for (let round = 0; round < 50; round++) {
      await clock.settle()
      for (const one of this.#running) this.#settle(one, true)
      await clock.settle()
      await clock.advance(1_000)
      const { works, registry } = service.stats()
      const isPending = this.requests.some(({ answer }) => answer.state === 'pending')
      if (works === 0 && registry.active === 0 && !isPending) break
    }
    // The grace of the stopped work, and the timers of the callers that left.
    await clock.advance(10_000)
  }

  /** W2: once, and with the outcome of this request and not of another. */
  assertToldOnce(hasForgotten: boolean): void {
    for (const { id, answer, mayBe } of this.requests) {
      assert.equal(answer.times, 1, `${id} was told ${answer.times} times`)
      const code = answer.error instanceof HeddleError ? answer.error.code : undefined
      if (hasForgotten && code === 'HDL_GONE') continue
      assert.ok(mayBe.has(code), `${id} was told ${String(answer.error)}`)
    }
  }

  /** From now on any caller may get the answer that the server is draining. */
  mayDrain(): void {
    this.#isDraining = true
    for (const { mayBe } of this.requests) mayBe.add('HDL_DRAINING')
  }

  /** W5: promised work that was not cancelled is in the ledger. */
  async assertWrittenDown(): Promise<void> {
    const { journal } = this.bench
    const written = new Set<unknown>()
    for (const { id } of await journal.runs()) {
      written.add((await journal.snapshot(id)).options['handle'])
    }
    for (const { id, handle, answer, isCancelled, isSubmit } of this.requests) {
      const isPromised = isSubmit && answer.value?.isDone === false
      if (isPromised && !isCancelled) assert.ok(written.has(handle), `${id} is not written down`)
    }
  }

  /** W7. */
  assertNothingLate(): void {
    assert.deepEqual(this.#late, [])
  }

  /** W4: acknowledged work that was neither cancelled nor begun again is there or has failed. */
  async assertKept(hasForgotten: boolean): Promise<void> {
    if (hasForgotten) return
    for (const [handle, { answer, isCancelled }] of this.#latest) {
      if (answer.state !== 'fulfilled' || isCancelled) continue
      const found = told(this.bench.result(handle))
      await this.bench.clock.settle()
      if (found.state === 'pending') await this.end()
      const code = found.error instanceof HeddleError ? found.error.code : undefined
      assert.ok(!lost.includes(code), `${handle}: ${String(found.error)}`)
    }
  }
}

/** Whatever else happens. */
const always: readonly (ErrorCode | undefined)[] = [
  undefined,
  'HDL_TIMEOUT',
  'HDL_OVERLOADED',
  'HDL_STORE_FAILED',
]

const lost: readonly (ErrorCode | undefined)[] = [
  'HDL_UNKNOWN_RESULT',
  'HDL_CANCELLED',
  'HDL_SUPERSEDED',
]

function served(): { gates: Gate[]; list: unknown[] } {
  const one = new Gate('one')
  const load = new Gate('load')
  const plot = new Gate<ItemInput<unknown>>('plot')
  const kept = new Gate('kept load')
  const keptPlot = new Gate<ItemInput<unknown>>('kept plot')
  return {
    gates: [one, load, plot as Gate, kept, keptPlot as Gate],
    list: [
      one.job,
      serveJob({ name: 'two', prepare: load.job, item: plot.job, total: 3 }),
      serveJob({
        name: 'kept' satisfies JobName,
        prepare: kept.job,
        item: keptPlot.job,
        total: 3,
        whenAbandoned: 'keep',
      }),
    ],
  }
}

/** A disk that takes its time: as many turns as chance says. */
async function slowly(random: Random): Promise<void> {
  const turns = Math.floor(random.next() * 12)
  for (let turn = 0; turn < turns; turn++) await Promise.resolve()
  const rounds = Math.floor(random.next() * 8)
  for (let round = 4; round < rounds; round++) await new Promise((done) => setImmediate(done))
}

class SlowLedger extends StoreLedger {
  random: Random = seededRandom(1)

  override async acknowledge(
    ...args: Parameters<StoreLedger['acknowledge']>
  ): ReturnType<StoreLedger['acknowledge']> {
    await slowly(this.random)
    if (this.random.next() < 0.1) {
      throw new HeddleError('HDL_STORE_FAILED', { store: 'x', action: 'write', cause: 'full' })
    }
    return super.acknowledge(...args)
  }
}

type Steps = readonly (readonly [Step, 'turn' | 'settle' | number])[]

const life = {
  steps: fc.array(fc.tuple(step, pause), { maxLength: 40 }),
  seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  isSlow: fc.boolean(),
}

async function begin(seed: number, isSlow: boolean): Promise<Life> {
  const { gates, list } = served()
  const random = seededRandom(seed)
  const bench = await Bench.open(list, {
    loop: { permits: 1, reserved: 1 },
    capacity: 8,
    itemCapacity: 4,
    queue: 60,
    prepare: 100,
    item: 100,
    seed,
    ledger: (options) =>
      isSlow ? Object.assign(new SlowLedger(options), { random }) : new StoreLedger(options),
  })
  if (isSlow) bench.store.pace = () => slowly(random)
  return new Life(bench, gates)
}

async function live(of: Life, steps: Steps): Promise<void> {
  for (const [one, after] of steps) {
    await of.take(one)
    if (after === 'settle') await of.bench.clock.settle()
    else if (after === 'turn') await new Promise((done) => setImmediate(done))
    else for (let turn = 0; turn < after; turn++) await Promise.resolve()
    of.assertOneEach()
  }
}

function forgets(steps: Steps): boolean {
  return steps.some(([{ do: what }]) => what === 'forget' || what === 'flush')
}

test('W1 W2 W3 W4 W7 any events in any order: each request is answered once, accounted for, nothing left', async () => {
  await fc.assert(
    fc.asyncProperty(life.steps, life.seed, life.isSlow, async (steps, seed, isSlow) => {
      const one = await begin(seed, isSlow)
      const { bench } = one
      await live(one, steps)
      await one.end()
      one.assertToldOnce(forgets(steps))
      one.assertNothingLate()
      bench.assertNothingLeft()
      const open = (await bench.journal.runs()).filter(
        ({ state }) => state !== 'finished' && state !== 'cancelled',
      )
      assert.deepEqual(open, [], 'the ledger')
      await one.assertKept(forgets(steps))
      bench.assertNothingLeft()
    }),
    { numRuns: 150 },
  )
})

test('W2 W5 W7 a drain in the middle: every caller is answered, and acknowledged work is done or still in the ledger', async () => {
  await fc.assert(
    fc.asyncProperty(
      life.steps,
      life.steps,
      fc.constantFrom(0, 10, 1_000),
      life.seed,
      life.isSlow,
      async (before, after, deadline, seed, isSlow) => {
        const one = await begin(seed, isSlow)
        const { bench } = one
        await live(one, before)
        one.mayDrain()
        const drained = told(bench.drain(deadline))
        await live(one, after)
        await one.end()
        assert.equal(drained.state, 'fulfilled')
        one.assertToldOnce(forgets([...before, ...after]))
        one.assertNothingLate()
        bench.assertNothingLeft()
        await one.assertWrittenDown()
      },
    ),
    { numRuns: 150 },
  )
})
