import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import test from 'node:test'
import { toText } from '../../src/kernel/to-text.ts'

test('a string is unchanged, any other value is shown in the format of the console', () => {
  assert.equal(toText('two\nlines'), 'two\nlines')
  assert.equal(toText(''), '')
  assert.equal(toText({ a: 1, list: [2n] }), '{ a: 1, list: [ 2n ] }')
  assert.deepEqual(
    [toText(5), toText(undefined), toText(Symbol('s'))],
    ['5', 'undefined', 'Symbol(s)'],
  )
  assert.match(toText(new Error('boom')), /^Error: boom\n {4}at /)
})

test('a value that cannot be shown does not throw', () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  assert.equal(typeof toText(proxy), 'string')
  const broken = {
    [inspect.custom]: () => {
      throw new Error('no')
    },
  }
  assert.equal(toText(broken), '[object]')
})
