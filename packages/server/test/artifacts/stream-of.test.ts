import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { OpenArtifact } from '@heddle/core/lowlevel'
import { streamOf } from '../../src/artifacts/stream-of.ts'

test('a client that leaves before the first byte was read leaves no open file', async () => {
  let closed = 0
  async function* read(): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(1)
  }
  const open = {
    bytes: read(),
    [Symbol.asyncDispose]: async () => void closed++,
  } as unknown as OpenArtifact
  const stream = streamOf(open)
  const end = once(stream, 'close')
  stream.destroy()
  await end
  assert.equal(closed, 1)
})
