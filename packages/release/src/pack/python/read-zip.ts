import { open, type FileHandle } from 'node:fs/promises'
import { promisify } from 'node:util'
import { inflateRaw } from 'node:zlib'
import type { ArchiveContent } from '../read-tarball.ts'

const inflate = promisify(inflateRaw)

/** The end of a zip file: 22 bytes and a comment. */
const endSize = 22
const longestComment = 65_535
const signature = { end: 'PK\u0005\u0006', entry: 0x02014b50 }

interface Entry {
  readonly name: string
  readonly start: number
  readonly size: number
  readonly isPlain: boolean
}

/** Ends at the first bytes that are not an entry: a damaged archive has the entries before them. */
function* directoryEntries(directory: Buffer): Generator<Entry> {
  for (let at = 0; at + 46 <= directory.length;) {
    if (directory.readUInt32LE(at) !== signature.entry) return
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

/**
 * The content of a zip archive, from its directory, and the text of the files that are wanted, up to `most` of them. A
 * file that is not an archive holds nothing.
 *
 * Wheels are plain zip files: the directory at the end says where a file is, so only that and the wanted
 * files are read. Archives of more than 4 GB have another directory, which is not read.
 *
 * *Cancellation*: none; it reads a few pieces of one file.
 */
export async function readFromZip(
  file: string,
  wanted: RegExp,
  most = Infinity,
): Promise<ArchiveContent> {
  const files: string[] = []
  const texts = new Map<string, string>()
  await using handle = await open(file, 'r')
  const { size } = await handle.stat()
  const tailSize = Math.min(size, endSize + longestComment)
  const tail = await readAt(handle, size - tailSize, tailSize)
  const end = tail.lastIndexOf(signature.end, undefined, 'latin1')
  if (end < 0 || end + endSize > tail.length) return { files, texts }
  const directory = await readAt(handle, tail.readUInt32LE(end + 16), tail.readUInt32LE(end + 12))
  for (const entry of directoryEntries(directory)) {
    files.push(entry.name)
    if (texts.size < most && wanted.test(entry.name)) {
      texts.set(entry.name, await textOf(handle, entry))
    }
  }
  return { files, texts }
}

/**
 * The first file of a zip archive whose path matches, as text. Undefined when there is none.
 *
 * *Cancellation*: as {@link readFromZip}.
 */
export async function findInZip(file: string, pattern: RegExp): Promise<string | undefined> {
  const { texts } = await readFromZip(file, pattern, 1)
  return [...texts.values()][0]
}

async function textOf(handle: FileHandle, { start, size, isPlain }: Entry): Promise<string> {
  // Its own header repeats the name, with extra fields of another length.
  const header = await readAt(handle, start, 30)
  const from = start + 30 + header.readUInt16LE(26) + header.readUInt16LE(28)
  const bytes = await readAt(handle, from, size)
  return (isPlain ? bytes : await inflate(bytes)).toString('utf8')
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}
