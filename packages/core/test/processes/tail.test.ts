import assert from 'node:assert/strict'
import test from 'node:test'
import { Tail } from '../../src/processes/tail.ts'

test('a tail keeps everything while it is short', () => {
  const tail = new Tail(10)
  tail.push(Buffer.from('hello'))
  assert.equal(tail.text, 'hello')
})

test('a tail keeps the last bytes of a long output and says that it was cut', () => {
  const tail = new Tail(4)
  for (const part of ['one', 'two', 'three']) tail.push(Buffer.from(part))
  assert.equal(tail.text, '…hree')
})
