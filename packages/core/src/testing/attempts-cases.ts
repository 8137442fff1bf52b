import assert from 'node:assert/strict'
import { final, retryAfter } from '../attempts/retry.ts'
import { job, type Job, type JobContext, type JobOptions } from '../graph/job.ts'
import type { AttemptsDriver, OpenAttemptsDriver, StartedJob } from './attempts-driver.ts'
import {
  finalThreadJob,
  loggingThreadJob,
  notText,
  notTextRows,
  threadJob,
} from './attempts-thread-job.ts'

export interface AttemptsCase {
  readonly title: string
  run(open: OpenAttemptsDriver): Promise<void>
}

/** A job on the loop whose attempts end when the case says so. */
class Gate {
  readonly job: Job
  readonly contexts: JobContext[] = []
  readonly #gates: PromiseWithResolvers<unknown>[] = []

  constructor(options: JobOptions) {
    this.job = job({ ...options, place: 'loop' }, (_: unknown, context: JobContext) => {
      this.contexts.push(context)
      const gate = Promise.withResolvers<unknown>()
      this.#gates.push(gate)
      return gate.promise
    })
  }

  get attempts(): number {
    return this.contexts.length
  }

  resolve(value: unknown): void {
    this.#gates.at(-1)!.resolve(value)
  }

  reject(error: unknown): void {
    this.#gates.at(-1)!.reject(error)
  }

  /** Ends the attempt as a job does that reacts to its signal. */
  obey(): void {
    const gate = this.#gates.at(-1)!
    const { signal } = this.contexts.at(-1)!
    const stop = (): void => gate.reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  }
}

/** Lets everything run that needs no time, until the condition holds. The test's own limit ends it. */
async function until(driver: AttemptsDriver, condition: () => boolean): Promise<void> {
  while (!condition()) await driver.clock.settle()
}

/** Lets everything run that needs no time, and arrive. */
async function settle(driver: AttemptsDriver): Promise<void> {
  await driver.clock.settle()
  await driver.arrived?.()
}

/** Lets time pass until the condition holds, and not much longer. */
async function advanceUntil(driver: AttemptsDriver, condition: () => boolean): Promise<void> {
  await settle(driver)
  for (let passed = 0; !condition(); passed += 10) {
    assert.ok(passed <= longest, 'it should have happened by now')
    await driver.clock.advance(10)
    await driver.arrived?.()
  }
}

/** Waits for rows that are on their way to the journal. */
async function rowsOf(
  started: StartedJob,
  last: string | readonly string[],
): Promise<readonly string[]> {
  const ends = typeof last === 'string' ? [last] : last
  for (;;) {
    const rows = await started.rows()
    if (ends.some((end) => rows.at(-1)?.startsWith(end))) return rows
  }
}

/** The rows of a job that has succeeded without a word. */
async function assertQuietRows(driver: AttemptsDriver, started: StartedJob): Promise<void> {
  const rows = driver.isQuiet === true ? await started.rows() : await rowsOf(started, 'succeeded')
  const expected = driver.isQuiet === true ? [] : ['ready 0', 'running 0', 'succeeded 0']
  assert.deepEqual(rows, expected)
}

/** Longer than anything takes that should happen now. */
const longest = 60_000

