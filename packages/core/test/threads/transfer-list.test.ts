import assert from 'node:assert/strict'
import { test } from 'node:test'
import { transferOf } from '../../src/threads/transfer-list.ts'

const large = 1024 * 1024

test('a large buffer that the result owns as a whole is moved', () => {
  const bytes = new Uint8Array(large)
  assert.deepEqual(transferOf(bytes), [bytes.buffer])
  assert.deepEqual(transferOf(bytes.buffer), [bytes.buffer])
  assert.deepEqual(transferOf(new Float64Array(bytes.buffer)), [bytes.buffer])
  assert.deepEqual(transferOf({ width: 2, data: bytes, again: bytes }), [bytes.buffer])
  assert.deepEqual(transferOf([bytes, 1]), [bytes.buffer])
})

test('small buffers, parts, pools and shared memory are copied', () => {
  assert.equal(transferOf(new Uint8Array(100)), undefined)
  assert.equal(transferOf(new Uint8Array(large).subarray(1)), undefined)
  assert.equal(transferOf(Buffer.from('from the pool')), undefined)
  assert.equal(transferOf(new Uint8Array(new SharedArrayBuffer(large))), undefined)
})

test('other results are not searched', () => {
  const bytes = new Uint8Array(large)
  for (const value of [
    undefined,
    null,
    1,
    'x',
    new Map([['a', bytes]]),
    new (class {
      a = bytes
    })(),
  ]) {
    assert.equal(transferOf(value), undefined)
  }
  assert.equal(transferOf(Array.from({ length: 17 }, () => bytes)), undefined)
})

test('a buffer that was transferred before is refused, not sent empty', () => {
  const bytes = new Uint8Array(large)
  structuredClone(bytes, { transfer: [bytes.buffer] })
  assert.throws(() => transferOf(bytes), /given away with an earlier result/)
  assert.throws(() => transferOf({ bytes }), /given away with an earlier result/)
})
