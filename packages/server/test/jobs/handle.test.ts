import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { canonical, handleOf, itemName, jobOfHandle, shownName } from '../../src/jobs/handle.ts'
import { withCode } from '../support/told.ts'

const owner = { name: 'job', version: '' }
const parse = (text: string): unknown => JSON.parse(text) as unknown

test('keys are sorted at every level, elements of lists keep their order', () => {
  const value = { b: [3, 1, { z: 1, a: 2 }], a: { d: null, c: 'x' } }
  assert.equal(canonical(value), '{"a":{"c":"x","d":null},"b":[3,1,{"a":2,"z":1}]}')
  assert.notEqual(handleOf(owner, [1, 2]), handleOf(owner, [2, 1]))
})

test('a number that JSON can be read as and cannot write is refused: it would be null', () => {
  for (const text of ['1e999', '[-1e999]', '{"a":{"b":1e400}}']) {
    assert.throws(() => handleOf(owner, parse(text)), withCode('HDL_BAD_INPUT'), text)
  }
})

test('one number has one form however it is written; different numbers differ', () => {
  const same = [
    ['1e3', '1000', '1000.0'],
    ['-0', '0', '0.0', '-0e5'],
    ['0.1', '1e-1'],
  ]
  for (const texts of same) {
    const handles = new Set(texts.map((text) => handleOf(owner, parse(text))))
    assert.equal(handles.size, 1, texts.join(' '))
  }
  const different = [
    '1',
    '"1"',
    'true',
    '[1]',
    '{"1":1}',
    'null',
    '[]',
    '{}',
    '""',
    '0',
    '[null]',
    '[[]]',
  ]
  assert.equal(
    new Set(different.map((text) => handleOf(owner, parse(text)))).size,
    different.length,
  )
})

test('__proto__ and its like are keys like any other', () => {
  const texts = [
    '{}',
    '{"__proto__":1}',
    '{"__proto__":{"a":1}}',
    '{"constructor":1}',
    '{"toJSON":1}',
    '{"a":1}',
  ]
  assert.equal(new Set(texts.map((text) => handleOf(owner, parse(text)))).size, texts.length)
  assert.equal(canonical(parse('{"b":1,"__proto__":2}')), '{"__proto__":2,"b":1}')
  assert.equal(
    handleOf(owner, parse('{"b":1,"__proto__":2}')),
    handleOf(owner, parse('{"__proto__":2,"b":1}')),
  )
})

test('texts are distinguished by their characters, not by their looks', () => {
  const texts = ['é', 'e\u0301', '\u0000', '\ud800', '\ufffd', '😀', '', ' ', '\u200b']
  assert.equal(new Set(texts.map((text) => handleOf(owner, text))).size, texts.length)
  assert.equal(handleOf(owner, parse('"\\u00e9"')), handleOf(owner, 'é'))
})

test('another job or another version has another handle, and handles never collide', () => {
  const handles = [
    handleOf(owner, 1),
    handleOf({ name: 'job', version: '1' }, 1),
    handleOf({ name: 'job1', version: '' }, 1),
    handleOf({ name: 'job', version: '' }, ['', 1]),
    handleOf({ name: 'job', version: '",1' }, 1),
  ]
  assert.equal(new Set(handles).size, handles.length)
})

/** The same value with its keys written in another order. */
function shuffled(value: unknown, order: (count: number) => number): unknown {
  if (Array.isArray(value)) return value.map((one) => shuffled(one, order))
  if (typeof value !== 'object' || value === null) return value
  const rest = Object.entries(value)
  const written: [string, unknown][] = []
  while (rest.length > 0) {
    const [[key, one]] = rest.splice(order(rest.length), 1) as [[string, unknown]]
    written.push([key, shuffled(one, order)])
  }
  // Through text, as a client sends it: assigning __proto__ would not make a key.
  return parse(
    `{${written.map(([key, one]) => `${JSON.stringify(key)}:${JSON.stringify(one)}`).join(',')}}`,
  )
}

test('property: the same input in any order of keys has the same handle, different inputs have different ones', () => {
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.jsonValue(),
      fc.infiniteStream(fc.nat()),
      (one, other, chance) => {
        const input = parse(JSON.stringify(one))
        const order = (count: number): number => (chance.next().value as number) % count
        assert.equal(handleOf(owner, shuffled(input, order)), handleOf(owner, input))
        assert.deepEqual(parse(canonical(input)), input)
        const isSame = isDeepStrictEqual(parse(JSON.stringify(other)), input)
        assert.equal(handleOf(owner, other) === handleOf(owner, input), isSame)
      },
    ),
    { numRuns: 500 },
  )
})

test('an input that is nested too deeply is refused, not followed', () => {
  const nested = (depth: number): unknown =>
    parse('{"a":['.repeat(depth / 2) + ']}'.repeat(depth / 2))
  assert.match(handleOf(owner, nested(1_000)), /^job-/)
  assert.throws(() => handleOf(owner, nested(1_002)), withCode('HDL_BAD_INPUT'))
  assert.throws(() => handleOf(owner, nested(100_000)), /nested deeper than 1000 levels/)
})

test('a handle says its job, and nothing else is a handle', () => {
  const name = 'a-b_9-'
  const handle = handleOf({ name, version: '' }, 1)
  assert.equal(jobOfHandle(handle), name)
  assert.equal(itemName(handle, -3), `${handle}/-3`)
  assert.match(shownName(handle), /^a-b_9--[0-9a-f]{8}$/)
  assert.match(shownName(handle, -3), /^a-b_9--[0-9a-f]{8}\/-3$/)
  const not = [
    '',
    name,
    `-${'0'.repeat(64)}`,
    handle.slice(0, -1),
    `${handle}0`,
    handle.toUpperCase(),
    `${handle}\n`,
  ]
  for (const text of not) assert.equal(jobOfHandle(text), undefined, text)
})