export const attemptsCases: readonly AttemptsCase[] = [
  {
    title: 'a job that succeeds: one attempt, its value, its rows',
    async run(open) {
      const gate = new Gate({ name: 'succeeds' })
      await using driver = await open({ jobs: [gate.job], permits: 1 })
      const [started] = await driver.start()
      await until(driver, () => gate.attempts === 1)
      assert.deepEqual([gate.contexts[0]!.attempt, gate.contexts[0]!.cancelled], [0, false])
      gate.resolve({ pages: 3 })
      assert.deepEqual(await started!.ended(), { state: 'succeeded', value: { pages: 3 } })
      await assertQuietRows(driver, started!)
    },
  },
  {
    title: 'a job that fails: its message reaches the caller, with all causes the journal',
    async run(open) {
      const gate = new Gate({ name: 'fails' })
      await using driver = await open({ jobs: [gate.job], permits: 1 })
      const [started] = await driver.start()
      await until(driver, () => gate.attempts === 1)
      gate.reject(new Error('no paper', { cause: new Error('no ink') }))
      const { state, message } = await started!.ended()
      assert.equal(state, 'failed')
      assert.match(message!, /no paper/)
      assert.deepEqual(await rowsOf(started!, 'failed'), [
        'ready 0',
        'running 0',
        'failed 0 (no paper < no ink)',
      ])
    },
  },
  {
    title: 'a job may throw a value that is not an Error',
    async run(open) {
      const gate = new Gate({ name: 'odd' })
      await using driver = await open({ jobs: [gate.job], permits: 1 })
      const [started] = await driver.start()
      await until(driver, () => gate.attempts === 1)
      gate.reject('only a text')
      const { state, message } = await started!.ended()
      assert.equal(state, 'failed')
      assert.match(message!, /only a text/)
    },
  },
  {
    title: 'retries: attempts count from 0, each has its rows, all errors are kept',
    async run(open) {
      const gate = new Gate({ name: 'retried', retries: 2 })
      await using driver = await open({ jobs: [gate.job], permits: 1 })
      const [started] = await driver.start()
      for (const attempt of [0, 1]) {
        await until(driver, () => gate.attempts === attempt + 1)
        gate.reject(new Error(`no ${attempt}`))
        await settle(driver)
        await driver.clock.advance(longest)
      }
      await until(driver, () => gate.attempts === 3)
      gate.resolve('at last')
      assert.deepEqual(await started!.ended(), { state: 'succeeded', value: 'at last' })
      assert.deepEqual(
        gate.contexts.map(({ attempt }) => attempt),
        [0, 1, 2],
      )
      assert.deepEqual(await rowsOf(started!, 'succeeded'), [
        'ready 0',
        'running 0',
        'retrying 1 (no 0)',
        'ready 1',
        'running 1',
        'retrying 2 (no 1)',
        'ready 2',
        'running 2',
        'succeeded 2',
      ])
    },
  },
  {
    title: 'the last error counts when no retry is left',
    async run(open) {
      const gate = new Gate({ name: 'exhausted', retries: 1 })
      await using driver = await open({ jobs: [gate.job], permits: 1 })
      const [started] = await driver.start()
      await until(driver, () => gate.attempts === 1)
      gate.reject(new Error('first'))
      await settle(driver)
      await driver.clock.advance(longest)
      await until(driver, () => gate.attempts === 2)
      gate.reject(new Error('second'))
      const { state, message } = await started!.ended()
      assert.equal(state, 'failed')
      assert.match(message!, /second/)
      await driver.clock.advance(longest)
      assert.equal(gate.attempts, 2)
    },
  },
  {
    title: 'final errors and errors that are not retryable are not tried again',
    async run(open) {
      const last = new Gate({ name: 'last', retries: 5 })
      const hopeless = new Gate({ name: 'hopeless', retries: 5 })
      await using driver = await open({ jobs: [last.job, hopeless.job], permits: 2 })
      const [one, other] = await driver.start()
      await until(driver, () => last.attempts + hopeless.attempts === 2)
      last.reject(final(new Error('never')))
      hopeless.reject(Object.assign(new Error('never'), { retryable: false }))
      assert.equal((await one!.ended()).state, 'failed')
      assert.equal((await other!.ended()).state, 'failed')
      await driver.clock.advance(longest)
      assert.deepEqual([last.attempts, hopeless.attempts], [1, 1])
    },
  },
  {
    title: 'retryAfter() is kept to the millisecond',
    async run(open) {
      const gate = new Gate({ name: 'polite', retries: 1 })
      await using driver = await open({ jobs: [gate.job], permits: 1 })
      const [started] = await driver.start()
      await until(driver, () => gate.attempts === 1)
      gate.reject(retryAfter(5_000, new Error('rate limited')))
      await settle(driver)
      await driver.clock.advance(4_999)
      assert.equal(gate.attempts, 1)
      await driver.clock.advance(1)
      await until(driver, () => gate.attempts === 2)
      gate.resolve(1)
      assert.equal((await started!.ended()).state, 'succeeded')
    },
  },
  {
    title: 'back-off holds no permit: a quick job beside it is done without time passing',
    async run(open) {
      const flaky = new Gate({ name: 'flaky', retries: 1 })
      const quick = new Gate({ name: 'quick' })
      await using driver = await open({ jobs: [flaky.job, quick.job], permits: 1 })
      const [slow, fast] = await driver.start()
      await until(driver, () => flaky.attempts === 1)
      assert.equal(quick.attempts, 0)
      flaky.reject(retryAfter(5_000))
      await until(driver, () => quick.attempts === 1)
      quick.resolve('quick')
      assert.deepEqual(await fast!.ended(), { state: 'succeeded', value: 'quick' })
      await driver.clock.advance(5_000)
      await until(driver, () => flaky.attempts === 2)
      flaky.resolve('slow')
      assert.deepEqual(await slow!.ended(), { state: 'succeeded', value: 'slow' })
    },
  },
  {
    title: 'the timeout is for one attempt; queueing and back-off do not count',
    async run(open) {
      const first = new Gate({ name: 'first' })
      const gate = new Gate({ name: 'timed', retries: 2, timeout: 100 })
      await using driver = await open({ jobs: [first.job, gate.job], permits: 1 })
      const [, started] = await driver.start()
      await until(driver, () => first.attempts === 1)
      await driver.clock.advance(500)
      first.resolve(1)
      for (const attempt of [0, 1]) {
        await until(driver, () => gate.attempts === attempt + 1)
        await driver.clock.advance(90)
        gate.reject(retryAfter(1_000))
        await settle(driver)
        await driver.clock.advance(1_000)
      }
      await until(driver, () => gate.attempts === 3)
      await driver.clock.advance(90)
      gate.resolve('in time')
      assert.deepEqual(await started!.ended(), { state: 'succeeded', value: 'in time' })
    },
  },
  {
    title: 'a timed out attempt is aborted, and tried again once it has settled',
    async run(open) {
      const gate = new Gate({ name: 'late', retries: 1, timeout: 100 })
      await using driver = await open({ jobs: [gate.job], permits: 1 })
      const [started] = await driver.start()
      await until(driver, () => gate.attempts === 1)
      await driver.clock.advance(100)
      await until(driver, () => gate.contexts[0]!.cancelled)
      assert.deepEqual(
        [gate.contexts[0]!.cancelled, gate.contexts[0]!.signal.aborted],
        [true, true],
      )
      await driver.clock.advance(500)
      assert.equal(gate.attempts, 1)
      gate.resolve('too late')
      await settle(driver)
      await advanceUntil(driver, () => gate.attempts === 2)
      gate.resolve('in time')
      assert.deepEqual(await started!.ended(), { state: 'succeeded', value: 'in time' })
    },
  },
  {
    title: 'a job whose last attempt timed out has failed, whatever it returned',
    async run(open) {
      const gate = new Gate({ name: 'slow', timeout: 100 })
      await using driver = await open({ jobs: [gate.job], permits: 1 })
      const [started] = await driver.start()
      await until(driver, () => gate.attempts === 1)
      await driver.clock.advance(100)
      gate.resolve('too late')
      const { state, message } = await started!.ended()
      assert.equal(state, 'failed')
      assert.match(message!, /timed out after 100 ms/)
      assert.match((await rowsOf(started!, 'failed')).at(-1)!, /^failed 0 \(.*timed out/)
    },
  },
  {
    title: 'a job that ignores its signal is abandoned after the grace, and its permit is free',
    async run(open) {
      const deaf = new Gate({ name: 'deaf', timeout: 100, retries: 3 })
      const next = new Gate({ name: 'next' })
      await using driver = await open({ jobs: [deaf.job, next.job], permits: 1 })
      const [started, other] = await driver.start()
      await until(driver, () => deaf.attempts === 1)
      await driver.clock.advance(2_099)
      assert.equal(next.attempts, 0)
      await driver.clock.advance(1)
      await until(driver, () => next.attempts === 1)
      assert.equal((await started!.ended()).state, 'failed')
      deaf.resolve('much too late')
      next.resolve('fine')
      assert.deepEqual(await other!.ended(), { state: 'succeeded', value: 'fine' })
      await driver.clock.advance(longest)
      assert.equal(deaf.attempts, 1, 'it may still be running, so it is not tried again')
    },
  },
  {
    title: 'cancelled while queued: it never starts',
    async run(open) {
      const busy = new Gate({ name: 'busy' })
      const gate = new Gate({ name: 'queued' })
      await using driver = await open({ jobs: [busy.job, gate.job], permits: 1 })
      const [first, started] = await driver.start()
      await until(driver, () => busy.attempts === 1)
      await started!.cancel()
      assert.equal((await started!.ended()).state, 'cancelled')
      busy.resolve(1)
      assert.equal((await first!.ended()).state, 'succeeded')
      assert.equal(gate.attempts, 0)
      const rows = (await rowsOf(started!, 'skipped')).map((row) => row.replace(/ \(.*/, ''))
      assert.deepEqual(rows, ['ready 0', 'skipped 0'])
    },
  },
  {
    title: 'cancelled while running: its signal aborts, its permit comes back when it has settled',
    async run(open) {
      const gate = new Gate({ name: 'running', retries: 3 })
      const next = new Gate({ name: 'next' })
      await using driver = await open({ jobs: [gate.job, next.job], permits: 1 })
      const [started] = await driver.start()
      await until(driver, () => gate.attempts === 1)
      await started!.cancel()
      await until(driver, () => gate.contexts[0]!.cancelled)
      assert.equal(gate.contexts[0]!.signal.aborted, true)
      await driver.clock.advance(1_000)
      assert.equal(next.attempts, 0)
      gate.obey()
      await until(driver, () => next.attempts === 1)
      next.resolve(1)
      assert.equal((await started!.ended()).state, 'cancelled')
      await driver.clock.advance(longest)
      assert.equal(gate.attempts, 1)
      const rows = (await rowsOf(started!, 'cancelled')).map((row) => row.replace(/ \(.*/, ''))
      assert.deepEqual(rows, ['ready 0', 'running 0', 'cancelled 0'])
    },
  },
  {
    title: 'cancelled in back-off: it is not tried again',
    async run(open) {
      const gate = new Gate({ name: 'waiting', retries: 3 })
      const other = new Gate({ name: 'other' })
      await using driver = await open({ jobs: [gate.job, other.job], permits: 2 })
      const [started, beside] = await driver.start()
      await until(driver, () => gate.attempts + other.attempts === 2)
      gate.reject(retryAfter(5_000))
      await settle(driver)
      await started!.cancel()
      assert.equal((await started!.ended()).state, 'cancelled')
      await driver.clock.advance(longest)
      other.resolve(1)
      assert.equal((await beside!.ended()).state, 'succeeded')
      assert.equal(gate.attempts, 1)
      const rows = (await rowsOf(started!, 'cancelled')).map((row) => row.replace(/ \(.*/, ''))
      assert.deepEqual(rows, ['ready 0', 'running 0', 'retrying 1', 'cancelled 1'])
    },
  },
  {
    title: 'logs are rows, in order, between the start of their attempt and its end',
    async run(open) {
      const gate = new Gate({ name: 'talks', retries: 1 })
      await using driver = await open({ jobs: [gate.job], permits: 1 })
      const [started] = await driver.start()
      await until(driver, () => gate.attempts === 1)
      gate.contexts[0]!.log('one')
      gate.contexts[0]!.log('two')
      gate.reject(retryAfter(10))
      await settle(driver)
      await driver.clock.advance(10)
      await until(driver, () => gate.attempts === 2)
      gate.contexts[1]!.log('three')
      gate.resolve(1)
      await started!.ended()
      const rows = (await rowsOf(started!, 'succeeded')).map((row) => row.replace(/ \(.*/, ''))
      assert.deepEqual(rows, [
        'ready 0',
        'running 0',
        'log 0 one',
        'log 0 two',
        'retrying 1',
        'ready 1',
        'running 1',
        'log 1 three',
        'succeeded 1',
      ])
    },
  },
  {
    title: 'anything can be logged, on the loop and in a thread',
    async run(open) {
      const gate = new Gate({ name: 'talks' })
      await using driver = await open({ jobs: [gate.job, loggingThreadJob], permits: 1 })
      const [first, second] = await driver.start()
      await until(driver, () => gate.attempts === 1)
      for (const value of notText) gate.contexts[0]!.log(value)
      gate.resolve(1)
      await first!.ended()
      const expected = ['ready 0', 'running 0', ...notTextRows, 'succeeded 0']
      assert.deepEqual(await rowsOf(first!, 'succeeded'), expected)
      assert.deepEqual(await rowsOf(second!, 'succeeded'), expected)
    },
  },
  {
    title: 'a job in a thread is tried, logged and reported as one on the loop',
    async run(open) {
      await using driver = await open({ jobs: [threadJob], permits: 1 })
      const [started] = await driver.start()
      // The thread takes real time; the back-off is virtual.
      await rowsOf(started!, 'retrying')
      await driver.clock.advance(longest)
      assert.deepEqual(await started!.ended(), { state: 'succeeded', value: 'attempt 1' })
      assert.deepEqual(await rowsOf(started!, 'succeeded'), [
        'ready 0',
        'running 0',
        'log 0 attempt 0',
        'retrying 1 (no paper < no ink)',
        'ready 1',
        'running 1',
        'log 1 attempt 1',
        'succeeded 1',
      ])
    },
  },
  {
    title: 'a final error of a job in a thread is not tried again',
    async run(open) {
      await using driver = await open({ jobs: [finalThreadJob], permits: 1 })
      const [started] = await driver.start()
      // If it is tried again, which must not happen, another row comes, so the wait ends.
      const rows = await rowsOf(started!, ['failed', 'retrying'])
      assert.deepEqual(rows, ['ready 0', 'running 0', 'log 0 attempt 0', 'failed 0 (never)'])
      const { state, message } = await started!.ended()
      assert.equal(state, 'failed')
      assert.match(message!, /never/)
    },
  },
  {
    title: 'needs: a job waits for a resource without holding a permit of its place',
    async run(open) {
      const first = new Gate({ name: 'first', needs: { db: 1 } })
      const second = new Gate({ name: 'second', needs: { db: 1 } })
      const other = new Gate({ name: 'other' })
      const jobs = [first.job, second.job, other.job]
      await using driver = await open({ jobs, permits: 2, resources: { db: 1 } })
      const [a, b, c] = await driver.start()
      await until(driver, () => first.attempts === 1 && other.attempts === 1)
      assert.equal(second.attempts, 0)
      first.resolve('first')
      await until(driver, () => second.attempts === 1)
      second.resolve('second')
      other.resolve('other')
      assert.deepEqual(await a!.ended(), { state: 'succeeded', value: 'first' })
      assert.deepEqual(await b!.ended(), { state: 'succeeded', value: 'second' })
      assert.deepEqual(await c!.ended(), { state: 'succeeded', value: 'other' })
      await assertQuietRows(driver, b!)
    },
  },
  {
    title: 'needs: back-off frees the resource, and the next attempt takes it again',
    async run(open) {
      const flaky = new Gate({ name: 'flaky', retries: 1, needs: { db: 1 } })
      const other = new Gate({ name: 'other', needs: { db: 1 } })
      const jobs = [flaky.job, other.job]
      await using driver = await open({ jobs, permits: 2, resources: { db: 1 } })
      const [a, b] = await driver.start()
      await until(driver, () => flaky.attempts === 1)
      assert.equal(other.attempts, 0)
      flaky.reject(retryAfter(1_000))
      await until(driver, () => other.attempts === 1)
      await driver.clock.advance(1_000)
      await settle(driver)
      assert.equal(flaky.attempts, 1, 'the other holds it')
      other.resolve('other')
      await until(driver, () => flaky.attempts === 2)
      flaky.resolve('flaky')
      assert.deepEqual(await a!.ended(), { state: 'succeeded', value: 'flaky' })
      assert.deepEqual(await b!.ended(), { state: 'succeeded', value: 'other' })
    },
  },
  {
    title:
      'needs: a job that is cancelled while it waits for a resource never starts and takes nothing',
    async run(open) {
      const [first, second, third] = ['first', 'second', 'third'].map(
        (name) => new Gate({ name, needs: { db: 1 } }),
      )
      const jobs = [first!.job, second!.job, third!.job]
      await using driver = await open({ jobs, permits: 3, resources: { db: 1 } })
      const [, cancelled, last] = await driver.start()
      await until(driver, () => first!.attempts === 1)
      await cancelled!.cancel()
      assert.equal((await cancelled!.ended()).state, 'cancelled')
      first!.resolve('first')
      await until(driver, () => third!.attempts === 1)
      third!.resolve('third')
      assert.deepEqual(await last!.ended(), { state: 'succeeded', value: 'third' })
      assert.equal(second!.attempts, 0)
    },
  },
  {
    title: 'needs: a limit for each key, asked of a function of the input',
    async run(open) {
      const gates = ['acme', 'acme-2', 'globex'].map(
        (name) => new Gate({ name, needs: () => ({ tenant: name.split('-')[0]! }) }),
      )
      const jobs = gates.map((gate) => gate.job)
      const resources = { tenant: { each: 1 } }
      await using driver = await open({ jobs, permits: 3, resources })
      const started = await driver.start()
      await until(driver, () => gates[0]!.attempts === 1 && gates[2]!.attempts === 1)
      assert.equal(gates[1]!.attempts, 0, 'its key is taken')
      gates[0]!.resolve(0)
      await until(driver, () => gates[1]!.attempts === 1)
      gates[1]!.resolve(1)
      gates[2]!.resolve(2)
      for (const [value, each] of started.entries()) {
        assert.deepEqual(await each.ended(), { state: 'succeeded', value })
      }
    },
  },
  {
    title: 'needs: a rate counts every attempt, retries included',
    async run(open) {
      const gate = new Gate({ name: 'rated', retries: 1, needs: { api: 1 } })
      const resources = { api: { limit: 1, per: 5_000 } }
      await using driver = await open({ jobs: [gate.job], permits: 1, resources })
      const [started] = await driver.start()
      await until(driver, () => gate.attempts === 1)
      gate.reject(retryAfter(10))
      await settle(driver)
      await driver.clock.advance(4_000)
      await settle(driver)
      assert.equal(gate.attempts, 1, 'the back-off is over, the rate is not')
      await advanceUntil(driver, () => gate.attempts === 2)
      gate.resolve('rated')
      assert.deepEqual(await started!.ended(), { state: 'succeeded', value: 'rated' })
    },
  },
  {
    title: 'needs: a function that throws fails the job with its error',
    async run(open) {
      const gate = new Gate({
        name: 'undecided',
        needs: () => {
          throw new Error('no tenant')
        },
      })
      await using driver = await open({ jobs: [gate.job], permits: 1, resources: { db: 1 } })
      const [started] = await driver.start()
      const { state, message } = await started!.ended()
      assert.equal(state, 'failed')
      assert.match(message!, /no tenant/)
      assert.equal(gate.attempts, 0)
    },
  },
  {
    title: 'priority: of jobs that wait for one permit the most urgent starts first, then in order',
    async run(open) {
      const order: string[] = []
      const running = new Gate({ name: 'running' })
      const quick = (name: string, priority?: number): Job =>
        job({ name, ...(priority !== undefined && { priority }) }, () => {
          order.push(name)
          return name
        })
      const jobs = [
        running.job,
        quick('late', 5),
        quick('usual'),
        quick('usual-2'),
        quick('soon', 0),
      ]
      await using driver = await open({ jobs, permits: 1 })
      const started = await driver.start()
      await until(driver, () => running.attempts === 1)
      running.resolve('running')
      for (const each of started) assert.equal((await each.ended()).state, 'succeeded')
      assert.deepEqual(order, ['soon', 'usual', 'usual-2', 'late'])
    },
  },
]
