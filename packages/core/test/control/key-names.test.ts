import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { decodeKeys } from '../../src/control/key-names.ts'

test('letters, control characters and named keys are recognized', () => {
  assert.deepEqual(decodeKeys('pQ \r\t\x7f\x03\x1a\x11'), [
    'p',
    'Q',
    'space',
    'enter',
    'tab',
    'backspace',
    'ctrl-c',
    'ctrl-z',
    'ctrl-q',
  ])
})

test('arrows are recognized in both modes of terminals, and escape alone', () => {
  assert.deepEqual(decodeKeys('\x1b[A\x1bOB\x1b[C\x1b[D\x1b[5~\x1b'), [
    'up',
    'down',
    'right',
    'left',
    'page-up',
    'escape',
  ])
})

test('sequences without a name are dropped as a whole, and the keys after them are read', () => {
  assert.deepEqual(decodeKeys('\x1b[15~p\x1b[<0;10;20Mq'), ['p', 'q'])
})

test('alt and characters beyond ASCII are recognized', () => {
  assert.deepEqual(decodeKeys('\x1bxé😀'), ['alt-x', 'é', '😀'])
})

test('any text gives names, and never a control character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      for (const key of decodeKeys(text)) {
        assert.ok(key.length > 0)
        // oxlint-disable-next-line no-control-regex -- control characters are what this is about
        assert.doesNotMatch(key, /[\x00-\x1f\x7f]/)
      }
    }),
  )
})
