/** Results by their handle: pending, there, failed, deleted. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError } from '@heddle/core'
import { serveJob, startServer, type ItemInput, type ServedJob } from '../../src/index.ts'
import { handleOf } from '../../src/jobs/handle.ts'
import { begin, call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { cancel, compute, fetchResult, long, quiet, submit, waiting } from '../support/http.ts'

interface TwoStages {
  readonly load: Gate
  readonly plot: Gate<ItemInput<unknown>>
  readonly two: ServedJob
}

function twoStages(total = 3): TwoStages {
  const load = new Gate('load')
  const plot = new Gate<ItemInput<unknown>>('plot')
  return { load, plot, two: serveJob({ name: 'two', prepare: load.job, item: plot.job, total }) }
}

test('S18 an index that does not exist is refused while the work is pending', async () => {
  const { load, plot, two } = twoStages(20)
  await using server = await startServer({ jobs: [two], port: 0, errorDetails: 'everyone' })
  const { handle } = (await submit(server, 'two', 'csv').reply).body
  for (const index of [-20, -99_999, 1]) {
    const { status, body } = await fetchResult(server, handle, index, long).reply
    assert.deepEqual([status, body.error?.code], [400, 'bad_request'], `${index}`)
    assert.match(body.error!.message, /it has 0 to -19/)
  }
  for (const index of ['x', '0.5', '-', '1e1', '-12345678901']) {
    const { status } = await call(server, `/results/${String(handle)}/${index}`)
    assert.equal(status, 400, index)
  }
  assert.equal((await fetchResult(server, handle, -19).reply).status, 202)
  ;(await load.started()).finish('rows')
  for (let number = 1; number <= 20; number++) (await plot.started(number)).finish(number)
  await quiet(server)
  assert.equal((await fetchResult(server, handle, -20).reply).status, 400)
})

test('a handle that was never submitted is unknown, whatever it looks like', async () => {
  const { two } = twoStages()
  await using server = await startServer({ jobs: [two], port: 0, errorDetails: 'everyone' })
  const handles = [`two-${'0'.repeat(64)}`, `other-${'0'.repeat(64)}`, 'two', '__proto__', 'a%2Fb']
  for (const handle of handles) {
    const { status, body } = await call(server, `/results/${handle}/0`)
    assert.deepEqual([status, body.error?.code], [404, 'not_found'], handle)
  }
  assert.equal((await call(server, '/results/%00/0')).status, 400)
  assert.equal(
    (await call(server, `/results/${'x'.repeat(5_000)}/0`)).body.error?.code,
    'too_large',
  )
})

test('each result is announced when it is there, and found later', async () => {
  const { load, plot, two } = twoStages(3)
  await using server = await startServer({
    jobs: [two],
    port: 0,
    errorDetails: 'everyone',
    limits: { loop: 3 },
  })
  const { body } = await submit(server, 'two', 'csv').reply
  assert.deepEqual([body['total'], body['index'], body['state']], [3, 0, 'pending'])
  const { handle } = body
  const all = [0, -1, -2].map((index) => fetchResult(server, handle, index, long))
  await waiting(server, 3)
  ;(await load.started()).finish('rows')
  await plot.started(3)
  const of = (index: number): (typeof plot.starts)[number] =>
    plot.starts.find(({ input }) => input.index === index)!
  for (const index of [-1, -2, 0]) {
    of(index).finish(`plot ${index}`)
    const answer = await all[-index]!.reply
    assert.deepEqual([answer.status, answer.body['result']], [200, `plot ${index}`])
  }
  await quiet(server)
  for (const index of [0, -1, -2]) {
    const later = await fetchResult(server, handle, index).reply
    assert.deepEqual([later.status, later.body['result']], [200, `plot ${index}`])
  }
  assert.equal((await submit(server, 'two', 'csv').reply).body['state'], 'done')
  assert.equal(plot.starts.length, 3)
})

test('W8 one result fails: its waiting client is answered, others are served, later GETs report it, a new submit tries again', async () => {
  const { load, plot, two } = twoStages(3)
  await using server = await startServer({
    jobs: [two],
    port: 0,
    errorDetails: 'everyone',
    limits: { loop: 3 },
  })
  const all = [0, -1, -2].map((index) => compute(server, 'two', 'csv', { query: `index=${index}` }))
  await waiting(server, 3)
  ;(await load.started()).finish('rows')
  await plot.started(3)
  for (const { input, finish, fail } of plot.starts) {
    if (input.index === -1) fail(new Error('no such row'))
    else finish(input.index)
  }
  const [newest, failed, oldest] = await Promise.all(all.map(({ reply }) => reply))
  assert.deepEqual([newest!.status, oldest!.status], [200, 200])
  assert.deepEqual([failed!.status, failed!.body.error?.code], [500, 'job_failed'])
  assert.match(failed!.body.error!.message, /no such row/)
  await quiet(server)
  const { handle } = newest!.body
  const later = await fetchResult(server, handle, -1).reply
  assert.deepEqual([later.status, later.body.error?.code], [500, 'job_failed'])
  assert.equal(plot.starts.length, 3, 'asking is not computing')
  const again = compute(server, 'two', 'csv', { query: 'index=-1' })
  ;(await plot.started(4)).finish('this time')
  assert.equal((await again.reply).body['result'], 'this time')
  await quiet(server)
  assert.equal(load.starts.length, 1, 'the first stage was stored')
  assert.equal(plot.starts.length, 4, 'so were the other results')
  assert.equal((await fetchResult(server, handle, -1).reply).body['result'], 'this time')
})

test('W8 the first stage fails: 500 for all waiting clients, a later GET reports it, a new submit computes again', async () => {
  const { load, plot, two } = twoStages(1)
  await using server = await startServer({ jobs: [two], port: 0, errorDetails: 'everyone' })
  const waits = compute(server, 'two', 'csv')
  await load.started()
  const { handle } = (await submit(server, 'two', 'csv').reply).body
  const asks = fetchResult(server, handle, 0, long)
  await waiting(server, 2)
  load.starts[0]!.fail(new RangeError('too many rows'))
  for (const { status, body } of await Promise.all([waits.reply, asks.reply])) {
    assert.deepEqual(
      [status, body.error?.code, body.error?.message],
      [500, 'job_failed', 'too many rows'],
    )
  }
  await quiet(server)
  assert.equal((await fetchResult(server, handle).reply).status, 500)
  const again = compute(server, 'two', 'csv')
  ;(await load.started(2)).finish('rows')
  ;(await plot.started()).finish('plot')
  assert.equal((await again.reply).status, 200)
  assert.equal((await fetchResult(server, handle).reply).status, 200)
  await quiet(server)
})

test('W8 whatever a job throws is a failure: reported to waiting clients, and to later ones', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, errorDetails: 'everyone' })
  const throws = (): never => {
    throw new Error('not today')
  }
  const thrown: unknown[] = [
    undefined,
    null,
    'a text',
    0,
    Object.create(null),
    new Error(''),
    new HeddleError('HDL_DRAINING', { what: 'Another server' }),
    new HeddleError('HDL_CANCELLED', { what: 'A part', source: 'user' }),
    new HeddleError('HDL_STORE_FAILED', { store: 'A file', action: 'be read', cause: 'none' }),
    Object.assign(new Error('large'), { code: 'FST_ERR_CTP_BODY_TOO_LARGE', statusCode: 413 }),
    new Proxy({}, { get: throws, getPrototypeOf: throws, ownKeys: throws }),
    Object.defineProperty(new Error('x'), 'code', { get: throws }),
    Object.defineProperty(new Error('x'), 'message', { get: throws }),
  ]
  for (const [number, error] of thrown.entries()) {
    const { reply } = compute(server, 'work', number)
    await gate.started(number + 1)
    const { handle } = (await submit(server, 'work', number).reply).body
    gate.starts[number]!.fail(error)
    const { status, body } = await reply
    assert.deepEqual([status, body.error?.code], [500, 'job_failed'], `${number}`)
    await quiet(server)
    const later = await fetchResult(server, handle).reply
    assert.deepEqual([later.status, later.body.error?.code], [500, 'job_failed'], `${number}`)
  }
})

test('deleted, then fetched: unknown; submitted again: computed again', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, errorDetails: 'everyone' })
  const first = compute(server, 'work', 1)
  ;(await gate.started()).finish('old')
  const { handle } = (await first.reply).body
  await quiet(server)
  const deleted = await call(server, '/cache', { body: { action: 'delete', handle } })
  assert.deepEqual(deleted.body, { success: true, handle })
  assert.equal((await fetchResult(server, handle).reply).status, 404)
  const nothing = await call(server, '/cache', { body: { action: 'delete', handle } })
  assert.deepEqual([nothing.status, nothing.body['success']], [200, false])
  const second = compute(server, 'work', 1)
  ;(await gate.started(2)).finish('new')
  assert.deepEqual(
    [(await second.reply).body['handle'], (await second.reply).body['result']],
    [handle, 'new'],
  )
  await quiet(server)
})

for (const action of ['delete', 'flush']) {
  for (const isPromised of [false, true]) {
    const title = isPromised
      ? 'what was promised is there all the same'
      : 'a waiting caller gets the result all the same, and nothing stale is stored'
    test(`S16 ${action} between the stages: ${title}`, async () => {
      const { load, plot, two } = twoStages(2)
      await using server = await startServer({
        jobs: [two],
        port: 0,
        errorDetails: 'everyone',
        limits: { loop: 1 },
      })
      const all = [0, -1].map((index) => compute(server, 'two', 'csv', { query: `index=${index}` }))
      await waiting(server, 2)
      ;(await load.started()).finish('rows')
      await plot.started()
      const handle = handleOf(two, 'csv')
      if (isPromised) assert.equal((await submit(server, 'two', 'csv').reply).status, 202)
      assert.equal((await call(server, '/cache', { body: { action, handle } })).status, 200)
      for (let number = 1; number <= 2; number++)
        (await plot.started(number)).finish(`plot ${number}`)
      const answers = await Promise.all(all.map(({ reply }) => reply))
      assert.deepEqual(
        answers.map(({ body }) => body['result']),
        ['plot 1', 'plot 2'],
      )
      await quiet(server)
      const later = await fetchResult(server, handle).reply
      assert.deepEqual(
        [later.status, later.body['result']],
        isPromised ? [200, 'plot 1'] : [404, undefined],
      )
      assert.equal(server.stats().unstored, isPromised ? 0 : 2)
    })
  }
}

test('missing results are made again from the stored stage, only the requested ones', async () => {
  const { load, plot, two } = twoStages(4)
  await using server = await startServer({
    jobs: [two],
    port: 0,
    errorDetails: 'everyone',
    limits: { loop: 4 },
  })
  const headers = { 'x-request-id': 'mine' }
  const { handle } = (await submit(server, 'two', 'csv', { headers }).reply).body
  ;(await load.started()).finish('rows')
  await plot.started(4)
  await cancel(server, 'mine')
  plot.finishAll()
  await quiet(server)
  const poll = await fetchResult(server, handle, -2).reply
  assert.deepEqual([poll.status, poll.body['state']], [202, 'pending'])
  const asked = fetchResult(server, handle, -2, long)
  await waiting(server, 1)
  const { input, finish } = await plot.started(5)
  assert.deepEqual(input, { prepared: 'rows', index: -2 })
  finish('again')
  assert.equal((await asked.reply).body['result'], 'again')
  await quiet(server)
  assert.equal(plot.starts.length, 5)
  assert.equal(load.starts.length, 1)
})

test('force=true computes again and replaces the stored value, with everything made from it', async () => {
  const { load, plot, two } = twoStages(1)
  await using server = await startServer({ jobs: [two], port: 0, errorDetails: 'everyone' })
  const first = compute(server, 'two', 'csv')
  ;(await load.started()).finish('old rows')
  ;(await plot.started()).finish('old plot')
  const { handle } = (await first.reply).body
  await quiet(server)
  const forced = compute(server, 'two', 'csv', { query: 'force=true' })
  ;(await load.started(2)).finish('new rows')
  ;(await plot.started(2)).finish('new plot')
  assert.equal((await forced.reply).body['result'], 'new plot')
  await quiet(server)
  assert.deepEqual(plot.starts[1]!.input, { prepared: 'new rows', index: 0 })
  assert.equal((await fetchResult(server, handle).reply).body['result'], 'new plot')
})

test('force=true that fails leaves the stored value', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, errorDetails: 'everyone' })
  const first = compute(server, 'work', 1)
  ;(await gate.started()).finish('old')
  const { handle } = (await first.reply).body
  await quiet(server)
  const forced = compute(server, 'work', 1, { query: 'force=true' })
  ;(await gate.started(2)).fail(new Error('not today'))
  assert.equal((await forced.reply).status, 500)
  await quiet(server)
  assert.equal((await fetchResult(server, handle).reply).body['result'], 'old')
})

test('a result may be nothing: it is there, and is not computed again', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, errorDetails: 'everyone' })
  for (const [number, value] of [undefined, null, 0, '', false].entries()) {
    const { reply } = compute(server, 'work', number)
    ;(await gate.started(number + 1)).finish(value)
    const { status, body } = await reply
    assert.deepEqual([status, body['result']], [200, value ?? null])
    await quiet(server)
    const later = await fetchResult(server, body['handle']).reply
    assert.deepEqual([later.status, later.body['result']], [200, value ?? null])
  }
  assert.equal(gate.starts.length, 5)
})

test('W8 a result that can never be stored or sent is a failed job, also for later clients', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, errorDetails: 'everyone' })
  const plain = { name: 'work', version: '' }
  const circular: unknown[] = []
  circular.push(circular)
  const toJSON = (): never => {
    throw new Error('not today')
  }
  const odd = [10n, () => 1, Symbol('s'), circular, { toJSON }, new WeakMap()]
  for (const [number, value] of odd.entries()) {
    const { reply } = compute(server, 'work', number)
    ;(await gate.started(number + 1)).finish(value)
    const { status, body } = await reply
    assert.deepEqual([status, body.error?.code], [500, 'job_failed'], `${number}`)
    await quiet(server)
    const later = await fetchResult(server, handleOf(plain, number)).reply
    assert.deepEqual([later.status, later.body.error?.code], [500, 'job_failed'], `${number}`)
  }
})

test('a HEAD is answered as the GET, without a body', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, errorDetails: 'everyone' })
  const { reply } = compute(server, 'work', 1)
  ;(await gate.started()).finish('result')
  const { handle } = (await reply).body
  await quiet(server)
  const head = await fetch(`${server.url}/results/${String(handle)}/0`, { method: 'HEAD' })
  assert.deepEqual([head.status, await head.text()], [200, ''])
  assert.equal((await begin(server, `/results/${String(handle)}/0`).reply).status, 200)
})

test('a result that failed is not made a second time when it is requested before the others are made', async () => {
  const { load, plot, two } = twoStages(2)
  await using server = await startServer({
    jobs: [two],
    port: 0,
    errorDetails: 'everyone',
    limits: { loop: 2 },
  })
  const { handle } = (await submit(server, 'two', 'csv').reply).body
  const first = fetchResult(server, handle, 0, long)
  await waiting(server, 1)
  ;(await load.started()).finish('rows')
  await plot.started(2)
  const of = (index: number): (typeof plot.starts)[number] =>
    plot.starts.find(({ input }) => input.index === index)!
  of(0).fail(new HeddleError('HDL_TIMEOUT', { what: 'plot', limit: 1 }))
  const told = (await first.reply).body.error?.code
  const late = await fetchResult(server, handle, 0, long).reply
  assert.equal(late.body.error?.code, told)
  of(-1).finish('drawn')
  await quiet(server)
  assert.equal(plot.starts.length, 2)
})
