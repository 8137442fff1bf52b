import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError, final, job, retryAfter, type Job } from '@heddle/core'
import { Dispatcher, ThreadPool, seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { stageRunner, type StageLog } from '../../src/service/run-stage.ts'
import { doubles } from '../api/fixtures/thread-jobs.ts'
import { codeOf, told, type Told } from '../support/told.ts'

/** A stage and the time it takes. */
function bench(log: StageLog = () => undefined) {
  const clock = new VirtualClock()
  const kernel = { clock, random: seededRandom(1) }
  const runner = stageRunner(new ThreadPool({ threads: 1 }), kernel, log)
  const dispatcher = new Dispatcher({ slots: 1, kernel })
  const run = (one: Job<never>, input: unknown, signal?: AbortSignal): Told<unknown> =>
    told(
      dispatcher.run((work) => runner.run(one as unknown as Job, input, 'name', work), { signal }),
    )
  return { clock, run }
}

test('a job on the loop gets its name, its attempt and its log', async () => {
  const lines: string[] = []
  const { clock, run } = bench((name, text) => lines.push(`${name}: ${text}`))
  const seen: unknown[] = []
  const one = job({ name: 'one' }, (n: number, { name, attempt, cancelled, log }) => {
    seen.push(name, attempt, cancelled)
    log('working')
    return n + 1
  })
  const result = run(one, 1)
  await clock.settle()
  assert.equal(result.value, 2)
  assert.deepEqual(seen, ['name', 0, false])
  assert.deepEqual(lines, ['name: working'])
})

test('tried again as often as the job says, with a pause, and not when it is final', async () => {
  const { clock, run } = bench()
  let attempts: number[] = []
  const flaky = job({ name: 'flaky', retries: 2 }, (_: unknown, { attempt }) => {
    attempts.push(attempt)
    if (attempt < 2) throw new Error('not yet')
    return 'at last'
  })
  const result = run(flaky, null)
  await clock.settle()
  assert.deepEqual(attempts, [0])
  await clock.advance(60_000)
  assert.deepEqual(attempts, [0, 1, 2])
  assert.equal(result.value, 'at last')
  attempts = []
  const failing = job({ name: 'failing', retries: 1 }, (_: unknown, { attempt }) => {
    attempts.push(attempt)
    throw attempt === 0 ? new Error('no') : new Error('still no')
  })
  const failed = run(failing, null)
  await clock.advance(60_000)
  assert.deepEqual(attempts, [0, 1])
  assert.match(String(failed.error), /still no/)
  attempts = []
  const given = job({ name: 'given', retries: 5 }, (_: unknown, { attempt }) => {
    attempts.push(attempt)
    throw final(new Error('never'))
  })
  run(given, null)
  await clock.advance(60_000)
  assert.deepEqual(attempts, [0])
})

test('the pause that a job asks for is kept to the millisecond', async () => {
  const { clock, run } = bench()
  let attempts = 0
  const polite = job({ name: 'polite', retries: 1 }, () => {
    attempts++
    if (attempts === 1) throw retryAfter(5_000)
    return 'later'
  })
  const result = run(polite, null)
  await clock.advance(4_999)
  assert.equal(attempts, 1)
  await clock.advance(1)
  assert.equal(result.value, 'later')
})

test('cancelled in the pause: told at once, not tried again, no timer left', async () => {
  const { clock, run } = bench()
  let attempts = 0
  const flaky = job({ name: 'flaky', retries: 5 }, () => {
    attempts++
    throw new Error('no')
  })
  const stop = new AbortController()
  const result = run(flaky, null, stop.signal)
  await clock.settle()
  stop.abort()
  await clock.settle()
  assert.equal(codeOf(result.error), 'HDL_CANCELLED')
  assert.equal(attempts, 1)
  assert.equal(clock.pending, 0)
})

test('no code that a job throws is taken for one of ours; whether to try again stays as it was', async () => {
  const { clock, run } = bench()
  const ours = [
    new HeddleError('HDL_DRAINING', { what: 'Another server' }),
    new HeddleError('HDL_CANCELLED', { what: 'A part', source: 'user' }),
    new HeddleError('HDL_TIMEOUT', { what: 'A part', limit: 5 }),
    Object.assign(new Error('large'), { code: 'FST_ERR_CTP_BODY_TOO_LARGE', statusCode: 413 }),
    Object.assign(new Error('fine'), { status: 200, headers: { 'content-length': '3' } }),
  ]
  for (const error of ours) {
    const fails = run(
      job({ name: 'fails' }, () => {
        throw error
      }),
      null,
    )
    await clock.settle()
    const failure = fails.error as HeddleError
    const retryable = error instanceof HeddleError && error.retryable
    assert.deepEqual(
      [failure.code, failure.message, failure.retryable, failure.cause],
      ['HDL_JOB_FAILED', error.message, retryable, error],
    )
  }
  const plain = new TypeError('no such row')
  const fails = run(
    job({ name: 'fails' }, () => {
      throw plain
    }),
    null,
  )
  await clock.settle()
  assert.equal(fails.error, plain)
})

test('what throws when it is looked at can be thrown, and tried again', async () => {
  const throws = (): never => {
    throw new Error('not today')
  }
  const { proxy, revoke } = Proxy.revocable(new Error('x'), {})
  revoke()
  const hostile: unknown[] = [
    proxy,
    new Proxy(new Error('x'), { get: throws }),
    new Proxy({}, { get: throws, getPrototypeOf: throws, has: throws }),
    new Proxy(new HeddleError('HDL_CLOSED', { what: 'It' }), { get: throws }),
    Object.defineProperty(new Error('x'), 'message', { get: throws }),
    Object.defineProperty(new Error('x'), 'code', { get: throws }),
    { toString: throws },
  ]
  for (const [number, thrown] of hostile.entries()) {
    const { clock, run } = bench()
    let attempts = 0
    const fails = run(
      job({ name: 'fails', retries: 1 }, () => {
        attempts++
        throw thrown
      }),
      null,
    )
    await clock.advance(60_000)
    assert.ok(fails.error instanceof Error, `${number}`)
    assert.equal(typeof fails.error.message, 'string')
    assert.equal(attempts, 2, `${number}`)
  }
})

test('a job in a thread, and a place that a server does not have', async () => {
  await using pool = new ThreadPool({ threads: 1 })
  const runner = stageRunner(
    pool,
    { clock: new VirtualClock(), random: seededRandom(1) },
    () => undefined,
  )
  const work = { priority: 1, tenant: '', signal: new AbortController().signal, cancelled: false }
  assert.equal(await runner.run(doubles as Job<never> as unknown as Job, 21, 'name', work), 42)
  const far = job({ name: 'far', place: 'fleet', module: import.meta.url }, () => 1)
  await assert.rejects(runner.run(far, null, 'name', work), /runs in place "fleet"/)
})
