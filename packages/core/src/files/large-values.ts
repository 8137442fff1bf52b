import { createHash, type Hash } from 'node:crypto'
import { open, rename, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from './replace.ts'

/** Bytes read in one go: hashing them takes about 1 ms, in which rows wait. */
const readLength = 2 ** 20

/**
 * A large value on its way into a file: written under another name, complete on the medium, then
 * renamed. Its name is its hash, so that a file can be checked against its name at any time.
 *
 * Files are read and written without blocking the thread, so that rows do not wait for them.
 */
export class FileWriter {
  readonly #draft: string
  readonly #files: string
  readonly #durable: boolean
  readonly #hash: Hash = createHash('sha256')
  /** Shared by all writers: opening starts once. */
  #opening: Promise<FileHandle> | undefined
  bytes = 0

  constructor(draft: string, files: string, durable: boolean) {
    this.#draft = draft
    this.#files = files
    this.#durable = durable
  }

  async write(piece: Uint8Array): Promise<void> {
    this.#hash.update(piece)
    const handle = await this.#open()
    for (let at = 0; at < piece.length;) {
      const { bytesWritten } = await handle.write(piece, at)
      at += bytesWritten
    }
    this.bytes += piece.length
  }

  /** The name that the file will have. Nothing may be written any more. */
  name(): string {
    return this.#hash.digest('hex')
  }

  /** Puts it in its place, where it may replace one of the same content. */
  async finish(name: string): Promise<void> {
    const handle = await this.#open()
    if (this.#durable) await handle.sync()
    await this.#close()
    await rename(this.#draft, join(this.#files, name))
    // The new name is on the medium only when the folder is.
    if (this.#durable) await syncFolder(this.#files)
  }

  async abandon(): Promise<void> {
    await this.#close()
    await rm(this.#draft, { force: true })
  }

  #open(): Promise<FileHandle> {
    return (this.#opening ??= open(this.#draft, 'wx'))
  }

  async #close(): Promise<void> {
    const opening = this.#opening
    this.#opening = undefined
    // The writer was notified that it could not be opened.
    await (await opening?.catch(() => undefined))?.close()
  }
}

/** The bytes of a file; undefined when they are not what its name says, or it is not there. */
export async function readFile(
  files: string,
  name: string,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  let file: FileHandle
  try {
    file = await open(join(files, name), 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    const { size } = await file.stat()
    const bytes = new Uint8Array(size)
    const hash = createHash('sha256')
    for (let at = 0; at < size;) {
      const length = Math.min(readLength, size - at)
      const { bytesRead } = await file.read(bytes, at, length, at)
      if (bytesRead === 0) return undefined
      hash.update(bytes.subarray(at, at + bytesRead))
      at += bytesRead
    }
    return hash.digest('hex') === name ? bytes : undefined
  } finally {
    await file.close()
  }
}
