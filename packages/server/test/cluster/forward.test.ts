import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '@heddle/core/testing'
import { Forwarder, forwardHeader, type ForwardRequest } from '../../src/cluster/forward.ts'
import type { Members } from '../../src/cluster/members.ts'

const request: ForwardRequest = { method: 'POST', url: '/jobs/a?wait=1', body: '1', headers: {} }

/** Two servers: the first forwards to the second over `fetch`, which the test answers. */
function setUp(secrets: readonly string[] = ['s'.repeat(16)]) {
  const clock = new VirtualClock()
  let address: string | undefined = 'http://127.0.0.1:1'
  const members = {
    isLocal: () => address === undefined,
    addressOf: async () => address,
  } as unknown as Members
  return {
    clock,
    become: (next: string | undefined) => (address = next),
    make: (own = secrets) => new Forwarder({ members, secrets: own, clock }),
  }
}

const options = { signal: new AbortController().signal, deadline: 1_000 }

test('F2, F3: only a request signed with one of the two secrets counts as forwarded', async (t) => {
  const { clock, make } = setUp()
  let sent: Headers | undefined
  t.mock.method(globalThis, 'fetch', async (_: URL, init: { headers: Headers }) => {
    sent = init.headers
    return new Response('{}', {
      status: 202,
      headers: { location: '/results/h/0', 'x-other': '1' },
    })
  })
  const answer = await make().forward('h', request, options)
  assert.deepEqual([answer?.status, answer?.body], [202, '{}'])
  assert.equal(answer?.headers['location'], '/results/h/0')
  assert.equal(answer?.headers['x-other'], undefined)
  const signed = { ...request, headers: { [forwardHeader]: sent!.get(forwardHeader)! } }
  assert.equal(make().isForwarded(signed), true)
  assert.equal(make(['n'.repeat(16), 's'.repeat(16)]).isForwarded(signed), true)
  assert.equal(make(['n'.repeat(16)]).isForwarded(signed), false)
  assert.equal(make().isForwarded({ ...signed, body: '2' }), false)
  assert.equal(make().isForwarded({ ...signed, url: '/jobs/b' }), false)
  assert.equal(make().isForwarded(request), false)
  for (const value of ['', '1', 'NaN.x', `${clock.wallTime()}.00`, `Infinity.00`]) {
    assert.equal(make().isForwarded({ ...request, headers: { [forwardHeader]: value } }), false)
  }
  await clock.advance(61_000)
  assert.equal(make().isForwarded(signed), false)
})

test('F1: a forwarded request is not forwarded again; the first server looks for the owner until the deadline', async (t) => {
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
  const found = forwarder.forward('h', request, options)
  await clock.advance(300)
  assert.equal((await found)?.body, '1')
  assert.deepEqual([answers, forwarder.forwarded], [4, 1])
  const again = { ...request, headers: { [forwardHeader]: sent!.get(forwardHeader)! } }
  await assert.rejects(make().forward('h', again, options), { code: 'HDL_NOT_OWNER' })
  assert.equal(answers, 4)
  become(undefined)
  assert.equal(await make().forward('h', again, options), undefined)
})
