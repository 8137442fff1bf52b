import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toJsonText } from '../../src/recorded/json-value.ts'

test('plain data is JSON as it is', () => {
  const value = { a: [1, 'two', null, true, { b: 0.5 }], empty: {} }
  assert.equal(toJsonText(value), JSON.stringify(value))
})

test('what JSON has no word for says what it was', () => {
  assert.deepEqual(
    JSON.parse(
      toJsonText({
        big: 12n,
        date: new Date(0),
        never: new Date(NaN),
        map: new Map([[{ k: 1 }, new Set([2])]]),
        bytes: new Uint8Array([1, 2, 3]),
        buffer: new ArrayBuffer(2),
        nan: NaN,
        minus: -0,
        nothing: undefined,
      }),
    ),
    {
      big: { $bigint: '12' },
      date: { $date: '1970-01-01T00:00:00.000Z' },
      never: { $date: null },
      map: { $map: [[{ k: 1 }, { $set: [2] }]] },
      bytes: { $bytes: 'AQID', of: 'Uint8Array' },
      buffer: { $bytes: 'AAA=', of: 'ArrayBuffer' },
      nan: { $number: 'NaN' },
      minus: { $number: '-0' },
      nothing: { $undefined: true },
    },
  )
  assert.equal(toJsonText(undefined), '{"$undefined":true}')
})

test('a view of a part of a buffer is that part', () => {
  const view = new Uint16Array(new Uint8Array([0, 0, 1, 2, 9, 9]).buffer, 2, 1)
  assert.equal(toJsonText(view), '{"$bytes":"AQI=","of":"Uint16Array"}')
})
