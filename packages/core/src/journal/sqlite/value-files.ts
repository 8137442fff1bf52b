/**
 * Large values, as files in a folder beside the database.
 *
 *   encoded ──▶ <folder>/<random>.draft ──▶ on the medium ──▶ <folder>/<SHA-256> ──▶ the row names it
 *
 *  V1  A row names a file only after the file is complete and, with 'fsync', on the medium.
 *  V2  A file that no row names is harmless: the next writer removes it after a crash.
 *
 * The name is the hash of the content: equal values share a file, and a damaged one is noticed.
 * Files are written by the pool of threads that Node has for files: the thread that commits rows never
 * waits for one.
 */
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { FileWriter, readFile } from '../../files/large-values.ts'
import { HeddleError } from '../../errors.ts'
import { codeOf, syncFolder } from '../../files/replace.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { goneWhileWritten } from '../../sqlite/file-guard.ts'
import { joinBytes } from '../../sqlite/own-bytes.ts'
import { Semaphore } from '../../sync/semaphore.ts'
import type { Durability } from '../journal.ts'
import { inlineLimit, type StoredValue } from '../batch.ts'
import type { Pieces } from '../encode.ts'
import { draftSuffix, valuesFolder } from './file-names.ts'
import { storeError } from './sqlite-error.ts'

/** Large values that are encoded at a time: each has pieces of its encoded form in memory. */
const atOnce = 2

export interface ValueFilesOptions {
  readonly durability: Durability
  readonly kernel: Kernel
}

export class ValueFiles {
  readonly #file: string
  readonly #folder: string
  readonly #durable: boolean
  readonly #kernel: Kernel
  readonly #permits: Semaphore
  #made: Promise<void> | undefined

  constructor(file: string, { durability, kernel }: ValueFilesOptions) {
    this.#file = file
    this.#folder = valuesFolder(file)
    this.#durable = durability === 'fsync'
    this.#kernel = kernel
    this.#permits = new Semaphore({ permits: atOnce, kernel })
  }

  /** Stores a value that takes longer to encode than a moment. It may turn out to be small. */
  async store(pieces: Pieces): Promise<StoredValue> {
    const permit = await this.#permits.acquire()
    try {
      return await this.#write(pieces)
    } finally {
      permit.release()
    }
  }

  async #write(pieces: Pieces): Promise<StoredValue> {
    const first: Uint8Array<ArrayBuffer>[] = []
    let size = 0
    let writer: FileWriter | undefined
    try {
      for await (const piece of pieces) {
        size += piece.length
        if (writer === undefined && size <= inlineLimit) {
          first.push(piece)
          continue
        }
        writer ??= await this.#create(first)
        await this.#attempt(writer.write(piece))
      }
      if (writer === undefined) return { body: joinBytes(first) }
      const file = writer.name()
      await this.#attempt(writer.finish(file))
      return { file }
    } catch (error) {
      await writer?.abandon().catch(() => undefined)
      throw error
    }
  }

  /** The bytes of a value. Undefined when they are damaged, or not there. */
  read(file: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return this.#attempt(readFile(this.#folder, file))
  }

  async #create(first: readonly Uint8Array[]): Promise<FileWriter> {
    await this.#attempt((this.#made ??= this.#makeFolder()))
    const unique = Math.floor(this.#kernel.random.next() * 2 ** 52).toString(36)
    const draft = join(this.#folder, `${process.pid}-${unique}${draftSuffix}`)
    const writer = new FileWriter(draft, this.#folder, this.#durable)
    for (const piece of first) await this.#attempt(writer.write(piece))
    return writer
  }

  async #makeFolder(): Promise<void> {
    await mkdir(this.#folder, { recursive: true })
    if (this.#durable) await syncFolder(dirname(this.#folder))
  }

  #gone(): HeddleError {
    const problem = goneWhileWritten('the folder of its large values')
    return new HeddleError('HDL_JOURNAL_GONE', { path: this.#file, problem })
  }

  async #attempt<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      // The folder was made, or was there: it has been removed since.
      if (codeOf(error) === 'ENOENT') throw this.#gone()
      throw storeError(this.#folder, 'hold a large value', error)
    }
  }
}
