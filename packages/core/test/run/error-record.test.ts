import assert from 'node:assert/strict'
import test from 'node:test'
import { fromErrorRecord, toErrorRecord } from '../../src/run/error-record.ts'

test('errors become plain data: names, codes, causes; other values are described', () => {
  const record = toErrorRecord(
    new RangeError('outer', { cause: Object.assign(new Error('inner'), { code: 'E_INNER' }) }),
  )
  assert.deepEqual([record.name, record.message, record.code], ['RangeError', 'outer', undefined])
  assert.match(record.stack!, /RangeError: outer/)
  assert.deepEqual(
    [record.cause!.name, record.cause!.message, record.cause!.code],
    ['Error', 'inner', 'E_INNER'],
  )
  assert.deepEqual(toErrorRecord('just text'), { name: 'string', message: 'just text' })
  assert.deepEqual(toErrorRecord(undefined).name, 'undefined')
  assert.equal(toErrorRecord(Object.assign(new Error('x'), { code: 7 })).code, undefined)
})

test('a circle of causes ends', () => {
  const error = new Error('a')
  error.cause = new Error('b', { cause: error })
  let depth = 0
  for (let record = toErrorRecord(error); record.cause !== undefined; record = record.cause) depth++
  assert.ok(depth > 1 && depth < 20)
})

test('an error whose own fields misbehave is recorded all the same', () => {
  const error = new Error('kept')
  Object.defineProperty(error, 'stack', { value: { toString: () => 'no text' } })
  Object.defineProperty(error, 'message', { value: 42 })
  Object.defineProperty(error, 'code', {
    get: () => {
      throw new Error('no code')
    },
  })
  const record = toErrorRecord(error)
  assert.equal(typeof record.message, 'string')
  assert.equal(typeof record.name, 'string')
  assert.ok(record.stack === undefined || typeof record.stack === 'string')
})

test('an AggregateError keeps the first of its errors completely, but not the errors inside them', () => {
  const inner = new AggregateError([new Error('deep')], 'inner')
  const many = Array.from({ length: 20 }, (_, i) => new Error(`part ${i}`))
  const record = toErrorRecord(new AggregateError([inner, 'text', ...many], 'several'))
  assert.equal(record.errors?.length, 8)
  assert.deepEqual(
    record.errors.slice(0, 3).map(({ name, message }) => [name, message]),
    [
      ['AggregateError', 'inner'],
      ['string', 'text'],
      ['Error', 'part 0'],
    ],
  )
  assert.equal(record.errors[0]!.errors, undefined)
  const back = fromErrorRecord(record) as AggregateError
  assert.deepEqual(
    back.errors.slice(0, 2).map((error: Error) => error.message),
    ['inner', 'text'],
  )
})
