/** Jobs with a schema of their own over HTTP: `job({ input: schema })`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job, type InputSchema } from '@heddle/core'
import { serveJob, startServer, type ItemInput } from '../../src/index.ts'
import { compute, quiet, submit } from '../support/http.ts'
import { until } from '../../../core/test/kernel/until.ts'
import { schemaDoubles } from './fixtures/thread-jobs.ts'

type Validate = InputSchema<{ amount: number }>['~standard']['validate']

/** A schema like those of zod, written by hand: an object with a positive amount, which becomes a whole number. */
function order(later: (checked: ReturnType<Validate>) => ReturnType<Validate> = (now) => now) {
  const validate: Validate = (value) => {
    const { amount } = (value ?? {}) as { amount?: unknown }
    const isRight = typeof amount === 'number' && amount > 0
    const issues = [{ message: 'must be positive', path: ['order', { key: 'amount' }] }]
    return later(isRight ? { value: { amount: Math.floor(amount) } } : { issues })
  }
  const schema: InputSchema<{ amount: number }> = {
    '~standard': { version: 1, vendor: 'test', validate },
  }
  return schema
}

test('a wrong input is 400 with the path of the field; nothing starts and no seat is kept', async () => {
  let calls = 0
  const pay = job({ name: 'pay', input: order() }, ({ amount }) => (calls++, amount))
  // One seat: a refusal that kept it would refuse the request after it.
  const limits = { prepareCapacity: 1 }
  await using server = await startServer({ jobs: [pay], port: 0, limits })
  for (const input of [{ amount: -1 }, { amount: 'two' }, null, [], { amount: -1 }]) {
    for (const send of [submit, compute]) {
      const { status, body } = await send(server, 'pay', input).reply
      assert.equal(status, 400)
      assert.equal(body.error?.code, 'bad_request')
      assert.equal(
        body.error?.message,
        'The input of "pay" is wrong: order.amount: must be positive.',
      )
    }
  }
  assert.equal(server.stats().works, 0)
  assert.equal(calls, 0)
  const answer = await compute(server, 'pay', { amount: 2.5 }).reply
  assert.deepEqual([answer.status, answer.body['result'], calls], [200, 2, 1])
  await quiet(server)
})

test('the job and its needs get the output of the schema, on the loop and in a thread', async () => {
  const needed: unknown[] = []
  const pay = job(
    {
      name: 'pay',
      input: order(),
      needs: (given) => (needed.push(given), { db: given.amount }),
    },
    ({ amount }) => amount,
  )
  const limits = { resources: { db: 2 } }
  await using server = await startServer({ jobs: [pay, schemaDoubles], port: 0, limits })
  const loop = await compute(server, 'pay', { amount: 2.9 }).reply
  assert.deepEqual([loop.status, loop.body['result']], [200, 2])
  assert.deepEqual(needed, [{ amount: 2 }])
  const thread = await compute(server, 'schema-doubles', '21').reply
  assert.deepEqual([thread.status, thread.body['result']], [200, 42])
  const wrong = await compute(server, 'schema-doubles', 'many').reply
  assert.equal(wrong.status, 400)
  await quiet(server)
})

test('a schema that takes time: its answer counts, and a client that leaves ends the wait', async () => {
  const answers: (() => void)[] = []
  const schema = order((checked) => new Promise((resolve) => answers.push(() => resolve(checked))))
  const pay = job(
    { name: 'pay', input: schema, needs: ({ amount }) => ({ db: amount }) },
    ({ amount }) => amount,
  )
  const limits = { prepareCapacity: 1, resources: { db: 2 } }
  await using server = await startServer({ jobs: [pay], port: 0, limits })
  const answerAll = async (call: { readonly reply: Promise<unknown> }): Promise<void> => {
    let isOver = false
    const over = call.reply.then(() => void (isOver = true))
    while (!isOver) {
      answers.shift()?.()
      await Promise.race([over, new Promise((done) => setImmediate(done))])
    }
  }
  const wrong = compute(server, 'pay', { amount: 0 })
  await answerAll(wrong)
  assert.equal((await wrong.reply).status, 400)
  const right = compute(server, 'pay', { amount: 1.5 })
  await answerAll(right)
  assert.deepEqual((await right.reply).body['result'], 1)
  const left = compute(server, 'pay', { amount: 1 })
  await until(() => answers.length > 0)
  left.request.destroy()
  await quiet(server)
})

test('a schema that throws is the mistake of the server: 500, and the seat comes back', async () => {
  const broken = order(() => {
    throw new Error('no such table')
  })
  const pay = job({ name: 'pay', input: broken }, () => 1)
  await using server = await startServer({ jobs: [pay], port: 0, limits: { prepareCapacity: 1 } })
  for (let round = 0; round < 2; round++) {
    const { status, body } = await compute(server, 'pay', { amount: 1 }).reply
    assert.equal(status, 500)
    assert.doesNotMatch(JSON.stringify(body), /no such table/)
  }
  await quiet(server)
})

test('the second stage is checked too, and its mistake is that of the job: 500', async () => {
  const load = job({ name: 'load' }, (amount: number) => amount)
  const item: InputSchema<ItemInput<number>> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => {
        const { prepared, index } = value as ItemInput<number>
        return prepared > 0
          ? { value: { prepared: prepared * 10, index } }
          : { issues: [{ message: 'must be positive', path: ['prepared'] }] }
      },
    },
  }
  const plot = job({ name: 'plot', input: item, retries: 3 }, ({ prepared }) => prepared)
  const two = serveJob({ name: 'two', prepare: load, item: plot, total: 1 })
  await using server = await startServer({ jobs: [two], port: 0 })
  assert.equal((await compute(server, 'two', 4).reply).body['result'], 40)
  assert.equal((await compute(server, 'two', -4).reply).status, 500)
  await quiet(server)
})
