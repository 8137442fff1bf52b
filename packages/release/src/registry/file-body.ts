import { createHash } from 'node:crypto'
import { open, type FileHandle } from 'node:fs/promises'
import { HeddleError } from '@heddle/core'
import { describe } from '@heddle/core/lowlevel'
import type { Artifact } from '../model.ts'

/** A multiple of 3, so that pieces in base64 can be joined, and small enough to be hashed in a millisecond. */
const pieceSize = 192 * 1024

/**
 * The bytes of a packed file, in pieces that do not hold up the loop.
 *
 * They are hashed on the way. When they differ from the packed file, the last piece is withheld and an
 * error thrown instead: a request with a fixed length that ends early is not an upload.
 *
 * *Cancellation*: a reader that stops closes the file.
 * @throws `HDL_ARTIFACT_CHANGED`
 */
export async function* piecesOf(artifact: Artifact): AsyncGenerator<Buffer> {
  const hash = createHash('sha512')
  const file = await openArtifact(artifact)
  try {
    let held: Buffer | undefined
    let bytes = 0
    for (;;) {
      const piece = await fill(file, Buffer.allocUnsafe(pieceSize))
      if (piece.length > 0) {
        hash.update(piece)
        bytes += piece.length
      }
      const isLast = piece.length < pieceSize
      if (isLast) check(artifact, bytes, hash.digest('base64'))
      if (held !== undefined) yield held
      held = piece
      if (isLast) break
    }
    if (held.length > 0) yield held
  } finally {
    await file.close()
  }
}

async function openArtifact({ file, integrity }: Artifact): Promise<FileHandle> {
  try {
    return await open(file)
  } catch (cause) {
    const details = { file, expected: integrity, found: describe(cause) }
    throw new HeddleError('HDL_ARTIFACT_CHANGED', details, { cause })
  }
}

/** A read may give less than is there. */
async function fill(file: FileHandle, buffer: Buffer): Promise<Buffer> {
  let filled = 0
  while (filled < buffer.length) {
    const { bytesRead } = await file.read(buffer, filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

function check({ file, size, integrity }: Artifact, bytes: number, digest: string): void {
  const found = `sha512-${digest}`
  if (found === integrity && bytes === size) return
  const expected = `${integrity} (${size} bytes)`
  throw new HeddleError('HDL_ARTIFACT_CHANGED', {
    file,
    expected,
    found: `${found} (${bytes} bytes)`,
  })
}
