/** How long work may be queued. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError } from '@heddle/core'
import { serveJob } from '../../src/jobs/served-job.ts'
import { Bench } from '../support/bench.ts'
import { Gate } from '../support/gates.ts'
import { told } from '../support/told.ts'

/** One slot, which is busy, and a limit for queued requests. */
async function busy() {
  const gate = new Gate<string>('one')
  const bench = await Bench.open([gate.job], { loop: 1, queue: 1_000 })
  await bench.acknowledge('one', 'first')
  await bench.clock.settle()
  assert.equal(gate.starts.length, 1)
  const finishAll = async (): Promise<void> => {
    for (let round = 0; round < 4; round++) {
      gate.finishAll()
      await bench.clock.settle()
    }
    bench.assertNothingLeft()
  }
  return { gate, bench, finishAll }
}

function isQueueTimeout(error: unknown): boolean {
  if (!(error instanceof HeddleError) || error.code !== 'HDL_TIMEOUT') return false
  const { stage, limit } = (error as HeddleError<'HDL_TIMEOUT'>).details
  return stage === 'queue' && limit === 1_000
}

test('W4 acknowledged and queued for longer than the limit: it is done when its turn comes', async () => {
  const { bench, finishAll } = await busy()
  const { handle } = await bench.acknowledge('one', 'second')
  await bench.clock.advance(100_000)
  const poll = told(bench.result(handle, { wait: 0 }))
  await bench.clock.advance(1)
  assert.equal(poll.value?.isDone, false)
  await finishAll()
  assert.deepEqual((await bench.result(handle)).result, { value: 'second' })
  assert.deepEqual(
    (await bench.journal.runs()).map(({ state }) => state),
    ['finished', 'finished'],
  )
})

test('W4 acknowledged after some waiting, then queued for longer than the limit: done in its place', async () => {
  const { gate, bench, finishAll } = await busy()
  const second = told(bench.compute('one', 'second', { wait: 400 }))
  await bench.clock.advance(500)
  assert.equal(second.value?.isDone, false, 'acknowledged')
  await bench.acknowledge('one', 'third')
  await bench.clock.advance(100_000)
  await finishAll()
  assert.deepEqual(
    gate.starts.map(({ input }) => input),
    ['first', 'second', 'third'],
  )
})

test('the limit is for waiting callers: they are answered, promised work continues', async () => {
  const { bench, finishAll } = await busy()
  const { handle } = await bench.acknowledge('one', 'second')
  const waits = told(bench.result(handle))
  const computes = told(bench.compute('one', 'second'))
  await bench.clock.advance(999)
  assert.deepEqual([waits.state, computes.state], ['pending', 'pending'])
  await bench.clock.advance(1)
  assert.ok(isQueueTimeout(waits.error))
  assert.ok(isQueueTimeout(computes.error))
  const later = told(bench.result(handle))
  await finishAll()
  assert.deepEqual(later.value?.result, { value: 'second' })
})

test('promised to no caller: the limit ends the work', async () => {
  const { gate, bench, finishAll } = await busy()
  const waits = told(bench.compute('one', 'second'))
  await bench.clock.advance(1_000)
  assert.ok(isQueueTimeout(waits.error))
  await finishAll()
  assert.equal(gate.starts.length, 1)
  assert.equal(bench.service.stats().prepare.outcomes.timeout, 1)
})

test('promised, and then cancelled: the limit ends it for callers that still wait', async () => {
  const { gate, bench, finishAll } = await busy()
  await bench.acknowledge('one', 'second', { request: 'mine' })
  const waits = told(bench.compute('one', 'second'))
  await bench.clock.settle()
  bench.service.cancel('default', 'mine')
  await bench.clock.advance(1_000)
  assert.ok(isQueueTimeout(waits.error))
  await finishAll()
  assert.equal(gate.starts.length, 1)
})

test('a job may have a limit of its own', async () => {
  const gate = new Gate('one')
  const own = serveJob({ name: 'own', prepare: gate.job, limits: { queue: 50 } })
  const bench = await Bench.open([own], { loop: 1, queue: 1_000 })
  const first = told(bench.compute('own', 'first'))
  await bench.clock.settle()
  const second = told(bench.compute('own', 'second'))
  await bench.clock.advance(50)
  assert.match(String(second.error), /timed out after 50 ms \(queue\)/)
  gate.finishAll()
  await bench.clock.settle()
  assert.equal(first.state, 'fulfilled')
  bench.assertNothingLeft()
})
