import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { carryStreams } from '../../src/threads/streams.ts'
import { turn } from './fixtures/support.ts'

function source(chunks = Infinity) {
  const seen = { pulls: 0, cancelledWith: undefined as unknown, isCancelled: false }
  const stream = new ReadableStream(
    {
      pull(controller) {
        if (seen.pulls === chunks) controller.close()
        else controller.enqueue(seen.pulls++)
      },
      cancel(reason) {
        seen.isCancelled = true
        seen.cancelledWith = reason
      },
    },
    { highWaterMark: 0 },
  )
  return { stream, seen }
}

test('an input without streams has nothing to carry', () => {
  const deep = { a: { b: { c: { d: { e: source().stream } } } } }
  for (const input of [1, null, 'x', { a: [1] }, new Map(), () => 0, deep]) {
    assert.equal(carryStreams(input), undefined)
  }
})

test('streams are found in plain objects and arrays, and other values are unchanged', () => {
  const { stream } = source()
  const map = new Map()
  const input = { body: stream, parts: [1, { second: source().stream }], map }
  const carried = carryStreams(input)!
  const copy = carried.input as typeof input
  assert.equal(carried.transfer.length, 2)
  assert.equal(copy.map, map)
  assert.equal(copy.parts[0], 1)
  assert.equal(input.body, stream, 'the input itself is not changed')
  assert.ok(stream.locked)
  carried.end(undefined)
})

test('nothing is read before the other side asks, then chunk by chunk to the end', async () => {
  const { stream, seen } = source(3)
  const carried = carryStreams(stream)!
  await turn()
  assert.equal(seen.pulls, 0)
  const reader = (carried.input as ReadableStream).getReader()
  assert.deepEqual(await reader.read(), { done: false, value: 0 })
  assert.equal(seen.pulls, 1)
  assert.deepEqual(await reader.read(), { done: false, value: 1 })
  assert.deepEqual(await reader.read(), { done: false, value: 2 })
  assert.equal((await reader.read()).done, true)
  carried.end(undefined)
  assert.equal(seen.isCancelled, false)
})

test('ending cancels the unread part, twice is harmless', async () => {
  const { stream, seen } = source()
  const carried = carryStreams({ stream })!
  carried.end('enough')
  carried.end('enough')
  await turn()
  assert.equal(seen.cancelledWith, 'enough')
})

test('the receiving side cancels the source', async () => {
  const { stream, seen } = source()
  const carried = carryStreams(stream)!
  await (carried.input as ReadableStream).cancel('no more')
  assert.equal(seen.cancelledWith, 'no more')
})

test('a node stream is carried too, and destroyed when it is not read', async () => {
  const readable = Readable.from(['a', 'b'])
  const carried = carryStreams(readable)!
  assert.ok(carried.input instanceof ReadableStream)
  carried.end(undefined)
  await turn()
  assert.ok(readable.destroyed)
})

test('a stream with another reader is refused', () => {
  const { stream } = source()
  stream.getReader()
  assert.throws(() => carryStreams(stream), TypeError)
})
