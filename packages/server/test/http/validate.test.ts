import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { manageCache, submitJob } from '../../src/client/contract/jobs.ts'
import { readerOfBody, readerOfWords } from '../../src/http/validate.ts'
import { codeOf } from '../support/told.ts'

/** Refused with a message that says what to send instead. */
function refuses(read: () => unknown, said: RegExp): void {
  assert.throws(read, (error) => {
    assert.equal(codeOf(error), 'HDL_BAD_INPUT')
    assert.match((error as Error).message, said)
    return true
  })
}

const query = readerOfWords(submitJob.query, 'The query')

test('wait: absent is not zero', () => {
  assert.deepEqual(query({}), {})
  assert.deepEqual(query({ wait: '0' }), { wait: 0 })
  assert.deepEqual(query({ wait: '25000' }), { wait: 25_000 })
  for (const wait of [
    '',
    '-1',
    ' 1',
    '1 ',
    'x',
    '1.0',
    '1e3',
    '0x10',
    '10000000000',
    '12345678901',
    ['1', '2'],
  ]) {
    refuses(
      () => query({ wait }),
      /^wait: expected a whole number of milliseconds of at least 0 and at most 9999999999/,
    )
  }
})

test('index: 0 and below are accepted, never -0', () => {
  assert.deepEqual(query({ index: '0' }), { index: 0 })
  assert.ok(Object.is(query({ index: '-0' })['index'], 0), 'the key of a result has one zero')
  assert.deepEqual(query({ index: '-7' }), { index: -7 })
  assert.deepEqual(
    query({ index: '5' }),
    { index: 5 },
    'that it does not exist is said with the total',
  )
  for (const index of [
    '',
    '-',
    '--1',
    '1.5',
    '1e3',
    '+1',
    ' 1',
    '-1234567890',
    'NaN',
    '__proto__',
    [7],
  ]) {
    refuses(() => query({ index }), /^index: expected 0 or a negative whole number/)
  }
})

test('priority, slot and force are read from the query', () => {
  assert.deepEqual(
    ['0', '1', '3'].map((priority) => query({ priority })['priority']),
    [0, 1, 3],
  )
  for (const priority of ['2', '-1', '', '01', '1.0', ['1']]) {
    refuses(() => query({ priority }), /^priority: expected 0 \(interactive\), 1 \(usual\) or 3/)
  }
  assert.deepEqual(query({ slot: 'left panel' }), { slot: 'left panel' })
  for (const slot of ['', 'x'.repeat(257), ['a']]) {
    refuses(() => query({ slot }), /^slot: expected a name of 1 to 256 characters/)
  }
  assert.deepEqual(query({ force: 'true' }), { force: true })
  assert.deepEqual(query({ force: 'false' }), { force: false })
  for (const force of ['', '1', 'TRUE', ['true']]) {
    refuses(() => query({ force }), /^force: expected "true" or "false"/)
  }
})

test('a word that the route does not have is refused, with a suggestion where one is near', () => {
  refuses(() => query({ wiat: '1' }), /^The query: it has no "wiat". Did you mean "wait"\?$/)
  refuses(() => query({ zzz: '1' }), /^The query: it has no "zzz". Known: wait, index, slot/)
  refuses(() => query({ ['__proto__x']: '1' }), /it has no "__proto__x"/)
  refuses(() => query({ ['x'.repeat(5_000)]: '1' }), /^The query: it has no "x{64}"/)
  refuses(() => readerOfWords(undefined, 'The query')({ a: '1' }), /Known: none/)
})

test('lists, numbers, and words that must be there', () => {
  const schema = Type.Object({
    state: Type.Optional(Type.Array(Type.Enum(['active', 'finished']))),
    share: Type.Optional(Type.Number({ minimum: 0 })),
    name: Type.String(),
  })
  const read = readerOfWords(schema, 'The query')
  assert.deepEqual(read({ name: 'a', state: 'active', share: '0.5' }), {
    name: 'a',
    state: ['active'],
    share: 0.5,
  })
  assert.deepEqual(read({ name: 'a', state: ['active', 'finished'] })['state'], [
    'active',
    'finished',
  ])
  refuses(() => read({}), /^name: it is missing; expected text/)
  refuses(() => read({ name: 'a', state: 'x' }), /^state: expected a list/)
  refuses(() => read({ name: 'a', share: '-1' }), /^share: expected a number of at least 0/)
})

test('a body: the first mistake is named by its path, in words', () => {
  const body = readerOfBody(manageCache.bodySchema)
  assert.deepEqual(body({ action: 'info' }), { action: 'info' })
  refuses(() => body({}), /^action: it is missing; expected "info", "flush" or "delete"\.$/)
  refuses(() => body(JSON.parse('{"__proto__":{"action":"flush"}}')), /^action: it is missing/)
  refuses(() => body({ action: 'delete', handle: 7 }), /^handle: expected the handle/)
  for (const wrong of [null, 7, [], 'text', undefined])
    refuses(() => body(wrong), /^The body: expected a JSON object/)
  const nested = readerOfBody(
    Type.Object(
      {
        source: Type.Object({ a: Type.Integer({ minimum: 1 }), b: Type.Optional(Type.Boolean()) }),
      },
      { additionalProperties: false },
    ),
  )
  refuses(() => nested({ source: { a: 0 } }), /^source\.a: expected a whole number of at least 1/)
  refuses(() => nested({ source: {} }), /^source\.a: it is missing; expected a whole number/)
  refuses(() => nested({ source: { a: 1 }, sorce: 1 }), /it has no "sorce". Did you mean "source"/)
})

test('a body: a misspelt word explains the one that is missing', () => {
  const body = readerOfBody(manageCache.bodySchema)
  refuses(() => body({ acton: 'info' }), /^The body: it has no "acton"\. Did you mean "action"\?$/)
  refuses(() => body({ zzz: 'info' }), /^action: it is missing/)
  refuses(() => body(JSON.parse(`{"${'x'.repeat(10_000)}":1}`)), /^action: it is missing/)
})

test('a word of the query that is missing is named as missing', () => {
  const read = readerOfWords(Type.Object({ with: Type.String({ maxLength: 8 }) }), 'The query')
  refuses(() => read({}), /^with: it is missing; expected text of 0 to 8 characters\.$/)
})

test('a text with U+0000 in an address is refused: no store has one', () => {
  refuses(() => query({ slot: 'a\0b' }), /^slot: expected a text without U\+0000\.$/)
  assert.deepEqual(query({ slot: 'knob 7 😀' }), { slot: 'knob 7 😀' })
})
