/** Which caller is served first when there is not room for all at once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { serveJob, startServer, type ItemInput } from '../../src/index.ts'
import { Gate } from '../support/gates.ts'
import { cancel, compute, quiet, submit } from '../support/http.ts'
import { until } from '../../../core/test/kernel/until.ts'
import { doubles, spins } from './fixtures/thread-jobs.ts'

const oneSlot = { loop: 1 }

/** Ends one after the other; returns the inputs in the order in which they ran. */
async function runAll(gate: Gate, count: number): Promise<unknown[]> {
  for (let number = 1; number <= count; number++) (await gate.started(number)).finish(number)
  return gate.starts.map(({ input }) => input)
}

test('S31 first come, first served inside a priority', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, limits: oneSlot })
  for (let input = 0; input < 6; input++) {
    assert.equal((await submit(server, 'work', input).reply).status, 202)
  }
  assert.deepEqual(await runAll(gate, 6), [0, 1, 2, 3, 4, 5])
  await quiet(server)
})

test('S32 priority 0 goes before ten of 1, priority 3 after them', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, limits: oneSlot })
  await submit(server, 'work', 'running').reply
  await submit(server, 'work', 'prefetch', { query: 'priority=3' }).reply
  for (let input = 0; input < 10; input++) await submit(server, 'work', input).reply
  await submit(server, 'work', 'interactive', { query: 'priority=0' }).reply
  const order = await runAll(gate, 13)
  assert.deepEqual(order, ['running', 'interactive', 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 'prefetch'])
  await quiet(server)
})

test('S39 W9 queued at 1 and asked for with 0: it moves, and is computed once', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, limits: oneSlot })
  await submit(server, 'work', 'running').reply
  for (const input of ['a', 'b', 'c']) await submit(server, 'work', input).reply
  const urgent = compute(server, 'work', 'c', { query: 'priority=0' })
  await until(() => server.stats().prepare.queue.queuedByPriority[0] === 1)
  assert.deepEqual(await runAll(gate, 4), ['running', 'c', 'a', 'b'])
  assert.equal((await urgent.reply).status, 200)
  await quiet(server)
})

test('S36 ten in the background: priority 0 starts at once on the reserved slot', async () => {
  const gate = new Gate('work')
  const limits = { loop: { permits: 1, reserved: 1 } }
  await using server = await startServer({ jobs: [gate.job], port: 0, limits })
  for (let input = 0; input < 10; input++) await submit(server, 'work', input).reply
  await gate.started()
  const urgent = compute(server, 'work', 'now', { query: 'priority=0' })
  const { input, finish } = await gate.started(2)
  assert.equal(input, 'now')
  finish('done')
  assert.equal((await urgent.reply).body['result'], 'done')
  assert.equal(gate.starts.length, 2, 'the reserved slot is for nobody else')
  for (let number = 1; number <= 11; number++) (await gate.started(number)).finish(number)
  await quiet(server)
})

test('the result that is waited for is made before the others', async () => {
  const item = new Gate<ItemInput<unknown>>('plot')
  const load = new Gate('load')
  const served = serveJob({ name: 'two', prepare: load.job, item: item.job, total: 5 })
  await using server = await startServer({ jobs: [served], port: 0, limits: oneSlot })
  const asked = compute(server, 'two', 'csv', { query: 'index=-3' })
  ;(await load.started()).finish('rows')
  for (let number = 1; number <= 5; number++) (await item.started(number)).finish(number)
  assert.deepEqual(
    item.starts.map(({ input }) => input),
    [-3, 0, -1, -2, -4].map((index) => ({ prepared: 'rows', index })),
  )
  const { status, body } = await asked.reply
  assert.deepEqual([status, body['index'], body['total'], body['result']], [200, -3, 5, 1])
  await quiet(server)
})

test('S36 both stages busy with threads in the background: priority 0 still has a thread', async () => {
  const two = serveJob({ name: 'two', prepare: doubles, item: spins, total: 1 })
  await using server = await startServer({ jobs: [two, spins, doubles], port: 0, threads: 2 })
  await submit(server, 'two', 1).reply
  await submit(server, 'spins', 1).reply
  await until(() => {
    const { prepare, items } = server.stats()
    return prepare.queue.running === 1 && items.queue.running === 1
  })
  const { body } = await compute(server, 'doubles', 21, { query: 'priority=0' }).reply
  assert.equal(body['result'], 42)
})

test('S42 beside a background job of 3,000 results 26 quick plots of either priority are all answered', async () => {
  const prepare = job({ name: 'load' }, (input: unknown) => input)
  const draw = job({ name: 'draw' }, ({ index }: ItemInput<unknown>) => `plot ${index}`)
  const slow = new Gate<ItemInput<unknown>>('slow draw')
  const large = serveJob({ name: 'large', prepare, item: slow.job, total: 3_000 })
  const quick = serveJob({ name: 'quick', prepare, item: draw, total: 2 })
  await using server = await startServer({ jobs: [large, quick], port: 0, threads: 1 })
  const headers = { 'x-request-id': 'background' }
  assert.equal(
    (await submit(server, 'large', 1, { query: 'priority=3', headers }).reply).status,
    202,
  )
  // Its share: half of the second stage.
  await slow.started(128)
  for (const priority of [0, 1]) {
    for (let n = 0; n < 26; n++) {
      const query = `priority=${priority}`
      const { status, body } = await compute(server, 'quick', [priority, n], { query }).reply
      assert.deepEqual([status, body['result']], [200, 'plot 0'])
    }
  }
  assert.equal(slow.starts.length, 128)
  await cancel(server, 'background')
  slow.finishAll()
  await quiet(server)
})
