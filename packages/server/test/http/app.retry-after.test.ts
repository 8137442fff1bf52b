/** Every refusal of the table has a retry time, from the measured rate. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { HeddleError, type ErrorCode } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { errorTable } from '../../../core/src/errors.ts'
import { anonymous, startServer } from '../../src/index.ts'
import { toHttpError } from '../../src/http/http-error.ts'
import { call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { compute, quiet, submit } from '../support/http.ts'

/** An error of any code; its message does not matter. */
function ofCode(code: ErrorCode, details: object = {}, retryAfter?: number): HeddleError {
  return Object.defineProperties(new HeddleError('HDL_CLOSED', { what: 'It' }), {
    code: { value: code },
    details: { value: details },
    retryAfter: { value: retryAfter },
  })
}

/** All errors that are answered 429 or 503. */
function refusals(): HeddleError[] {
  const all = (Object.keys(errorTable) as ErrorCode[]).map((code) => ofCode(code))
  all.push(ofCode('HDL_TIMEOUT', { stage: 'queue' }))
  return all.filter((error) => [429, 503].includes(toHttpError(error).status))
}

test('S41 every refusal of the table: Retry-After from the measured rate, over HTTP', async () => {
  const clock = new VirtualClock()
  const gate = new Gate<number>('work')
  let refusal: HeddleError | undefined
  const policy = {
    callerOf: () => {
      if (refusal !== undefined) throw refusal
      return anonymous
    },
    check: () => undefined,
  }
  await using server = await startServer({
    jobs: [gate.job],
    port: 0,
    policy,
    kernel: { clock, random: seededRandom(1) },
    limits: { loopGap: Infinity, prepareCapacity: 64 },
  })
  // Work ends every three seconds, one after the other.
  const all = Array.from({ length: 4 }, (_, input) => compute(server, 'work', input))
  await gate.started(4)
  for (const [n, { reply }] of all.entries()) {
    await clock.advance(3_000)
    const { finish } = gate.starts.find(({ input }) => input === n)!
    finish(n)
    assert.equal((await reply).status, 200)
  }
  await quiet(server)
  const found = refusals()
  const codes = found.map(({ code }) => code)
  for (const known of [
    'HDL_OVERLOADED',
    'HDL_TOO_MANY_REQUESTS',
    'HDL_TOO_MANY_WAITERS',
    'HDL_DRAINING',
    'HDL_STORE_FAILED',
    'HDL_TIMEOUT',
  ] as const) {
    assert.ok(codes.includes(known), known)
  }
  for (refusal of found) {
    const { status, headers, body } = await call(server, '/jobs')
    const hint = body.error!.retry_after_ms!
    // One completion in three seconds, and up to a quarter more at random.
    assert.ok(hint >= 3_000 && hint <= 3_750, `${refusal.code}: ${hint}`)
    assert.equal(headers['retry-after'], String(Math.ceil(hint / 1_000)), refusal.code)
    assert.ok(status === 429 || status === 503)
    // What knows its own time says that.
    refusal = ofCode(refusal.code, refusal.details as object, 42_000)
    const own = await call(server, '/jobs')
    assert.deepEqual([own.body.error!.retry_after_ms, own.headers['retry-after']], [42_000, '42'])
  }
  refusal = undefined
})

test('a draining server announces when admitted work will have ended', async () => {
  const clock = new VirtualClock()
  const gate = new Gate<number>('work')
  await using server = await startServer({
    jobs: [gate.job],
    port: 0,
    kernel: { clock, random: seededRandom(1) },
    limits: { loopGap: Infinity, prepareCapacity: 64, drain: 600_000 },
  })
  const all = Array.from({ length: 6 }, (_, input) => compute(server, 'work', input))
  await gate.started(6)
  const finish = async (n: number): Promise<void> => {
    gate.starts.find(({ input }) => input === n)!.finish(n)
    await all[n]!.reply
  }
  for (const n of [0, 1]) {
    await clock.advance(2_000)
    await finish(n)
  }
  const drained = server.drain()
  const { status, body } = await submit(server, 'work', 'more').reply
  assert.deepEqual([status, body.error?.code], [503, 'shutting_down'])
  const hint = body.error!.retry_after_ms!
  // Four are left, one ends every two seconds.
  assert.ok(hint >= 8_000 && hint <= 10_000, `${hint}`)
  for (const n of [2, 3, 4, 5]) await finish(n)
  let isOver = false
  void drained.then(() => (isOver = true))
  while (!isOver) {
    await clock.advance(1_000)
    await turn()
  }
})
