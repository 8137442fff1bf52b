/** What goes into archives, and reading it in pieces. */
import { open } from 'node:fs/promises'
import { HeddleError } from '@heddle/core'

/** One file of an archive. */
export interface ArchiveEntry {
  /** Inside the archive, with `/`. */
  readonly path: string
  readonly isExecutable: boolean
  readonly content: Uint8Array | { readonly file: string }
}

/**
 * The date of every file in every archive: only then are two archives of the same files equal. It
 * is the one that npm uses, late enough for zip, which begins with 1980.
 */
export const entryDate: Date = new Date('1985-10-26T08:15:00.000Z')

/** Bytes that are read or passed on at a time. */
export const pieceSize = 65_536

export interface OpenedEntry {
  readonly size: number
  readonly pieces: AsyncIterable<Uint8Array>
}

/** Compares code units: the same on every machine, whatever its language. */
export function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0
}

/** Opens an entry for the time that `use` reads it. */
export async function* readEntry(
  entry: ArchiveEntry,
  use: (opened: OpenedEntry) => AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const { content } = entry
  if (content instanceof Uint8Array) {
    yield* use({ size: content.length, pieces: once(content) })
    return
  }
  await using handle = await open(content.file, 'r')
  const { size } = await handle.stat()
  yield* use({ size, pieces: exactly(size, handle, content.file) })
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content
}

interface Readable {
  read(buffer: Uint8Array): Promise<{ bytesRead: number }>
}

/** A header has said how long the file is: one that grows or shrinks meanwhile would break the archive. */
async function* exactly(size: number, handle: Readable, file: string): AsyncGenerator<Uint8Array> {
  let left = size
  for (;;) {
    const buffer = Buffer.allocUnsafe(pieceSize)
    const { bytesRead } = await handle.read(buffer)
    left -= bytesRead
    if (left < 0 || (bytesRead === 0 && left > 0)) {
      const cause = 'it was changed at the same moment'
      throw new HeddleError('HDL_STORE_FAILED', { store: file, action: 'be packed', cause })
    }
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
  }
}
