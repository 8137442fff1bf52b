/** Streams as sequences of pieces. */
import type { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { pieceSize } from './archive-entry.ts'

/** The same bytes in larger pieces: every piece costs a way to another thread and back. */
export async function* inBlocks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let waiting: Uint8Array[] = []
  let size = 0
  for await (const piece of source) {
    waiting.push(piece)
    size += piece.length
    if (size < pieceSize) continue
    yield waiting.length === 1 ? waiting[0]! : Buffer.concat(waiting)
    waiting = []
    size = 0
  }
  if (size > 0) yield Buffer.concat(waiting)
}

/** The output of a transform for a source. Leaving the loop early ends both. */
export async function* through(
  source: AsyncIterable<Uint8Array>,
  transform: Transform,
): AsyncGenerator<Buffer> {
  const fed = pipeline(source, transform)
  // The reader of the transform gets the error; without a reader it is dropped.
  const settled = fed.catch(() => undefined)
  try {
    yield* transform as AsyncIterable<Buffer>
    await fed
  } finally {
    // Then the source has closed its files.
    await settled
  }
}
