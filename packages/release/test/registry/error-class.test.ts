import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError, type ErrorCode } from '@heddle/core'
import fc from 'fast-check'
import {
  classOf,
  classPolicies,
  failureOf,
  mayHaveHappened,
  type ErrorClass,
} from '../../src/registry/error-class.ts'

const put = {
  registry: 'https://r.example/',
  action: 'PUT a@1.0.0',
  write: true,
  version: { package: 'a', version: '1.0.0', hash: 'sha512-x' },
}

function failure(
  status: number,
  said = '',
  headers: Record<string, string> = {},
  write = true,
): HeddleError {
  return failureOf({ status, headers, body: Buffer.from(said) }, { ...put, write }, 0)
}

const cases: readonly [number, string, ErrorClass, ErrorCode][] = [
  [429, '', 'rate', 'HDL_REGISTRY_RATE'],
  [401, '', 'auth', 'HDL_REGISTRY_AUTH'],
  [402, '', 'auth', 'HDL_REGISTRY_AUTH'],
  [403, '{"error":"forbidden"}', 'auth', 'HDL_REGISTRY_AUTH'],
  [404, '{"error":"Not found"}', 'auth', 'HDL_REGISTRY_AUTH'],
  [
    403,
    '{"error":"You cannot publish over the previously published versions: 1.0.0."}',
    'conflict',
    'HDL_VERSION_CONFLICT',
  ],
  [409, '{"error":"this package is already present"}', 'conflict', 'HDL_VERSION_CONFLICT'],
  [400, "400 File already exists ('a-1.whl', with …).", 'conflict', 'HDL_VERSION_CONFLICT'],
  [
    409,
    '{"error":"Failed to save packument. A common cause …"}',
    'transient',
    'HDL_REGISTRY_UNAVAILABLE',
  ],
  [409, '', 'transient', 'HDL_REGISTRY_UNAVAILABLE'],
  [
    403,
    '{"error":"Package name too similar to existing package b"}',
    'poison',
    'HDL_PACKAGE_REFUSED',
  ],
  [400, '{"error":"bad manifest"}', 'poison', 'HDL_PACKAGE_REFUSED'],
  [413, '', 'poison', 'HDL_PACKAGE_REFUSED'],
  [422, '', 'poison', 'HDL_PACKAGE_REFUSED'],
  [408, '', 'transient', 'HDL_REGISTRY_UNAVAILABLE'],
  [500, '', 'transient', 'HDL_REGISTRY_UNAVAILABLE'],
  [502, '', 'transient', 'HDL_REGISTRY_UNAVAILABLE'],
  [503, '', 'transient', 'HDL_REGISTRY_UNAVAILABLE'],
  [504, '', 'transient', 'HDL_REGISTRY_UNAVAILABLE'],
  [522, '', 'transient', 'HDL_REGISTRY_UNAVAILABLE'],
]

for (const [status, said, kind, code] of cases) {
  test(`a PUT that is answered with ${status} ${said} is ${kind}`, () => {
    const error = failure(status, said)
    assert.equal(error.code, code)
    assert.equal(classOf(error), kind)
    assert.equal(error.retryable, classPolicies[kind].again)
  })
}

test('scenario 91: each kind of refusal comes with its own hint', () => {
  const hints = [
    failure(401),
    failure(403),
    failure(404),
    failure(401, '', { 'www-authenticate': 'OTP' }),
    failure(401, '{"error":"You must provide a one-time pass."}'),
  ].map((error) => (error as HeddleError<'HDL_REGISTRY_AUTH'>).details.hint)
  assert.match(hints[0]!, /token is missing, wrong or expired/)
  assert.match(hints[1]!, /may not do this/)
  assert.match(hints[2]!, /not found/)
  assert.match(hints[3]!, /one-time password/)
  assert.equal(hints[4], hints[3])
})

test('only a lost or late answer to a write may have happened', () => {
  assert.ok(mayHaveHappened(failure(504)))
  assert.ok(mayHaveHappened(failure(500)))
  assert.ok(!mayHaveHappened(failure(409, 'Failed to save packument')))
  assert.ok(!mayHaveHappened(failure(429)))
  assert.ok(!mayHaveHappened(failure(503, '', {}, false)))
  assert.ok(!mayHaveHappened(new Error('other')))
})

test('a conflict of a read is not a conflict', () => {
  assert.equal(classOf(failure(409, 'already present', {}, false)), 'transient')
})

test('Retry-After is carried along', () => {
  assert.equal(failure(429, '', { 'retry-after': '9' }).retryAfter, 9000)
  assert.equal(failure(503, '', { 'retry-after': '4' }).retryAfter, 4000)
  assert.equal(failure(503).retryAfter, undefined)
})

test('messages are short and quote the registry', () => {
  assert.match(failure(400, '{"error":"bad manifest"}').message, /status 400: bad manifest/)
  const page = '<html><title>502 Bad Gateway</title><body>' + 'x'.repeat(10_000)
  assert.match(failure(502, page).message, /502 Bad Gateway/)
  assert.ok(failure(400, 'word '.repeat(10_000)).message.length < 500)
})

test('whatever is answered has exactly one class', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 300, max: 999 }),
      fc.string(),
      fc.boolean(),
      (status, said, write) => {
        assert.notEqual(classOf(failure(status, said, {}, write)), undefined)
      },
    ),
  )
})

test('cancellation and bugs have no class', () => {
  assert.equal(classOf(new TypeError('bug')), undefined)
  const reason = { what: 'x', source: 'user', reason: 'y' } as const
  assert.equal(classOf(new HeddleError('HDL_CANCELLED', reason)), undefined)
})
