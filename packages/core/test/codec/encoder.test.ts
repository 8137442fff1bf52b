import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { Decoder } from '../../src/codec/decoder.ts'
import { Encoder } from '../../src/codec/encoder.ts'
import { smallInt, Tag } from '../../src/codec/tags.ts'
import { decode, encode } from './support.ts'

test('plain data is read back unchanged', () => {
  const values: unknown[] = [
    null,
    true,
    false,
    [0, -0, 1, -1, 127, 128, -128, 2 ** 31 - 1, -(2 ** 31), 2 ** 31, 2 ** 53, 1.5, -1e-300],
    [Number.NaN, Infinity, -Infinity],
    [0n, 1n, -1n, 2n ** 200n, -(2n ** 64n)],
    ['', 'short', 'x'.repeat(1000), 'é', 'a\u{1f600}b', 'ж'.repeat(5000)],
    ['\ud800', '\udc00\ud800', `${'x'.repeat(100)}\ud800`],
    [undefined, [], {}, [[[]]]],
    // oxlint-disable-next-line no-sparse-arrays -- holes are what is tested
    [, 1, , undefined, ,],
    { a: 1, b: { a: 2, b: { a: 3 } }, 'key with spaces': 'é', '': 0, 5: 'numeric' },
    Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`key ${index}`, index])),
    new Map<unknown, unknown>([
      ['text', 1],
      [{ an: 'object' }, [new Map(), new Set()]],
    ]),
    new Set([1, 'two', { three: 3 }, new Set([4])]),
    [new Date(0), new Date(1_234_567_890_123)],
    [
      new Uint8Array(0),
      new Uint8Array([1, 2, 3]),
      new ArrayBuffer(5),
      new DataView(new ArrayBuffer(3)),
    ],
    [new Int8Array([-1]), new Uint8ClampedArray([255]), new Int16Array([-2]), new Uint16Array([2])],
    [new Int32Array([-3]), new Uint32Array([3]), new Float32Array([0.5]), new Float64Array([0.1])],
    [new BigInt64Array([-1n]), new BigUint64Array([1n])],
  ]
  for (const value of values) {
    assert.deepStrictEqual(decode(encode(value)), value)
    assert.deepStrictEqual(decode(encode(value, 1), 1), value, 'in the smallest steps')
  }
})

test('a date that is not a time comes back as one', () => {
  const [back] = decode(encode([new Date(Number.NaN)])) as [Date]
  assert.ok(back instanceof Date && Number.isNaN(back.getTime()))
})

/** The assertions of Node 22 find every invalid date different from every other. */
function hasInvalidDate(value: unknown): boolean {
  return inspect(value, { depth: Infinity }).includes('Invalid Date')
}

test('property: plain data is read back unchanged, however it is cut into steps', () => {
  const any = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withSparseArray: true,
    withUnicodeString: true,
    maxDepth: 4,
  })
  const anything = any.filter((value) => !hasInvalidDate(value))
  fc.assert(
    fc.property(anything, fc.integer({ min: 1, max: 500 }), (value, budget) => {
      assert.deepStrictEqual(decode(encode(value, budget), budget), value)
    }),
    { numRuns: 500 },
  )
})

/** Compared by its items: assert would read every hole. */
function sameSparse(actual: unknown, expected: readonly unknown[]): void {
  assert.ok(Array.isArray(actual))
  assert.equal(actual.length, expected.length)
  assert.deepEqual(Object.entries(actual), Object.entries(expected))
}

