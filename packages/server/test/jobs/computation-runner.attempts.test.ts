/** How served jobs are retried, and the rows in the journal. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError, isError, job, retryAfter } from '@heddle/core'
import { serveJob } from '../../src/jobs/served-job.ts'
import { Bench } from '../support/bench.ts'
import { Gate } from '../support/gates.ts'
import { codeOf, told } from '../support/told.ts'

/** `prepare running 0`, `log prepare hello` and so on, of the newest run. */
async function rowsOf(bench: Bench): Promise<string[]> {
  const [run] = await bench.journal.runs()
  const rows: string[] = []
  for await (const row of bench.journal.history(run!.id)) {
    if (row.kind === 'node' && row.node !== 'input')
      rows.push(`${row.node} ${row.state} ${row.attempt}`)
    if (row.kind === 'log') rows.push(`log ${row.node} ${row.text}`)
    if (row.kind === 'run') rows.push(`run ${row.state}`)
  }
  return rows
}

/** Fails a given number of times. */
function flaky(failures: number, options: { timeout?: number } = {}) {
  return job({ name: 'flaky', retries: failures, ...options }, (_: unknown, { attempt, log }) => {
    log(`attempt ${attempt}`)
    if (attempt < failures) throw retryAfter(5_000)
    return 'at last'
  })
}

test('a job in back-off holds no slot: a quick job beside it starts at once', async () => {
  const quick = job({ name: 'quick' }, () => 'done')
  const bench = await Bench.open([flaky(1), quick], { loop: 1 })
  const slow = told(bench.compute('flaky', 1))
  await bench.clock.settle()
  const answer = await bench.compute('quick', 1)
  assert.deepEqual(answer.result, { value: 'done' })
  assert.equal(bench.clock.now(), 0)
  await bench.clock.advance(5_000)
  assert.deepEqual(slow.value?.result, { value: 'at last' })
  bench.assertNothingLeft()
})

test('the timeout is for one attempt: three attempts may take three times as long', async () => {
  const gate = new Gate<string>('one')
  const served = serveJob({ name: 'one', prepare: { ...gate.job, retries: 2, timeout: 100 } })
  const bench = await Bench.open([served])
  const asked = told(bench.compute('one', 'a'))
  await bench.clock.settle()
  for (const [round, start] of [0, 1].entries()) {
    await bench.clock.advance(90)
    gate.starts[start]!.fail(retryAfter(10))
    await bench.clock.advance(10)
    assert.equal(gate.starts.length, round + 2)
  }
  await bench.clock.advance(90)
  gate.starts[2]!.finish('a')
  await bench.clock.settle()
  assert.equal(asked.state, 'fulfilled')
  bench.assertNothingLeft()
})

test('W5 attempts and logs of acknowledged work are rows of its run, as in a graph run', async () => {
  const bench = await Bench.open([flaky(1)])
  await bench.acknowledge('flaky', 1)
  await bench.clock.advance(5_000)
  assert.deepEqual(await rowsOf(bench), [
    'run running',
    'prepare ready 0',
    'prepare running 0',
    'log prepare attempt 0',
    'prepare retrying 1',
    'prepare ready 1',
    'prepare running 1',
    'log prepare attempt 1',
    'prepare succeeded 1',
    'run finished',
  ])
})

test('W5 work that is acknowledged later has its whole history in the journal', async () => {
  const bench = await Bench.open([flaky(1)])
  const asked = told(bench.compute('flaky', 1, { wait: 1_000 }))
  await bench.clock.advance(1_000)
  assert.equal(asked.value?.isDone, false, 'acknowledged')
  assert.deepEqual((await rowsOf(bench)).slice(1), [
    'prepare ready 0',
    'prepare running 0',
    'log prepare attempt 0',
    'prepare retrying 1',
  ])
  await bench.clock.advance(4_000)
  assert.deepEqual((await rowsOf(bench)).slice(-2), ['prepare succeeded 1', 'run finished'])
  bench.assertNothingLeft()
})

