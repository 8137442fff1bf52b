import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { VirtualClock } from '@heddle/core/testing'
import {
  callerHeader,
  Forwarder,
  forwardHeader,
  type ForwardRequest,
} from '../../src/cluster/forward.ts'
import type { Members } from '../../src/cluster/members.ts'
import type { Caller } from '../../src/http/caller.ts'

const ann: Caller = {
  kind: 'token',
  id: 't1',
  name: 'Ann’s token',
  tenant: 'acme',
  roles: ['operator'],
  scopes: ['submit'],
}

const request: ForwardRequest = {
  method: 'POST',
  url: '/jobs/a?wait=1',
  body: '1',
  headers: { authorization: 'Bearer secret', cookie: 'heddle_session=1', traceparent: '00-1' },
  caller: ann,
  id: 'request-1',
  signal: new AbortController().signal,
  deadline: 1_000,
}

/** Two servers: the first forwards to the second over `fetch`, which the test answers. */
function setUp(secrets: readonly string[] = ['s'.repeat(16)]) {
  const clock = new VirtualClock()
  let address: string | undefined = 'http://127.0.0.1:1'
  let isHanging = false
  const members = {
    isLocal: () => address === undefined,
    addressOf: async () => (isHanging ? new Promise(() => undefined) : address),
    others: async () => ({ addresses: ['http://127.0.0.1:1', 'http://127.0.0.1:2'], unknown: 1 }),
  } as unknown as Members
  return {
    clock,
    /** The store does not answer. */
    hang: () => (isHanging = true),
    become: (next: string | undefined) => (address = next),
    make: (own = secrets) => new Forwarder({ members, secrets: own, clock }),
  }
}

/** The request as the second server sees it. */
function arrived(sent: Headers): ForwardRequest {
  return { ...request, headers: Object.fromEntries(sent) }
}

test('F2, F3, F4: only a request signed with one of the two secrets counts as forwarded, and comes from its caller', async (t) => {
  const { clock, make } = setUp()
  let sent: Headers | undefined
  t.mock.method(globalThis, 'fetch', async (_: URL, init: { headers: Headers }) => {
    sent = init.headers
    return new Response('{}', {
      status: 202,
      headers: { location: '/results/h/0', 'x-other': '1' },
    })
  })
  const answer = await make().forward('h', request)
  assert.deepEqual([answer?.status, answer?.body.toString()], [202, '{}'])
  assert.equal(answer?.headers['location'], '/results/h/0')
  assert.equal(answer?.headers['x-other'], undefined)
  // F4, F5.
  assert.equal(sent!.get('authorization'), null)
  assert.equal(sent!.get('cookie'), null)
  assert.equal(sent!.get('traceparent'), '00-1')
  assert.equal(sent!.get('x-request-id'), 'request-1')
  const signed = arrived(sent!)
  const proof = make().proofOf(signed)
  assert.deepEqual(proof?.caller, ann)
  assert.deepEqual(
    [proof?.isBody('1'), proof?.isBody('2'), proof?.isBody(undefined)],
    [true, false, false],
  )
  assert.ok(make(['n'.repeat(16), 's'.repeat(16)]).proofOf(signed))
  assert.equal(make(['n'.repeat(16)]).proofOf(signed), undefined)
  assert.equal(make().proofOf({ ...signed, url: '/jobs/b' }), undefined)
  assert.equal(make().proofOf({ ...signed, method: 'DELETE' }), undefined)
  const admin = Buffer.from(JSON.stringify({ ...ann, roles: ['admin'] })).toString('base64url')
  const raised = { ...signed, headers: { ...signed.headers, [callerHeader]: admin } }
  assert.equal(make().proofOf(raised), undefined)
  assert.equal(make().proofOf(request), undefined)
  for (const value of ['', '1', 'NaN.x.y', `${clock.wallTime()}.00.00`, `Infinity.00.00`]) {
    const headers = { [forwardHeader]: value, [callerHeader]: admin }
    assert.equal(make().proofOf({ ...request, headers }), undefined)
  }
  await clock.advance(61_000)
  assert.equal(make().proofOf(signed), undefined)
})

test('F1: a forwarded request is not forwarded again; the first server searches for the owner until the deadline', async (t) => {
  const { clock, make, become } = setUp()
  let answers = 0
  let sent: Headers | undefined
  t.mock.method(globalThis, 'fetch', async (_: URL, init: { headers: Headers }) => {
    sent = init.headers
    answers++
    if (answers === 2) throw new TypeError('fetch failed')
    return answers < 4
      ? new Response('{"error":{"code":"not_owner"}}', { status: 503 })
      : new Response('1', { status: 200 })
  })
  const forwarder = make()
  const found = forwarder.forward('h', request)
  await clock.advance(300)
  assert.equal((await found)?.body.toString(), '1')
  assert.deepEqual([answers, forwarder.forwarded], [4, 1])
  const again = arrived(sent!)
  await assert.rejects(make().forward('h', again), {
    code: 'HDL_NOT_OWNER',
    message: /Its owner is at http:\/\/127\.0\.0\.1:1/,
  })
  assert.deepEqual(await make().askOthers(again), { answers: [], missing: 0 })
  assert.equal(answers, 4)
  become(undefined)
  assert.equal(await make().forward('h', again), undefined)
})

