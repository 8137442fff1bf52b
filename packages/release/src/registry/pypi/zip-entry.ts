import { open, type FileHandle } from 'node:fs/promises'
import { promisify } from 'node:util'
import { inflateRaw } from 'node:zlib'

const inflate = promisify(inflateRaw)

/** The end of a zip file: 22 bytes and a comment. */
const endSize = 22
const longestComment = 65_535
const signature = { end: 0x06054b50, entry: 0x02014b50 }

/**
 * The first file of a zip archive whose path matches, as text. Undefined when there is none.
 *
 * Wheels are plain zip files: the directory at the end says where a file is, so only that and the one
 * file are read. Archives of more than 4 GB have another directory, which is not read.
 *
 * *Cancellation*: none; it reads a few pieces of one file.
 */
export async function findInZip(file: string, pattern: RegExp): Promise<string | undefined> {
  const zip = await open(file)
  try {
    const { size } = await zip.stat()
    const tailSize = Math.min(size, endSize + longestComment)
    const tail = await readAt(zip, size - tailSize, tailSize)
    const end = lastIndexOf(tail, signature.end)
    if (end < 0) return undefined
    const directory = await readAt(zip, tail.readUInt32LE(end + 16), tail.readUInt32LE(end + 12))
    const entry = findEntry(directory, pattern)
    if (entry === undefined) return undefined
    // Its own header repeats the name, with extra fields of another length.
    const header = await readAt(zip, entry.offset, 30)
    const start = entry.offset + 30 + header.readUInt16LE(26) + header.readUInt16LE(28)
    const data = await readAt(zip, start, entry.size)
    return (entry.method === 0 ? data : await inflate(data)).toString('utf8')
  } finally {
    await zip.close()
  }
}

interface Entry {
  readonly method: number
  readonly size: number
  readonly offset: number
}

function findEntry(directory: Buffer, pattern: RegExp): Entry | undefined {
  for (let at = 0; at + 46 <= directory.length;) {
    if (directory.readUInt32LE(at) !== signature.entry) return undefined
    const nameSize = directory.readUInt16LE(at + 28)
    const name = directory.toString('utf8', at + 46, at + 46 + nameSize)
    if (pattern.test(name)) {
      return {
        method: directory.readUInt16LE(at + 10),
        size: directory.readUInt32LE(at + 20),
        offset: directory.readUInt32LE(at + 42),
      }
    }
    at += 46 + nameSize + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32)
  }
  return undefined
}

function lastIndexOf(buffer: Buffer, wanted: number): number {
  for (let at = buffer.length - endSize; at >= 0; at--) {
    if (buffer.readUInt32LE(at) === wanted) return at
  }
  return -1
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}
