import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job, run, startRun, type InputSchema } from '@heddle/core'
import { systemKernel } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'

/** A schema like those of zod, written by hand: an object with a positive amount, which becomes a whole number. */
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

test('the job gets the output of the schema; an input made from results that fails the schema fails its node without a retry', async () => {
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

function schemaOf(validate: (value: unknown) => unknown): InputSchema {
  const standard = { version: 1, vendor: 'test', validate: validate as never } as const
  return { '~standard': standard }
}

async function messageOf(validate: (value: unknown) => unknown): Promise<string> {
  const graph = new Graph()
  graph.add(
    'pay',
    job({ name: 'pay', input: schemaOf(validate) }, () => 1),
  )
  return run(graph).then(
    () => 'accepted',
    (error: Error & { code?: string }) => `${error.code}: ${error.message}`,
  )
}

test('a schema that throws, rejects or gives nothing is named with its node', async () => {
  const failed = 'HDL_SCHEMA_FAILED: The schema for the input of "pay" failed:'
  const thrown = messageOf(() => {
    throw new Error('no table.')
  })
  assert.equal(await thrown, `${failed} no table.`)
  assert.equal(await messageOf(() => Promise.reject(new Error('no table'))), `${failed} no table.`)
  for (const odd of [undefined, 5, { issues: 7 }, { issues: null }]) {
    const expected = `${failed} it returned neither a value nor a list of issues.`
    assert.equal(await messageOf(() => odd), expected)
    assert.equal(await messageOf(() => Promise.resolve(odd)), expected)
  }
})

test('a result of a schema that cannot be read is named with its node, and a path that is not a list is one key', async () => {
  const failed = 'HDL_SCHEMA_FAILED: The schema for the input of "pay" failed:'
  const broken = (): never => {
    throw new Error('broken')
  }
  const results = [
    Object.defineProperty({}, 'issues', { get: broken }),
    { issues: [Object.defineProperty({}, 'message', { get: broken })] },
    { issues: [{ message: { toString: broken } }] },
    { issues: [{ message: 'm', path: [{ toString: broken, key: { toString: broken } }] }] },
    new Proxy({}, { get: broken }),
  ]
  for (const result of results) {
    assert.equal(await messageOf(() => result), `${failed} broken.`)
    assert.equal(await messageOf(async () => result), `${failed} broken.`)
  }
  const wrong = 'HDL_WRONG_INPUT: The input of "pay" is wrong:'
  const path = await messageOf(() => ({ issues: [{ message: 'm', path: 'amount' }] }))
  assert.equal(path, `${wrong} amount: m.`)
  const none = await messageOf(() => ({ issues: [{ message: 'm', path: null }] }))
  assert.equal(none, `${wrong} m.`)
})

test('the text about a wrong input is bounded, whatever the schema says', async () => {
  const wrong = 'HDL_WRONG_INPUT: The input of "pay" is wrong:'
  const issues = Array.from({ length: 100_000 }, (_, index) => ({
    message: 'm'.repeat(1_000),
    path: [index],
  }))
  const many = await messageOf(() => ({ issues }))
  assert.ok(many.length < 5_000, String(many.length))
  assert.match(many, /; and 99980 more\.$/)
  const path = Array.from({ length: 100_000 }, (_, index) => index)
  const deep = await messageOf(() => ({ issues: [{ message: 'wrong', path }] }))
  assert.match(deep, /: 0\.1\.2\..*\.19\.…: wrong\.$/)
  assert.equal(await messageOf(() => ({ issues: [] })), `${wrong} its schema gives no reason.`)
  const odd = [null, { message: 5, path: [Symbol('s'), null, { key: 'k' }] }]
  assert.equal(
    await messageOf(() => ({ issues: odd })),
    `${wrong} undefined; Symbol(s).undefined.k: 5.`,
  )
})

test('every wrong input of a graph is named, each with the path of its field', async () => {
  const pay = job({ name: 'pay', input: order }, ({ amount }) => amount)
  const late = job({ name: 'late', input: schemaOf(async () => wrongFields(2)) }, () => 1)
  const graph = new Graph()
  graph.add('first', pay, { input: { amount: -1 } })
  graph.add('good', pay, { input: { amount: 1 } })
  graph.add('second', late)
  graph.add('made later', pay, { input: () => ({ amount: -1 }) })
  graph.add('third', pay, { input: { amount: 0 } })
  await assert.rejects(run(graph), {
    code: 'HDL_WRONG_INPUT',
    message: [
      'The inputs of 3 nodes are wrong:',
      '  "first": order.amount: must be positive',
      '  "second": list.0: wrong; list.1: wrong',
      '  "third": order.amount: must be positive',
    ].join('\n'),
  })
})

test('for many wrong inputs, 20 fields are named and the rest is counted', async () => {
  const graph = new Graph()
  for (let node = 0; node < 1_000; node++) {
    const wrong = job({ name: 'wrong', input: schemaOf(() => wrongFields(8)) }, () => 1)
    graph.add(`node ${node}`, wrong)
  }
  const error = await run(graph).then(
    () => assert.fail('accepted'),
    (thrown: Error) => thrown,
  )
  const lines = error.message.split('\n')
  assert.equal(lines[0], 'The inputs of 1000 nodes are wrong:')
  assert.equal(error.message.match(/: wrong/g)?.length, 20)
  assert.equal(
    lines[3],
    '  "node 2": list.0: wrong; list.1: wrong; list.2: wrong; list.3: wrong; and 4 more',
  )
  assert.equal(lines[4], '  and 7976 more in 997 nodes')
  assert.equal(lines.length, 5)
})

/** The result of a schema for an input with this many wrong fields. */
function wrongFields(count: number): unknown {
  return {
    issues: Array.from({ length: count }, (_, index) => ({
      message: 'wrong',
      path: ['list', index],
    })),
  }
}

test('a schema that never answers is left after the timeout of its node, and at a cancel', async () => {
  const clock = new VirtualClock()
  const kernel = { ...systemKernel, clock }
  const never = schemaOf(() => new Promise(() => {}))
  const make = (timeout?: number): Graph => {
    const graph = new Graph()
    const pay = job(
      { name: 'pay', input: never, ...(timeout !== undefined && { timeout }) },
      () => 1,
    )
    graph.add('pay', pay)
    return graph
  }
  const what = 'The schema for the input of "pay" timed out after'
  const own = assert.rejects(startRun(make(300), { kernel }), { message: `${what} 300 ms.` })
  await clock.runUntil(own)
  const limit = { kernel, timeout: 2_000 }
  await clock.runUntil(assert.rejects(startRun(make(), limit), { message: `${what} 2000 ms.` }))
  const controller = new AbortController()
  const cancelled = run(make(), { kernel, signal: controller.signal })
  await clock.settle()
  controller.abort()
  const result = await clock.runUntil(cancelled)
  assert.deepEqual(result.skipped, ['pay'])
  // While it continues, it is a part of the attempt.
  const graph = new Graph()
  const first = graph.add(
    'first',
    job({ name: 'first' }, () => 1),
  )
  const late = job({ name: 'late', input: never, timeout: 400 }, () => 1)
  graph.add('late', late, { after: [first], input: () => 1 })
  const { failed } = await clock.runUntil(run(graph, { kernel }))
  assert.match(String(failed.get('late')), /did not stop within 2000 ms after its signal aborted/)
  assert.equal(clock.pending, 0)
})

test('needs gets the output of the schema, in nodes, elements and steps', async () => {
  const seen: unknown[] = []
  const double: InputSchema<number, number> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) =>
        typeof value === 'number' ? { value: value * 2 } : { issues: [{ message: 'no number' }] },
    },
  }
  const work = job(
    { name: 'work', input: double, needs: (n) => (seen.push(['needs', n]), {}) },
    (n) => (seen.push(['run', n]), n),
  )
  const runs = async (make: (graph: Graph) => unknown): Promise<unknown[]> => {
    seen.length = 0
    const graph = new Graph()
    make(graph)
    const { ok } = await run(graph)
    assert.equal(ok, true)
    return [...seen]
  }
  const expected = [
    ['needs', 2],
    ['run', 2],
  ]
  assert.deepEqual(await runs((graph) => graph.add('node', work, { input: 1 })), expected)
  assert.deepEqual(await runs((graph) => graph.map('map', work, { over: () => [1] })), expected)
  const flow = job({ name: 'flow' }, (_: void, ctx) => ctx.run(work, 1))
  assert.deepEqual(await runs((graph) => graph.add('flow', flow)), expected)
})

test('an element whose needs cannot be computed fails alone', async () => {
  const work = job(
    { name: 'work', input: order, retries: 3, retryBaseDelay: 1 },
    ({ amount }) => amount,
  )
  const graph = new Graph()
  const all = graph.map('all', work, {
    over: () => [{ amount: 1 }, { amount: -1 }, { amount: 3 }],
    needs: ({ amount }) => {
      if (amount === 3) throw new Error('no such limit')
      return {}
    },
    failures: 'collect',
  })
  const outcome = await run(graph).then((result) => result.of(all))
  const text = outcome.map((each) => (each.ok ? each.value : each.error.message))
  const wrong = 'The input of "all[1]" is wrong: order.amount: must be positive.'
  assert.deepEqual(text, [1, wrong, 'no such limit'])
})
