import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Tag } from '../../src/codec/tags.ts'
import { decode, encode } from './support.ts'

const damaged = {
  code: 'HDL_STORE_FAILED',
  message: /A stored value could not be read: at byte \d+/,
}

test('data that ends too early, is too long or is invalid is refused', () => {
  const whole = encode({ list: [1, 'two', 3.5, new Uint8Array(20)], map: new Map([[1, 2]]) })
  for (let length = 0; length < whole.length; length++) {
    assert.throws(() => decode(whole.slice(0, length)), damaged, `cut at ${length}`)
  }
  assert.throws(() => decode(new Uint8Array([...whole, 0])), damaged)
  const bytes: number[][] = [
    [99],
    [Tag.object, 5],
    [Tag.array, 255, 255, 255, 255, 15],
    [Tag.array, 128, 128, 128, 128, 128, 128],
    [Tag.ascii, 200, 1, 65],
    [Tag.binary, 99, 0],
    [Tag.binary, 10, 3, 0, 0, 0, 0, 0, 1, 2, 3],
    [Tag.shape, 1, Tag.null],
    [Tag.hole],
    [Tag.holes, 2],
    [Tag.array, 2, Tag.holes, 3],
    [Tag.map, 1, Tag.holes, 2],
    [Tag.array, 2, Tag.holes, 255, 255, 255, 255, 15],
    [Tag.dictionary, 1, 0x81],
  ]
  for (const each of bytes) assert.throws(() => decode(new Uint8Array(each)), damaged, String(each))
})

test('property: any bytes give a value or an error, never anything else', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      try {
        decode(bytes.slice())
      } catch (error) {
        assert.ok(error instanceof Error)
      }
    }),
    { numRuns: 2000 },
  )
})

test('property: one changed byte is an error or another value, and never takes long', () => {
  const value = { text: 'x'.repeat(50), list: Array.from({ length: 20 }, (_, i) => ({ i })) }
  const whole = encode(value)
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.nat(255), (at, byte) => {
      const changed = whole.slice()
      changed[at] = byte
      try {
        decode(changed)
      } catch {
        // Refused.
      }
    }),
    { numRuns: 2000 },
  )
})

test('bytes that are most of the value are not copied; a few in a large value are', () => {
  const large = encode(new Uint8Array(100_000).fill(1))
  const view = decode(large) as Uint8Array
  assert.equal(view.buffer, large.buffer)
  const mixed = encode({ text: 'x'.repeat(100_000), bytes: new Uint8Array(100).fill(2) })
  const { bytes } = decode(mixed) as { bytes: Uint8Array }
  assert.notEqual(bytes.buffer, mixed.buffer)
  assert.deepEqual(bytes, new Uint8Array(100).fill(2))
  const doubles = encode(new Float64Array([1, 2, 3, 4]))
  assert.equal((decode(doubles) as Float64Array).buffer, doubles.buffer, 'they are aligned')
})
