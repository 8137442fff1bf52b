/** Writing zip archives, which wheels are, that depend on nothing but their content. */
import { crc32, createDeflateRaw } from 'node:zlib'
import { HeddleError } from '@heddle/core'
import { entryDate, pieceSize, readEntry, type ArchiveEntry } from '../archive-entry.ts'
import { through } from '../pieces.ts'

const largest = 0xffff_ffff
/** Sizes follow the data, so that nothing has to be read twice; names are UTF-8. */
const flags = 0x0808
const deflated = 8
const version = 20

const dosTime = (entryDate.getUTCHours() << 11) | (entryDate.getUTCMinutes() << 5)
const dosDate =
  ((entryDate.getUTCFullYear() - 1980) << 9) |
  ((entryDate.getUTCMonth() + 1) << 5) |
  entryDate.getUTCDate()

/** Numbers of two or four bytes, little end first. */
function fields(...values: readonly [bytes: 2 | 4, value: number][]): Buffer {
  const buffer = Buffer.alloc(values.reduce((sum, [bytes]) => sum + bytes, 0))
  let at = 0
  for (const [bytes, value] of values) at = buffer.writeUIntLE(value, at, bytes)
  return buffer
}

interface Written {
  readonly name: Buffer
  readonly isExecutable: boolean
  readonly offset: number
  crc: number
  size: number
  compressed: number
}

const common = (entry: Written): readonly [2 | 4, number][] => [
  [2, version],
  [2, flags],
  [2, deflated],
  [2, dosTime],
  [2, dosDate],
  [4, entry.crc],
  [4, entry.compressed],
  [4, entry.size],
  [2, entry.name.length],
  [2, 0],
]

const localHeader = (entry: Written): Buffer => fields([4, 0x0403_4b50], ...common(entry))

const descriptor = (entry: Written): Buffer =>
  fields([4, 0x0807_4b50], [4, entry.crc], [4, entry.compressed], [4, entry.size])

const centralHeader = (entry: Written): Buffer =>
  fields(
    [4, 0x0201_4b50],
    // Made on Unix: then the upper half of the attributes is the mode.
    [2, (3 << 8) | version],
    ...common(entry),
    [2, 0],
    [2, 0],
    [2, 0],
    [4, ((entry.isExecutable ? 0o100755 : 0o100644) << 16) >>> 0],
    [4, entry.offset],
  )

/**
 * Entries as zip, in the given order. An entry may be made when its turn comes, from the bytes
 * written before it.
 */
export async function* zip(entries: AsyncIterable<ArchiveEntry>): AsyncGenerator<Uint8Array> {
  const written: Written[] = []
  let offset = 0
  const emit = <T extends Uint8Array>(piece: T): T => {
    offset += piece.length
    if (offset > largest) {
      const cause = 'it has more than 4 GiB'
      throw new HeddleError('HDL_STORE_FAILED', { store: 'the wheel', action: 'be written', cause })
    }
    return piece
  }
  for await (const entry of entries) {
    const name = Buffer.from(entry.path)
    const record: Written = {
      name,
      isExecutable: entry.isExecutable,
      offset,
      crc: 0,
      size: 0,
      compressed: 0,
    }
    yield emit(Buffer.concat([localHeader(record), name]))
    const counted = readEntry(entry, async function* ({ pieces }) {
      for await (const piece of pieces) {
        record.crc = crc32(piece, record.crc)
        record.size += piece.length
        yield piece
      }
    })
    const deflate = createDeflateRaw({ level: 9, chunkSize: pieceSize })
    for await (const piece of through(counted, deflate)) {
      record.compressed += piece.length
      yield emit(piece)
    }
    yield emit(descriptor(record))
    written.push(record)
  }
  const start = offset
  for (const record of written) yield emit(Buffer.concat([centralHeader(record), record.name]))
  const size = offset - start
  const count = written.length
  yield fields(
    [4, 0x0605_4b50],
    [2, 0],
    [2, 0],
    [2, count],
    [2, count],
    [4, size],
    [4, start],
    [2, 0],
  )
}