for (const [who, header, deadline, within] of [
  ['the deadline of a patient caller', '60000', 60_000, 60_000],
  ['the deadline of a caller in a hurry', '1000', 1_000, 1_000],
  ['twelve seconds for a caller without a deadline', undefined, 600_000, 12_000],
  ['the limit of the server, where that is shorter', undefined, 5_000, 5_000],
] as const) {
  test(`F7: an owner that cannot be reached is searched for until ${who}`, async (t) => {
    const { clock, make } = setUp()
    let tries = 0
    t.mock.method(globalThis, 'fetch', async () => {
      tries++
      throw new TypeError('fetch failed')
    })
    const headers = { ...request.headers, ...(header && { 'x-deadline-ms': header }) }
    let isOver = false
    const settled = assert.rejects(
      make().forward('h', { ...request, headers, deadline }),
      ({ code, details }) => {
        isOver = true
        return code === 'HDL_NOT_OWNER' && details.retryAfter > 0
      },
    )
    await clock.advance(within - 200)
    assert.equal(isOver, false)
    await clock.advance(200)
    await settled
    assert.ok(tries >= within / 100 - 1)
    assert.equal(clock.pending, 0)
  })
}

test('F7: a client that leaves ends the search for the owner', async (t) => {
  const { clock, make } = setUp()
  t.mock.method(globalThis, 'fetch', async () => {
    throw new TypeError('fetch failed')
  })
  const left = new AbortController()
  const leaving = make().forward('h', { ...request, signal: left.signal, deadline: 600_000 })
  await clock.advance(50)
  left.abort(new Error('left'))
  await assert.rejects(leaving, /left/)
  assert.equal(clock.pending, 0)
})

test('F7: a server that accepts a call and never answers is given up a second after the deadline', async (t) => {
  const { clock, make } = setUp()
  const signals: AbortSignal[] = []
  t.mock.method(globalThis, 'fetch', (_: URL, { signal }: { signal: AbortSignal }) => {
    signals.push(signal)
    return new Promise(() => undefined)
  })
  const settled = assert.rejects(make().forward('h', request), { code: 'HDL_NOT_OWNER' })
  await clock.advance(1_999)
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [false],
  )
  await clock.advance(1)
  await settled
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true],
  )
  assert.equal(clock.pending, 0)
})

test('F7: a store that does not name the owner ends a call at its deadline', async () => {
  const { clock, make, hang } = setUp()
  hang()
  const settled = assert.rejects(make().forward('h', request), { code: 'HDL_TIMEOUT' })
  await clock.advance(1_000)
  await settled
  assert.equal(clock.pending, 0)
})

test('C6: servers that do not answer are counted', async (t) => {
  const { make } = setUp()
  t.mock.method(globalThis, 'fetch', async (url: URL) => {
    if (url.port === '2') throw new TypeError('fetch failed')
    return new Response(new Uint8Array([0, 255, 1]), { status: 200 })
  })
  const { answers, missing } = await make().askOthers(request)
  assert.equal(missing, 2)
  assert.deepEqual(
    answers.map(({ body }) => [...body]),
    [[0, 255, 1]],
  )
})

test('F7: a stream that falls silent ends with an error, however long it has run before', async (t) => {
  const { clock, make } = setUp()
  let give: (piece: string) => void = () => undefined
  let isLeft = false
  t.mock.method(globalThis, 'fetch', async () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        give = (piece) => controller.enqueue(Buffer.from(piece))
      },
      cancel: () => {
        isLeft = true
      },
    })
    return new Response(body, { status: 200 })
  })
  const answer = await make().forwardStream('h', request)
  assert.ok(answer !== undefined && 'stream' in answer)
  const pieces = answer.stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  // Each piece has the whole time, and the deadline of the caller is over by now.
  for (const piece of ['a', 'b', 'c']) {
    const next = pieces.next()
    await clock.advance(29_000)
    give(piece)
    assert.equal(String((await next).value), piece)
  }
  const last = assert.rejects(pieces.next(), { code: 'HDL_TIMEOUT' })
  await clock.advance(30_000)
  await last
  while (!isLeft) await turn()
})

test('F7: time in which the client does not read is not counted, and a stream that is left closes its connection', async (t) => {
  const { clock, make } = setUp()
  let isLeft = false
  t.mock.method(globalThis, 'fetch', async () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(Buffer.from('a')),
      cancel: () => {
        isLeft = true
      },
    })
    return new Response(body, { status: 200 })
  })
  const answer = await make().forwardStream('h', request)
  assert.ok(answer !== undefined && 'stream' in answer)
  const { stream } = answer
  await clock.advance(600_000)
  assert.equal(stream.destroyed, false)
  stream.destroy()
  while (!isLeft) await turn()
})
