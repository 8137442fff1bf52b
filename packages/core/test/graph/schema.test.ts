import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job, run, type InputSchema } from '@heddle/core'

/** What zod and others make, by hand: an object with a positive amount, which becomes a whole number. */
const order: InputSchema<{ amount: number }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => {
      const amount = (value as { amount?: unknown } | undefined)?.amount
      if (typeof amount === 'number' && amount > 0) return { value: { amount: Math.floor(amount) } }
      return { issues: [{ message: 'must be positive', path: ['order', { key: 'amount' }] }] }
    },
  },
}

test('a wrong input is refused with the path of the field before anything starts', async () => {
  const calls: string[] = []
  const pay = job({ name: 'pay', input: order }, ({ amount }) => amount)
  const graph = new Graph()
  graph.add(
    'first',
    job({ name: 'first' }, () => void calls.push('first')),
  )
  graph.add('pay', pay, { input: { amount: -1 } })
  await assert.rejects(run(graph), {
    code: 'HDL_WRONG_INPUT',
    message: 'The input of "pay" is wrong: order.amount: must be positive.',
  })
  assert.deepEqual(calls, [])
})

test('the job gets what the schema makes; an input that is made from results fails its node without a retry', async () => {
  let calls = 0
  const pay = job({ name: 'pay', input: order, retries: 3 }, ({ amount }) => (calls++, amount))
  const graph = new Graph()
  const good = graph.add('good', pay, { input: { amount: 2.5 } })
  graph.add('late', pay, { after: [good], input: () => ({ amount: 0 }) })
  graph.map('all', pay, { over: () => [{ amount: 1 }, { amount: -2 }] })
  graph.add(
    'flow',
    job({ name: 'flow' }, (_: void, ctx) => ctx.run(pay, { amount: 0 })),
  )
  const result = await run(graph)
  assert.equal(result.of(good), 2)
  assert.equal(calls, 2)
  const codes = [...result.failed].map(([name, error]) => [name, (error as { code: string }).code])
  assert.deepEqual(
    new Map(codes as [string, string][]),
    new Map([
      ['late', 'HDL_WRONG_INPUT'],
      ['all', 'HDL_ELEMENT_FAILED'],
      ['flow', 'HDL_WRONG_INPUT'],
    ]),
  )
})
