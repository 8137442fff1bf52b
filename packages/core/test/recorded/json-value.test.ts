import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { jsonHead, toJsonText } from '../../src/recorded/json-value.ts'

test('plain data becomes JSON unchanged', () => {
  const value = { a: [1, 'two', null, true, { b: 0.5 }], empty: {} }
  assert.equal(toJsonText(value), JSON.stringify(value))
})

test('a value without a JSON form is described', () => {
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

test('an input that is not plain data is shown by its class, without its content', () => {
  class Connection {
    readonly password = 'secret'
  }
  const input = { db: new Connection(), call: () => 1, own: Object.create({ a: 1 }) as unknown }
  const { text } = jsonHead(input, 1_000)
  assert.deepEqual(JSON.parse(text), {
    db: { $instance: 'Connection' },
    call: { $instance: 'Function' },
    own: { $instance: 'Object' },
  })
})

test('the beginning of a value is the beginning of its JSON, or all of it', () => {
  fc.assert(
    fc.property(
      fc.anything({ withMap: true, withSet: true, withBigInt: true, withDate: true }),
      fc.integer({ min: 1, max: 400 }),
      (value, most) => {
        const whole = toJsonText(value)
        const { text, isCut } = jsonHead(value, most)
        assert.ok(text.length <= most)
        if (!isCut) assert.equal(text, whole)
        else assert.ok(whole.length > most / 8, `${whole} is cut at ${most}`)
      },
    ),
  )
})

test('the beginning of a value of any size costs about as much as the shown part', () => {
  let read = 0
  const list = Array.from({ length: 100_000 }, (_, i) => ({
    get item(): string {
      read++
      return `item ${i}`
    },
  }))
  const cycle: Record<string, unknown> = { name: 'a' }
  cycle['self'] = cycle
  const large = [list, new Map(list.entries()), new Set(list), Object.fromEntries(list.entries())]
  for (const value of large) {
    read = 0
    assert.equal(jsonHead(value, 1_000).isCut, true)
    assert.ok(read < 500, `${read} items were read`)
  }
  for (const value of [cycle, 'x'.repeat(1e6), new Uint8Array(1e6), Array.from({ length: 1e6 })]) {
    const { text, isCut } = jsonHead(value, 1_000)
    assert.equal(isCut, true)
    assert.equal(text.length, 1_000)
  }
})

test('redacted fields are not in the beginning of a value', () => {
  const value = { user: 'ada', password: 'hunter2', more: [new Map([['password', 'hunter2']])] }
  assert.deepEqual(JSON.parse(jsonHead(value, 1_000, ['password']).text), {
    user: 'ada',
    password: '[redacted]',
    more: [{ $map: [['password', '[redacted]']] }],
  })
  assert.equal(jsonHead(value, 1_000, true).text, '"[redacted]"')
  assert.equal(jsonHead(value, 10, ['password']).text, '{"user":"a')
})
