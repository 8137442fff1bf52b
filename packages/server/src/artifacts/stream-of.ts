import { Readable } from 'node:stream'
import type { OpenArtifact } from '@heddle/core/lowlevel'

/** The bytes of an artifact. Its file is closed with the stream, also when nothing was read of it: the client left. */
export function streamOf(open: OpenArtifact): Readable {
  const stream = Readable.from(open.bytes, { objectMode: false })
  stream.once('close', () => {
    // Nothing was written: there is nothing to lose.
    open[Symbol.asyncDispose]().then(undefined, () => undefined)
  })
  return stream
}
