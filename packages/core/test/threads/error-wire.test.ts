import assert from 'node:assert/strict'
import { test } from 'node:test'
import { final, isRetryable } from '../../src/attempts/retry.ts'
import { HeddleError, isError } from '../../src/errors.ts'
import { clause, decodeError, encodeError } from '../../src/threads/error-wire.ts'

/** There and back, through a real clone. */
const travel = (thrown: unknown): unknown => decodeError(structuredClone(encodeError(thrown)))

test('an error keeps class, name, message, stack, code, own fields and cause', () => {
  class Custom extends RangeError {
    override name = 'Custom'
    code = 'E_CUSTOM'
    position = { line: 3 }
  }
  const sent = new Custom('too far', { cause: new TypeError('below', { cause: 'lowest' }) })
  const got = travel(sent) as Custom
  assert.ok(got instanceof RangeError)
  assert.equal(got.name, 'Custom')
  assert.equal(got.message, 'too far')
  assert.equal(got.stack, sent.stack)
  assert.equal(got.code, 'E_CUSTOM')
  assert.deepEqual(got.position, { line: 3 })
  assert.ok(got.cause instanceof TypeError)
  assert.equal(got.cause.cause, 'lowest')
})

test('a field that cannot be cloned costs only itself', () => {
  const sent = Object.assign(new Error('kept'), { code: 'E', socket: () => 0, nested: { f() {} } })
  Object.defineProperty(sent, 'bad', {
    enumerable: true,
    get() {
      throw new Error('getter')
    },
  })
  const got = travel(sent) as Error & Record<string, unknown>
  assert.equal(got.message, 'kept')
  assert.equal(got['code'], 'E')
  assert.ok(!('socket' in got) && !('nested' in got))
})

test('a Heddle error arrives as one, with code, details, cause and errors', () => {
  const sent = new HeddleError(
    'HDL_TIMEOUT',
    { what: 'Job "x"', limit: 5 },
    { cause: new Error('slow'), errors: [new Error('one')] },
  )
  const got = travel(sent)
  assert.ok(isError(got, 'HDL_TIMEOUT'))
  assert.deepEqual(got.details, { what: 'Job "x"', limit: 5 })
  assert.equal(got.message, sent.message)
  assert.equal(got.retryable, true)
  assert.equal((got.cause as Error).message, 'slow')
  assert.equal((got.errors![0] as Error).message, 'one')
})

test('an unknown code, or details that cannot be sent, still give code and message', () => {
  const unknown = structuredClone(encodeError(new HeddleError('HDL_CLOSED', { what: 'It' })))
  const renamed = decodeError({
    ...unknown,
    heddle: { code: 'HDL_FROM_THE_FUTURE' as never, details: {} },
  }) as Error & { code: string }
  assert.equal(renamed.code, 'HDL_FROM_THE_FUTURE')
  assert.equal(renamed.message, 'It is closed.')
  const details = { option: 'o', value: () => 0, expected: 'x' }
  const got = travel(new HeddleError('HDL_BAD_OPTION', details)) as Error & { code: string }
  assert.equal(got.code, 'HDL_BAD_OPTION')
  assert.match(got.message, /Option "o"/)
})

test('an AggregateError keeps its errors, an abort its name and code', () => {
  const got = travel(new AggregateError([new TypeError('a'), 'b'], 'both')) as AggregateError
  assert.equal(got.name, 'AggregateError')
  assert.ok(got.errors[0] instanceof TypeError)
  assert.equal(got.errors[1], 'b')
  const abort = travel(new DOMException('stop', 'AbortError')) as Error & { code: number }
  assert.ok(abort instanceof Error)
  assert.equal(abort.name, 'AbortError')
  assert.equal(abort.code, 20)
})

test('a thrown value may be something else than an error', () => {
  assert.equal(travel('text'), 'text')
  assert.equal(travel(undefined), undefined)
  assert.deepEqual(travel({ status: 5 }), { status: 5 })
  assert.equal(
    travel(() => 'f'),
    '[Function (anonymous)]',
  )
  assert.equal(
    travel(Object.create(null, { toString: { value: null } }) && Symbol('s')),
    'Symbol(s)',
  )
})

test('a cycle of causes ends', () => {
  const a = new Error('a')
  const b = new Error('b', { cause: a })
  a.cause = b
  let depth = 0
  for (let error: unknown = travel(a); error instanceof Error; error = error.cause) depth++
  assert.ok(depth > 2 && depth < 20)
})

test('a message becomes part of a sentence', () => {
  assert.equal(clause(new Error('It is closed.')), 'It is closed')
  assert.equal(clause('plain'), 'plain')
})

test('an error whose fields throw when they are read loses only those fields', () => {
  const hostile = new TypeError('fine')
  for (const key of ['cause', 'name', 'stack', 'code']) {
    Object.defineProperty(hostile, key, {
      enumerable: true,
      get: () => {
        throw new Error(`${key} cannot be read`)
      },
    })
  }
  const arrived = decodeError(encodeError(hostile)) as Error
  assert.ok(arrived instanceof TypeError)
  assert.equal(arrived.message, 'fine')
})

test('a value marked by final() stays final, also when it is not an error', () => {
  const late = new HeddleError('HDL_TIMEOUT', { what: 'It', limit: 5 })
  for (const thrown of [new Error('x'), late, { code: 5 }]) {
    assert.equal(isRetryable(travel(thrown)), true)
    assert.equal(isRetryable(travel(final(thrown))), false)
  }
  const refused = travel(final({ socket: () => 0 }))
  assert.ok(refused instanceof Error, 'what cannot be sent is described')
  assert.equal(isRetryable(refused), false)
})
