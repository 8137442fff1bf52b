/** Results as bytes: content types, ETag, 304, Range, streams, many readers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytes, job } from '@heddle/core'
import { startServer, type Server } from '../../src/index.ts'
import { Gate } from '../support/gates.ts'
import { compute, fetchResult, quiet, waiting } from '../support/http.ts'

const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>'
const draw = job({ name: 'draw' }, () => bytes(svg, 'image/svg+xml'))
const rows = job({ name: 'rows' }, (count: number) =>
  Array.from({ length: count }, (_, n) => ({ n })),
)

async function handleOf(server: Server, name: string, input: unknown): Promise<string> {
  const { headers } = await fetch(`${server.url}/jobs/${name}`, {
    method: 'POST',
    body: JSON.stringify(input),
    headers: { 'content-type': 'application/json' },
  })
  await quiet(server)
  return headers.get('location')!
}

test('bytes(data, type) is sent unchanged, on POST and on GET, and cannot act as a page of the server', async () => {
  await using server = await startServer({ jobs: [draw], port: 0 })
  const posted = await fetch(`${server.url}/jobs/draw?wait=60000`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(posted.headers.get('content-type'), 'image/svg+xml')
  assert.equal(await posted.text(), svg)
  const address = posted.headers.get('content-location')!
  const fetched = await fetch(server.url + address)
  assert.equal(await fetched.text(), svg)
  assert.equal(fetched.headers.get('content-security-policy'), 'sandbox')
  assert.equal(fetched.headers.get('x-content-type-options'), 'nosniff')
})

test('ETag and 304; a result that was computed again has another tag', async () => {
  await using server = await startServer({ jobs: [rows], port: 0 })
  const address = server.url + (await handleOf(server, 'rows', 3))
  const etag = (await fetch(address)).headers.get('etag')!
  assert.match(etag, /^"[\w-]+"$/)
  for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
    const { status } = await fetch(address, { headers: { 'if-none-match': tag } })
    assert.equal(status, 304, tag)
  }
  assert.equal((await fetch(address, { headers: { 'if-none-match': '"x"' } })).status, 200)
  await compute(server, 'rows', 3, { query: 'force=true' }).reply
  await quiet(server)
  assert.equal((await fetch(address, { headers: { 'if-none-match': etag } })).status, 200)
})

test('Range: 206 with the part, 416 outside, the whole for anything but one range; also of a large result', async () => {
  await using server = await startServer({ jobs: [rows, draw], port: 0 })
  for (const count of [5, 60_000]) {
    const address = server.url + (await handleOf(server, 'rows', count))
    const whole = await (await fetch(address)).text()
    assert.deepEqual((JSON.parse(whole) as { result: unknown[] }).result.length, count)
    const last = whole.length - 1
    const ranges: [range: string, status: number, text: string][] = [
      ['bytes=0-9', 206, whole.slice(0, 10)],
      ['bytes=7-', 206, whole.slice(7)],
      ['bytes=-5', 206, whole.slice(-5)],
      [`bytes=${last}-${last + 100}`, 206, whole.slice(last)],
      [`bytes=3-${last - 3}`, 206, whole.slice(3, -3)],
      ['bytes=0-1,3-4', 200, whole],
      ['rows=0-1', 200, whole],
    ]
    for (const [range, status, text] of ranges) {
      const response = await fetch(address, { headers: { range } })
      assert.equal(response.status, status, range)
      assert.equal(await response.text(), text, range)
    }
    const outside = await fetch(address, { headers: { range: `bytes=${whole.length}-` } })
    assert.equal(outside.status, 416)
    assert.equal(outside.headers.get('content-range'), `bytes */${whole.length}`)
    const other = await fetch(address, { headers: { range: 'bytes=0-1', 'if-range': '"x"' } })
    assert.equal(other.status, 200)
    await other.arrayBuffer()
    const head = await fetch(address, { method: 'HEAD' })
    assert.equal(Number(head.headers.get('content-length')), whole.length)
  }
})

test('many callers that wait for one result get the same bytes, a few in each turn of the loop', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  const first = compute(server, 'work', 1)
  await gate.started()
  const others = Array.from({ length: 200 }, () => compute(server, 'work', 1))
  await waiting(server, 201)
  gate.finishAll(() => 'x'.repeat(10_000))
  for (const { reply } of [first, ...others]) {
    const { status, body } = await reply
    assert.deepEqual([status, (body['result'] as string).length], [200, 10_000])
  }
  assert.equal(gate.starts.length, 1)
  await quiet(server)
  const again = await fetchResult(server, (await first.reply).body['handle']).reply
  assert.equal(again.status, 200)
})
