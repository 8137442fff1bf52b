import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fleetPieces, isSmallJson, readFleetValue } from '../../src/places/fleet-value.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'

test('small values that JSON carries unchanged are sent as JSON, large ones are not', () => {
  for (const value of [undefined, null, 0, 'x', [], {}, { a: [1, { b: null }] }]) {
    assert.equal(isSmallJson(value), true, JSON.stringify(value))
  }
  class Point {
    x = 1
  }
  const odd = [
    -0,
    NaN,
    1n,
    new Date(0),
    new Map(),
    new Uint8Array(1),
    new Point(),
    [undefined],
    // oxlint-disable-next-line no-sparse-arrays -- a hole is what is tested
    [1, , 2],
    { a: undefined },
    { toJSON: 1 },
    JSON.parse('{"__proto__":1}') as unknown,
    'x'.repeat(100_000),
    Array.from({ length: 5_000 }, () => 1),
  ]
  for (const value of odd) assert.equal(isSmallJson(value), false)
  let deep: unknown = 1
  for (let depth = 0; depth < 1_000; depth++) deep = [deep]
  assert.equal(isSmallJson(deep), false)
})

test('small JSON is the same after JSON has carried it', () => {
  fc.assert(
    fc.property(fc.anything({ withDate: true, withMap: true, withSparseArray: true }), (value) => {
      if (value === undefined || !isSmallJson(value)) return
      assert.deepEqual(JSON.parse(JSON.stringify(value)), value)
    }),
  )
})

test('anything that the journal keeps is the same after its bytes were read', async () => {
  const clock = new VirtualClock()
  const values = [undefined, new Date(5), new Map([[1, 'x']]), 5n, [undefined], 'y'.repeat(300_000)]
  for (const value of values) {
    const pieces: Uint8Array[] = []
    for await (const piece of fleetPieces('it', value, clock)) pieces.push(piece)
    const bytes = new Uint8Array(Buffer.concat(pieces))
    assert.deepEqual(await readFleetValue(bytes, clock), value)
  }
})
