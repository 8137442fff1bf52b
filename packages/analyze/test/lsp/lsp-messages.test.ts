import assert from 'node:assert/strict'
import { test } from 'node:test'
import { framed, MessageReader } from '../../src/lsp/lsp-messages.ts'

function read(bytes: Buffer, size: number): { messages: unknown[]; errors: [string, boolean][] } {
  const messages: unknown[] = []
  const errors: [string, boolean][] = []
  const reader = new MessageReader({
    onMessage: (message) => messages.push(message),
    onError: (text, isFinal) => errors.push([text, isFinal]),
  })
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size))
  return { messages, errors }
}

test('M1: messages come out whole, however the bytes are cut', () => {
  const sent = [{ a: 'ä…😀' }, { b: [1, 2, 3] }, { c: 'x'.repeat(300) }]
  const bytes = Buffer.concat(sent.map(framed))
  for (const size of [1, 2, 7, 64, bytes.length])
    assert.deepEqual(read(bytes, size), { messages: sent, errors: [] })
})

test('M2: a head without a usable length ends the reading', () => {
  const after = framed({ late: true })
  for (const head of [
    'Content-Type: x\r\n\r\n',
    'Content-Length: 999999999\r\n\r\n',
    'x'.repeat(5_000),
  ]) {
    const { messages, errors } = read(Buffer.concat([Buffer.from(head), after]), 100)
    assert.deepEqual(messages, [])
    assert.equal(errors.length, 1)
    assert.equal(errors[0]![1], true)
  }
})

test('M3: a body that is not JSON is left out, and the next message is read', () => {
  const bytes = Buffer.concat([Buffer.from('Content-Length: 3\r\n\r\n{x}'), framed({ next: 1 })])
  const { messages, errors } = read(bytes, 5)
  assert.deepEqual(messages, [{ next: 1 }])
  assert.deepEqual(errors, [['A message is not JSON.', false]])
})
