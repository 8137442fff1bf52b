import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/kernel/clock.ts'
import {
  bulkOf,
  carryInput,
  decodeLarge,
  encodeLarge,
  isLarge,
  type Bulk,
} from '../../src/threads/large.ts'

const entries = (count: number): object[] =>
  Array.from({ length: count }, (_, id) => ({ id, name: `entry ${id}` }))

const carry = (input: unknown, bulk: Bulk, isOver = (): boolean => false) =>
  carryInput('It', input, bulk, systemClock, isOver)

test('only values that take long to clone are large', () => {
  const keyed = Object.fromEntries(entries(5000).map((entry, id) => [`key ${id}`, entry]))
  const deep = entries(500).map((entry) => ({ list: Array.from({ length: 20 }, () => entry) }))
  const large = {
    entries: entries(5000),
    numbers: Array.from({ length: 5000 }, (_, index) => index),
    map: new Map(entries(5000).entries()),
    set: new Set(entries(5000)),
    text: 'x'.repeat(5 * 2 ** 20),
    texts: { a: 'x'.repeat(5 * 2 ** 20) },
    keyed,
    deep,
  }
  for (const [name, value] of Object.entries(large)) assert.equal(isLarge(value), true, name)
  const bytes = new Uint8Array(30 * 2 ** 20)
  for (const value of [
    1,
    'text',
    null,
    undefined,
    {},
    [],
    entries(100),
    bytes,
    { bytes },
    [bytes],
  ]) {
    assert.equal(isLarge(value), false)
  }
})

test('a value with a cycle is searched now and then, with a limit', () => {
  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  assert.equal(isLarge(cycle), true)
  assert.equal(encodeLarge('It', cycle), undefined)
})

test('the bulk of an input is its values, or bytes in its fields', () => {
  const bytes = new Uint8Array(4 * 2 ** 20)
  assert.equal(bulkOf(entries(5000)), 'values')
  for (const input of [bytes, bytes.buffer, { width: 2, bytes }, [1, bytes], Buffer.from(bytes)]) {
    assert.equal(bulkOf(input), 'bytes')
  }
  const shared = new Uint8Array(new SharedArrayBuffer(4 * 2 ** 20))
  for (const input of [3, null, {}, new Uint8Array(10), shared])
    assert.equal(bulkOf(input), undefined)
})

test('values are read back unchanged, in one go and in slices', async () => {
  const value = { list: entries(20_000), map: new Map([['a', [1.5, null]]]), big: 7n }
  const body = encodeLarge('It', value)!
  assert.deepEqual(decodeLarge([body]), value)
  const carried = (await carry(value, 'values'))!
  assert.equal(carried.isEncoded, true)
  assert.deepEqual(decodeLarge(carried.input as Uint8Array<ArrayBuffer>[]), value)
})

test('each buffer that is moved is whole, large enough, and belongs to no one else', async () => {
  const value = { list: entries(50_000), bytes: new Uint8Array(3 * 2 ** 20).fill(7) }
  const { transfer } = (await carry(value, 'values'))!
  assert.equal(new Set(transfer).size, transfer.length)
  structuredClone(transfer, { transfer: [...transfer] })
  assert.equal(value.bytes.length, 3 * 2 ** 20)
})

test('binary data in a large value has a buffer of its own', () => {
  const body = encodeLarge('It', { bytes: new Uint8Array(2 ** 20).fill(3), list: entries(5000) })!
  const { bytes } = decodeLarge([body]) as { bytes: Uint8Array }
  assert.equal(bytes.byteOffset, 0)
  assert.equal(bytes.buffer.byteLength, 2 ** 20)
})

test('bytes are copied: the same kind of view, in the same fields, and the caller keeps its own', async () => {
  const numbers = new Float64Array(2 ** 20).fill(1.5)
  const part = new Uint8Array(8 * 2 ** 20).fill(9).subarray(2 ** 20, 4 * 2 ** 20)
  const input = { numbers, again: numbers, part, raw: new ArrayBuffer(2 ** 22), width: 3 }
  const { input: copy, transfer, isEncoded } = (await carry(input, 'bytes'))!
  assert.equal(isEncoded, false)
  assert.equal(transfer.length, 3)
  const moved = structuredClone(copy as typeof input, { transfer: [...transfer] })
  assert.deepEqual(moved, input)
  assert.equal(moved.numbers, moved.again)
  assert.equal(numbers.length, 2 ** 20)
  const buffer = (await carry(Buffer.alloc(2 ** 22, 5), 'bytes'))!
  assert.deepEqual(buffer.input, new Uint8Array(2 ** 22).fill(5))
})

test('values that the codec does not know are left to structured clone', async () => {
  class Point {
    readonly x = 1
  }
  const points = Array.from({ length: 5000 }, () => new Point())
  assert.equal(encodeLarge('It', points), undefined)
  assert.equal(await carry(points, 'values'), undefined)
})

test('copying and encoding stop when the task has left', async () => {
  let calls = 0
  const isOver = (): boolean => ++calls > 2
  assert.equal(await carry(new Uint8Array(64 * 2 ** 20), 'bytes', isOver), undefined)
  assert.equal(await carry(entries(200_000), 'values', () => true), undefined)
})

test('a value whose properties throw when they are read is left to structured clone', () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  const throwing = {
    get bad(): never {
      throw new Error('no')
    },
  }
  for (const value of [proxy, [proxy], throwing, { throwing }]) {
    assert.equal(isLarge(value), false)
    assert.equal(bulkOf(value), undefined)
  }
})
