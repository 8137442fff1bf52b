import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  HeddleError,
  cancelled,
  describe,
  errorTable,
  isError,
  readField,
  reasonError,
  type ErrorCode,
} from '../src/errors.ts'

test('an error carries code, message with the actual values, details and help', () => {
  const error = new HeddleError('HDL_TIMEOUT', { what: 'Job "plot"', limit: 250, stage: 'run' })
  assert.equal(error.message, 'Job "plot" timed out after 250 ms (run).')
  assert.equal(error.code, 'HDL_TIMEOUT')
  assert.equal(error.name, 'HeddleError')
  assert.deepEqual(error.details, { what: 'Job "plot"', limit: 250, stage: 'run' })
  assert.match(error.help, /Raise the limit/)
  assert.equal(error.retryable, true)
  assert.equal(error.retryAfter, undefined)
  assert.ok(error.stack?.includes('errors.test.ts'))
})

test('the cause and all errors behind one are kept', () => {
  const cause = new Error('disk full')
  const others = [cause, new Error('second')]
  const error = new HeddleError(
    'HDL_SCOPE_FAILED',
    { count: 2, first: 'disk full' },
    { cause, errors: others },
  )
  assert.equal(error.cause, cause)
  assert.equal(error.errors, others)
  assert.equal(error.message, '2 children of the scope failed, first: disk full')
  assert.equal('cause' in new HeddleError('HDL_CLOSED', { what: 'Queue' }), false)
})

test('retryAfter is where callers expect it', () => {
  const error = new HeddleError('HDL_OVERLOADED', { what: 'Lane 3', retryAfter: 1_200 })
  assert.equal(error.retryAfter, 1_200)
  assert.equal(error.message, 'Lane 3 is full; try again in 1200 ms.')
})

test('numbers and names of a few messages', () => {
  const text = <C extends ErrorCode>(
    ...args: ConstructorParameters<typeof HeddleError<C>>
  ): string => new HeddleError(...args).message
  assert.equal(text('HDL_CYCLE', { path: ['a', 'b', 'a'] }), 'The graph has a cycle: a → b → a.')
  assert.equal(
    text('HDL_UNKNOWN_DEPENDENCY', { node: 'plot', dependency: 'prase', suggestion: 'parse' }),
    '"plot" depends on "prase", which is not in the graph. Did you mean "parse"?',
  )
  assert.equal(
    text('HDL_WOULD_DEADLOCK', { what: 'Semaphore', needed: 5, capacity: 4 }),
    'Semaphore needs 5 permits but there are only 4: it could never start.',
  )
  assert.equal(
    text('HDL_LOOP_BLOCKED', { longest: 31.26, limit: 20, blame: 'job "parse"' }),
    'The event loop was blocked for 31.3 ms, the limit is 20 ms: job "parse".',
  )
  assert.equal(
    text('HDL_SCOPE_FAILED', { count: 1, first: 'boom' }),
    '1 child of the scope failed, first: boom',
  )
})

test('instanceof works across two copies of the package', async () => {
  const copy = (await import(`${new URL('../src/errors.ts', import.meta.url).href}?copy`)) as {
    HeddleError: typeof HeddleError
    isError: typeof isError
  }
  assert.notEqual(copy.HeddleError, HeddleError)
  const theirs = new copy.HeddleError('HDL_CLOSED', { what: 'Queue' })
  assert.ok(theirs instanceof HeddleError)
  assert.ok(new HeddleError('HDL_CLOSED', { what: 'Queue' }) instanceof copy.HeddleError)
  assert.ok(isError(theirs, 'HDL_CLOSED'))
  assert.equal(isError(theirs, 'HDL_TIMEOUT'), false)
})

test('instanceof and isError() refuse look-alikes', () => {
  for (const other of [null, undefined, 'HDL_CLOSED', { code: 'HDL_CLOSED' }, new Error('x')]) {
    assert.equal(other instanceof HeddleError, false)
    assert.equal(isError(other, 'HDL_CLOSED'), false)
  }
})

test('every code has one sentence of help and is an upper-case HDL_ name', () => {
  for (const [code, { help }] of Object.entries(errorTable)) {
    assert.match(code, /^HDL_[A-Z]+(_[A-Z]+)*$/)
    assert.match(help, /^\S.*[.]$/, code)
  }
})

test('cancelled() names the author and the reason, once', () => {
  const first = cancelled('Job "a"', new Error('no longer needed'), 'superseded')
  assert.equal(first.message, 'Job "a" was cancelled (superseded): no longer needed.')
  assert.equal(cancelled('Run 1', first, 'shutdown'), first, 'the first cause is not covered up')
})

