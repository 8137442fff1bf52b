/**
 * Writing archives of tar and gzip that depend on nothing but their content.
 *
 * The package `tar` makes the headers. It is not used to write whole archives, because it compresses
 * on the loop, in pieces of megabytes (law 2).
 */
import { createGzip } from 'node:zlib'
import { Header, Pax } from 'tar'
import { entryDate, pieceSize, readEntry, type ArchiveEntry } from './archive-entry.ts'
import { inBlocks, through } from './pieces.ts'

const block = 512

function headers(path: string, size: number, isExecutable: boolean): Uint8Array[] {
  const header = new Header({
    path,
    size,
    mode: isExecutable ? 0o755 : 0o644,
    type: 'File',
    mtime: entryDate,
  })
  const bytes = Buffer.alloc(block)
  // True when something does not fit: a long path, a file of more than 8 GiB.
  if (!header.encode(bytes)) return [bytes]
  return [new Pax({ path, size }).encode(), bytes]
}

async function* tarPieces(entries: Iterable<ArchiveEntry>): AsyncGenerator<Uint8Array> {
  for (const entry of entries) {
    yield* readEntry(entry, async function* ({ size, pieces }) {
      yield* headers(entry.path, size, entry.isExecutable)
      yield* pieces
      if (size % block > 0) yield Buffer.alloc(block - (size % block))
    })
  }
  yield Buffer.alloc(2 * block)
}

/** Where the header of gzip names the system that wrote it. */
const systemOffset = 9
const unknownSystem = 255

/** Entries as .tar.gz, in the given order. Compressed in Node's threads. */
export async function* tarGzip(entries: Iterable<ArchiveEntry>): AsyncGenerator<Uint8Array> {
  // The level of npm: it is the one at which different machines agree best.
  const gzip = createGzip({ level: 9, chunkSize: pieceSize })
  let position = 0
  for await (const piece of through(inBlocks(tarPieces(entries)), gzip)) {
    const at = systemOffset - position
    if (at >= 0 && at < piece.length) piece[at] = unknownSystem
    position += piece.length
    yield piece
  }
}
