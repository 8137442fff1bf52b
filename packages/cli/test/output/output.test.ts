import assert from 'node:assert/strict'
import test from 'node:test'
import { Output } from '../../src/output/output.ts'

test('when the reader has left nothing is written any more, and nobody is told', async () => {
  const written: string[] = []
  const listeners: ((error: Error) => void)[] = []
  const output = new Output({
    write: (text, callback) => {
      written.push(text)
      callback?.()
      return true
    },
    on: (_event, listener) => listeners.push(listener),
  })
  output.line('one')
  await output.flush()
  for (const listener of listeners) listener(new Error('EPIPE'))
  assert.equal(output.gone, true)
  output.line('two')
  await output.flush()
  assert.deepEqual(written, ['one\n', ''])
})

test('flush ends also when the reader leaves meanwhile', async () => {
  const listeners: ((error: Error) => void)[] = []
  const output = new Output({
    write: () => false,
    on: (_event, listener) => listeners.push(listener),
  })
  const flushed = output.flush()
  for (const listener of listeners) listener(new Error('EPIPE'))
  await flushed
})
