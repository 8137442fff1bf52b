import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Encoder } from '../../src/codec/encoder.ts'
import { oneByte } from '../../src/codec/one-byte.ts'

function encoded(value: unknown): number[] {
  const encoder = new Encoder('x', value, Infinity)
  assert.ok(encoder.step(Infinity))
  return [...encoder.takeWhole()!]
}

test('it is the byte of the encoder, for all values that take one', () => {
  const values = fc.oneof(
    fc.constantFrom(
      null,
      true,
      false,
      0,
      -0,
      127,
      128,
      -1,
      0.5,
      2 ** 32,
      2 ** 32 + 1,
      NaN,
      Infinity,
    ),
    fc.integer({ min: -300, max: 300 }),
    fc.double(),
    fc.string(),
    fc.constantFrom([], {}),
  )
  fc.assert(
    fc.property(values, (value) => {
      const bytes = encoded(value)
      const byte = oneByte(value)
      assert.deepEqual(byte === undefined ? [] : [byte], bytes.length === 1 ? bytes : [])
    }),
  )
})