test('W4 cancelled while queued, running or in back-off: the row says which', async () => {
  const cases = { queued: 'skipped', running: 'cancelled', retrying: 'cancelled' } as const
  for (const [when, state] of Object.entries(cases)) {
    const gate = new Gate<string>('one')
    const served = serveJob({ name: 'one', prepare: { ...gate.job, retries: 1 } })
    const bench = await Bench.open([served, new Gate('busy').job], { loop: 1 })
    if (when === 'queued') await bench.acknowledge('busy', 'b', { request: 'busy' })
    await bench.acknowledge('one', 'a', { request: 'mine' })
    await bench.clock.settle()
    if (when === 'retrying') gate.starts[0]!.fail(new Error('no'))
    await bench.clock.settle()
    bench.service.cancel('default', 'mine')
    await bench.clock.settle()
    const rows = await rowsOf(bench)
    assert.deepEqual(
      [rows.at(-2)!.replace(/ \d$/, ''), rows.at(-1)],
      [`prepare ${state}`, 'run cancelled'],
      when,
    )
    if (when === 'queued') bench.service.cancel('default', 'busy')
    await bench.clock.advance(5_000)
    assert.equal(gate.starts.length, when === 'queued' ? 0 : 1, 'it is not tried again')
    bench.assertNothingLeft()
  }
})

test('attempts of results of the second stage are lines in the log of their node', async () => {
  const plot = job({ name: 'plot', retries: 1 }, ({ index }: { index: number }, ctx) => {
    ctx.log('drawing')
    if (ctx.attempt === 0) throw new Error('no ink')
    if (index === -1) throw new Error('no paper')
    return index
  })
  const load = job({ name: 'load' }, () => 'data')
  const bench = await Bench.open([serveJob({ name: 'two', prepare: load, item: plot, total: 2 })], {
    loop: 1,
  })
  await bench.acknowledge('two', 1)
  await bench.clock.advance(60_000)
  const rows = await rowsOf(bench)
  const lines = rows.filter((row) => row.startsWith('log items -1'))
  assert.equal(lines.length, 4)
  assert.match(lines[1]!, /^log items -1: attempt 1 starts in \d+ ms: .*no ink/)
  assert.match(lines[3]!, /^log items -1: failed: .*no paper/)
  assert.deepEqual(rows.slice(-2), ['items failed 0', 'run finished'])
})

test('an error code of a job is not confused with one of ours; whether to try again is unchanged', async () => {
  const ours = [
    new HeddleError('HDL_DRAINING', { what: 'Another server' }),
    new HeddleError('HDL_CANCELLED', { what: 'A part', source: 'user' }),
    new HeddleError('HDL_TIMEOUT', { what: 'A part', limit: 5 }),
    Object.assign(new Error('large'), { code: 'FST_ERR_CTP_BODY_TOO_LARGE', statusCode: 413 }),
    Object.assign(new Error('fine'), { status: 200, headers: { 'content-length': '3' } }),
  ]
  for (const error of ours) {
    const fails = job({ name: 'fails' }, () => {
      throw error
    })
    const bench = await Bench.open([fails])
    const asked = told(bench.compute('fails', null))
    await bench.clock.settle()
    const failure = asked.error as HeddleError
    const retryable = error instanceof HeddleError && error.retryable
    assert.deepEqual(
      [failure.code, failure.message, failure.retryable, failure.cause],
      ['HDL_JOB_FAILED', error.message, retryable, error],
    )
  }
})

test('a value that throws when it is read can be thrown, and tried again', async () => {
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
    let attempts = 0
    const fails = job({ name: 'fails', retries: 1 }, () => {
      attempts++
      throw thrown
    })
    const bench = await Bench.open([fails])
    const { handle } = await bench.acknowledge('fails', null)
    await bench.clock.advance(60_000)
    const asked = told(bench.result(handle))
    await bench.clock.settle()
    assert.ok(asked.error instanceof Error, `${number}`)
    assert.equal(typeof asked.error.message, 'string')
    assert.equal(attempts, 2, `${number}`)
    const rows = await rowsOf(bench)
    assert.deepEqual(rows.slice(-2), ['prepare failed 1', 'run finished'], `${number}`)
    bench.assertNothingLeft()
  }
})

test('a place that the server does not have fails the job at once, however often it may be tried', async () => {
  const far = job({ name: 'far', place: 'fleet', module: import.meta.url, retries: 5 }, () => 1)
  const bench = await Bench.open([far])
  const asked = told(bench.compute('far', null))
  await bench.clock.settle()
  assert.equal(codeOf(asked.error), 'HDL_JOB_FAILED')
  assert.ok(isError((asked.error as Error).cause, 'HDL_PLACE_UNAVAILABLE'))
  bench.assertNothingLeft()
})
