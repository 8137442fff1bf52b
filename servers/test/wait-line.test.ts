import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { waitLine } from '../src/wait-line.ts'

test('waitLine waits for the line that says so, in any of the streams', async () => {
  const [output, errors] = [new PassThrough(), new PassThrough()]
  const line = waitLine([output, errors], /ready/)
  output.write('starting\n')
  errors.write('now re')
  errors.write('ady\n')
  assert.equal(await line, 'now ready')
})

test('waitLine rejects with the last lines when the streams end first', async () => {
  const stream = new PassThrough()
  const line = waitLine([stream], /ready/)
  stream.end('one\ntwo\nthree\nfour\nfive\nno room\n')
  await assert.rejects(line, { message: 'two\nthree\nfour\nfive\nno room' })
})