test('property: an array with holes is read back unchanged, and takes bytes for its items only', () => {
  const gap = fc.oneof(fc.nat(3), fc.nat(5_000), fc.nat(300_000), fc.nat(900_000_000))
  const item = fc.record({ gap, value: fc.constantFrom(undefined, null, 0, 'text', [1], {}) })
  const budget = fc.constantFrom(1, 1_000, 100_000, Infinity)
  fc.assert(
    fc.property(fc.array(item, { maxLength: 4 }), gap, budget, (items, trailing, step) => {
      const value: unknown[] = []
      let length = 0
      for (const each of items) {
        length += each.gap
        value[length++] = each.value
      }
      // Deletes an item: setting the length would take memory for all places.
      if (trailing > 0) {
        value[length + trailing - 1] = 0
        Reflect.deleteProperty(value, length + trailing - 1)
      }
      const bytes = encode(value, step)
      assert.ok(bytes.length <= 6 + (items.length + 1) * 16, `${bytes.length} bytes`)
      sameSparse(decode(bytes, step), value)
      assert.deepEqual(bytes, encode(value), 'the bytes do not depend on the steps')
    }),
    { numRuns: 150 },
  )
})

test('a large hole costs a few steps, and items behind it are found', () => {
  const value: unknown[] = ['first']
  value[4_000_000_000] = { last: true }
  Object.assign(value, { other: 'not an item', '01': 'not an item either' })
  const encoder = new Encoder('key', [value, 7], Infinity)
  let steps = 1
  while (!encoder.step(256 * 1024)) steps++
  assert.ok(steps < 100, `${steps} steps`)
  const [back, next] = decode(encode([value, 7])) as [unknown[], number]
  assert.deepEqual([back.length, next, Object.keys(back)], [4_000_000_001, 7, ['0', '4000000000']])
  assert.deepEqual(back[4_000_000_000], { last: true })
})

test('an item that is deleted while it is written is a hole', () => {
  const value: unknown[] = []
  value[500_000] = 1
  value[900_000] = 2
  const encoder = new Encoder('key', value, Infinity)
  while (encoder.bytes < 8 && !encoder.step(1)) Reflect.deleteProperty(value, 900_000)
  while (!encoder.step(1)) continue
  assert.deepEqual(Object.keys(decode(encoder.takeWhole()!) as object), ['500000'])
})

test('values of before the tag for many holes are read', () => {
  const old = Uint8Array.of(Tag.array, 4, Tag.hole, Tag.hole, smallInt + 5, Tag.hole)
  sameSparse(decode(old), [, , 5, ,]) // oxlint-disable-line no-sparse-arrays -- holes are what is tested
})

test('views are read back as the bytes they show, without the rest of their memory', () => {
  const memory = new Uint8Array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  assert.deepEqual(decode(encode(memory.subarray(3, 6))), new Uint8Array([3, 4, 5]))
  const view = decode(encode(new DataView(memory.buffer, 2, 4))) as DataView
  assert.deepEqual([view.byteLength, view.getUint8(0)], [4, 2])
  assert.deepStrictEqual(decode(encode(Buffer.from('node'))), new Uint8Array([110, 111, 100, 101]))
})

test('objects of other realms and without a prototype are plain', () => {
  const bare = Object.assign(Object.create(null) as object, { a: 1 })
  assert.deepStrictEqual(decode(encode(bare)), { a: 1 })
})

test('a key called __proto__ is data', () => {
  const value: unknown = JSON.parse('{"__proto__": {"isAdmin": true}, "b": 1}')
  const back = decode(encode([value, value])) as { isAdmin?: boolean }[]
  assert.deepStrictEqual(back, [value, value])
  assert.equal(back[0]!.isAdmin, undefined)
  const wide = JSON.parse(
    `{${Array.from({ length: 100 }, (_, i) => `"k${i}": 0`).join()}, "__proto__": {"isAdmin": true}}`,
  ) as object
  assert.deepStrictEqual(decode(encode(wide)), wide)
  assert.equal(Object.getPrototypeOf(decode(encode(wide))), Object.prototype)
})

