import assert from 'node:assert/strict'
import { test } from 'node:test'
import { giveAway, joinBytes } from '../../src/sqlite/own-bytes.ts'

function given(bytes: Uint8Array<ArrayBuffer>): number {
  const transfer: ArrayBuffer[] = []
  giveAway(bytes, transfer)
  giveAway(bytes, transfer)
  structuredClone(0, { transfer })
  return transfer.length
}

test('B1: only an array that covers its own memory is given away, once', () => {
  assert.equal(given(new Uint8Array(16 * 1024)), 1)
  assert.equal(given(new Uint8Array(16 * 1024 - 1)), 0)
  assert.equal(given(new Uint8Array(40_000).subarray(1)), 0)
  assert.equal(given(Buffer.from(new ArrayBuffer(65_536), 64, 20_000)), 0)
  // Whether it comes from the pool depends on the version of Node.
  const joined = Buffer.concat([Buffer.alloc(20_000)])
  const isOwn = joined.buffer.byteLength === joined.length
  assert.equal(given(joined), isOwn ? 1 : 0)
})

test('B2: pieces are joined in memory of their own', () => {
  const own = Uint8Array.of(1, 2)
  assert.equal(joinBytes([own]), own)
  const part = Uint8Array.of(1, 2, 3).subarray(1)
  assert.deepEqual(joinBytes([part]), Uint8Array.of(2, 3))
  assert.equal(joinBytes([part]).buffer.byteLength, 2)
  assert.deepEqual(joinBytes([own, part]), Uint8Array.of(1, 2, 2, 3))
  assert.deepEqual(joinBytes([]), new Uint8Array(0))
})
