import { open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { inflateRaw } from 'node:zlib'
import type { ArchiveContent } from '../read-tarball.ts'

const inflate = promisify(inflateRaw)
/** The end of the directory stands at most this far before the end of the file. */
const endSize = 22 + 65_535

async function readAt(
  handle: {
    read: (buffer: Buffer, at: number, size: number, position: number) => Promise<unknown>
  },
  position: number,
  size: number,
): Promise<Buffer> {
  const buffer = Buffer.alloc(size)
  await handle.read(buffer, 0, size, position)
  return buffer
}

interface Entry {
  readonly name: string
  readonly start: number
  readonly size: number
  readonly isPlain: boolean
}

function* directoryEntries(directory: Buffer): Generator<Entry> {
  for (let at = 0; at + 46 <= directory.length;) {
    const nameLength = directory.readUInt16LE(at + 28)
    yield {
      name: directory.toString('utf8', at + 46, at + 46 + nameLength),
      start: directory.readUInt32LE(at + 42),
      size: directory.readUInt32LE(at + 20),
      isPlain: directory.readUInt16LE(at + 10) === 0,
    }
    at += 46 + nameLength + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32)
  }
}

/** What a zip archive holds, from its directory. A file that is none holds nothing. */
export async function readFromZip(file: string, wanted: RegExp): Promise<ArchiveContent> {
  const files: string[] = []
  const texts = new Map<string, string>()
  await using handle = await open(file, 'r')
  const { size } = await handle.stat()
  const tail = await readAt(handle, Math.max(0, size - endSize), Math.min(size, endSize))
  const end = tail.lastIndexOf('PK\u0005\u0006', undefined, 'latin1')
  if (end < 0) return { files, texts }
  const directory = await readAt(handle, tail.readUInt32LE(end + 16), tail.readUInt32LE(end + 12))
  for (const entry of directoryEntries(directory)) {
    files.push(entry.name)
    if (!wanted.test(entry.name)) continue
    const header = await readAt(handle, entry.start, 30)
    const from = entry.start + 30 + header.readUInt16LE(26) + header.readUInt16LE(28)
    const bytes = await readAt(handle, from, entry.size)
    texts.set(entry.name, (entry.isPlain ? bytes : await inflate(bytes)).toString('utf8'))
  }
  return { files, texts }
}