test('code, classes, shared memory and cycles are refused, with their place', () => {
  class Point {
    x = 1
  }
  const cycle: unknown[] = []
  cycle.push({ again: cycle })
  const refused: [unknown, RegExp][] = [
    [() => 1, /it is a function/],
    [{ a: [1, { f: () => 1 }] }, /\.a\[1\]\.f is a function/],
    [[Symbol('s')], /\[0\] is a symbol/],
    [{ p: new Point() }, /\.p is an instance of Point/],
    [{ list: new (class List extends Array<number> {})() }, /\.list is an instance of List/],
    [new (class Table extends Map<string, number> {})(), /is an instance of Table/],
    [new (class Names extends Set<string> {})(), /is an instance of Names/],
    [new Map([['k', /x/]]), /\.entry\(1\) is an instance of RegExp/],
    [new Error('no'), /instance of Error/],
    [Promise.resolve(), /instance of Promise/],
    [new Uint8Array(new SharedArrayBuffer(8)), /shared/],
    [cycle, /contains itself/],
  ]
  for (const [value, message] of refused) {
    assert.throws(() => encode(value), { code: 'HDL_NOT_CLONEABLE', message })
  }
  assert.throws(() => encode([() => 1]), { message: /^The value of "key" cannot be stored/ })
})

test('the depth of a value is not limited', () => {
  let deep: unknown = 'bottom'
  for (let i = 0; i < 100_000; i++) deep = [deep]
  let back = decode(encode(deep))
  let depth = 0
  for (; Array.isArray(back); depth++) back = back[0]
  assert.deepEqual([depth, back], [100_000, 'bottom'])
})

test('the limit is reported as soon as it is exceeded', () => {
  assert.throws(() => encode(new Uint8Array(5000), Infinity, 4000), {
    code: 'HDL_VALUE_TOO_LARGE',
    details: { key: 'key', bytes: 5008, limit: 4000 },
  })
  const large = new Encoder('key', new Uint8Array(2 ** 26), 2 ** 22)
  let steps = 0
  assert.throws(
    () => {
      for (; !large.step(2 ** 20); steps++) large.take()
    },
    { code: 'HDL_VALUE_TOO_LARGE' },
  )
  assert.ok(steps < 5, 'not at the end')
})

test('S27 a large value takes many small steps, in every form', () => {
  const long = `${'x'.repeat(3 * 2 ** 20)}${'\u{1f600}'.repeat(2 ** 20)}${'\ud800'.repeat(10)}`
  const forms: [string, unknown, number][] = [
    ['bytes', new Uint8Array(8 * 2 ** 20).fill(7), 8],
    ['text', long, 5],
    ['nodes', Array.from({ length: 20_000 }, (_, id) => ({ id, name: `node ${id}` })), 10],
    [
      'bytes inside',
      { other: 'x'.repeat(5 * 2 ** 20), bytes: new Float64Array(2 ** 19).fill(0.5) },
      8,
    ],
  ]
  for (const [name, value, least] of forms) {
    const encoder = new Encoder('key', value, Infinity)
    let steps = 1
    const pieces: Uint8Array[] = []
    for (; !encoder.step(256 * 1024); steps++) pieces.push(...encoder.take())
    pieces.push(...encoder.take())
    assert.ok(steps >= least, `${name}: ${steps} steps of encoding`)
    assert.ok(pieces.every((piece) => piece.byteLength <= 4 * 2 ** 20))
    const whole = Buffer.concat(pieces)
    const decoder = new Decoder(new Uint8Array(whole))
    let back = 1
    for (; !decoder.step(256 * 1024); back++);
    // Bytes are compared in place; everything else is made again.
    assert.ok(name === 'bytes' ? back === 1 : back >= least, `${name}: ${back} steps of decoding`)
    assert.deepStrictEqual(decoder.result, value)
  }
})

test('many shapes of objects, and more than there are numbers for', () => {
  const values = Array.from({ length: 5000 }, (_, index) => ({ [`key ${index}`]: index, same: 1 }))
  assert.deepStrictEqual(decode(encode([...values, ...values])), [...values, ...values])
})