test('cancelled() leaves the stack to its cause, and takes one itself when there is none', () => {
  const cause = new Error('stop')
  const error = cancelled('Job', cause)
  assert.equal(error.cause, cause)
  assert.doesNotMatch(error.stack ?? '', /\n\s+at /)
  assert.match(cancelled('Job', 'just words').stack ?? '', /errors\.test\.ts/)
  assert.match(new Error('later').stack ?? '', /errors\.test\.ts/, 'the limit is put back')
})

test('cancelled() distinguishes a deadline from a person', () => {
  const { reason } = AbortSignal.abort(new DOMException('too slow', 'TimeoutError'))
  assert.equal(cancelled('Job', reason).details.source, 'deadline')
  const limit = new HeddleError('HDL_TIMEOUT', { what: 'Run', limit: 5 })
  assert.equal(cancelled('Job', limit).details.source, 'deadline')
  assert.equal(cancelled('Job', AbortSignal.abort().reason).details.source, 'user')
})

test('describe() finds words for whatever was thrown', () => {
  assert.equal(describe(new RangeError('too far')), 'too far')
  assert.equal(describe(new RangeError()), 'RangeError')
  assert.equal(describe('text'), 'text')
  assert.equal(describe(undefined), 'undefined')
  assert.equal(describe(Symbol('s')), 'Symbol(s)')
  assert.equal(describe({ code: 5, at: [1] }), '{ code: 5, at: [ 1 ] }')
  assert.equal(describe(Object.create(null)), '[Object: null prototype] {}')
  assert.ok(
    describe({ text: 'x'.repeat(10_000), more: Array(1_000).fill('y'.repeat(100)) }).length < 1_100,
  )
  const throws = (): never => {
    throw new Error('not today')
  }
  assert.equal(
    describe(Object.defineProperty(new Error('x'), 'message', { get: throws })),
    '[object]',
  )
  assert.equal(describe(new Proxy({}, { get: throws, getPrototypeOf: throws })), '[object]')
})

test('a Heddle error passes unchanged as a reason, anything else becomes a cancellation', () => {
  const gone = new HeddleError('HDL_GONE', { what: 'It' })
  assert.equal(reasonError('The request', gone), gone)
  const error = reasonError('The request', 'not needed')
  assert.equal(error.code, 'HDL_CANCELLED')
  assert.match(error.message, /The request.*not needed/)
})

test('a field whose getter throws is read as undefined', () => {
  const error = Object.defineProperty(new Error('x'), 'code', {
    get: () => {
      throw new Error('no')
    },
  })
  assert.equal(readField(error, 'code'), undefined)
  assert.equal(readField(error, 'message'), 'x')
})

test('describe() lists the errors of an error without a message of its own', () => {
  const refused = ['::1', '127.0.0.1'].map((host) => new Error(`connect ECONNREFUSED ${host}.`))
  assert.equal(describe(new AggregateError(refused, 'no mirror')), 'no mirror')
  assert.equal(
    describe(new AggregateError(refused)),
    'connect ECONNREFUSED ::1; connect ECONNREFUSED 127.0.0.1',
  )
  const many = Array.from({ length: 9 }, (_, index) => new Error(`e${index}`))
  assert.equal(describe(new AggregateError(many)), 'e0; e1; e2; e3; and 5 more')
  const circle = new AggregateError([])
  circle.errors.push(circle)
  assert.equal(describe(circle), 'AggregateError')
})

test('a refused value is named by its kind, without its content', () => {
  const said = (value: unknown): string =>
    new HeddleError('HDL_BAD_OPTION', { option: 'graph', value, expected: 'a graph' }).message
  const is = (what: string): string => `Option "graph" is ${what}, expected a graph.`
  assert.equal(said({ name: 'x', place: 'loop', run: () => 1 }), is('a job'))
  assert.equal(said({ user: 'me', password: 'secret' }), is('an object with user, password'))
  assert.equal(said({}), is('an empty object'))
  assert.equal(said([1, 2]), is('a list of 2'))
  assert.equal(said(new AbortController()), is('an AbortController'))
  assert.equal(said(Promise.resolve()), is('a Promise'))
  assert.equal(said(null), is('null'))
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  assert.equal(said(proxy), is('[object]'))
})

test('an expectation that ends with a question does not end twice', () => {
  const details = { option: 'needs.dbb', value: 1, expected: 'a name; did you mean db?' }
  assert.equal(
    new HeddleError('HDL_BAD_OPTION', details).message,
    'Option "needs.dbb" is 1, expected a name; did you mean db?',
  )
})
