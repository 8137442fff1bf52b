/**
 * The artifacts of one run in a folder, for the process that writes them.
 *
 *   <folder>/index.jsonl             the list
 *   <folder>/report-5f0c….html       an artifact
 *   <folder>/….draft, ….part         being written; an upload that was cut
 */
import { mkdir, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError } from '../../errors.ts'
import { fileError, syncFolder } from '../../files/replace.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { Mutex } from '../../sync/mutex.ts'
import type { ArtifactContent, ArtifactInfo } from '../artifact-store.ts'
import type { CheckedPut } from '../check-artifact.ts'
import { Budget, Intake } from '../intake.ts'
import { pieceBytes, piecesOf } from '../pieces.ts'
import { appendToIndex, openIndex, type ArtifactEntry } from './artifact-index.ts'
import {
  artifactFileName,
  draftFileName,
  indexName,
  partFileName,
  partSuffix,
} from './file-names.ts'

export class RunFolder {
  readonly #run: string
  readonly #path: string
  readonly #kernel: Kernel
  readonly #budget: Budget
  /** Held while the list changes. */
  readonly #listing: Mutex
  #entries: Map<string, ArtifactEntry> = new Map()
  /** Uploads that are being received, by their files. */
  readonly #uploads = new Set<string>()
  /** Puts under way. */
  users = 0

  constructor(run: string, folder: string, kernel: Kernel) {
    this.#run = run
    this.#path = folder
    this.#kernel = kernel
    this.#budget = new Budget(run)
    this.#listing = new Mutex({ name: `artifacts of ${run}`, kernel })
  }

  get entries(): ReadonlyMap<string, ArtifactEntry> {
    return this.#entries
  }

  /** Reads the list, and removes half-written files of an earlier process (F1). */
  async load(): Promise<void> {
    await mkdir(this.#path, { recursive: true })
    await syncFolder(path.dirname(this.#path))
    this.#entries = await openIndex(this.#path)
    const named = new Set([...this.#entries.values()].map(({ file }) => file))
    for (const file of await readdir(this.#path)) {
      if (file === indexName || named.has(file)) continue
      const found = path.join(this.#path, file)
      if (file.endsWith(partSuffix)) {
        const { size } = await stat(found)
        this.#budget.bytes += size
      } else {
        await rm(found, { force: true })
      }
    }
    for (const { length } of this.#entries.values()) this.#budget.bytes += length
    this.#budget.count = this.#entries.size
  }

  async put(name: string, content: ArtifactContent, put: CheckedPut): Promise<ArtifactInfo> {
    this.#checkOwner(name, put.by)
    const { upload } = put
    const isNew = !this.#entries.has(name)
    const draft =
      upload === undefined
        ? draftFileName(this.#kernel.random.next())
        : partFileName(name, upload.sha256, upload.length)
    if (this.#uploads.has(draft)) throw new HeddleError('HDL_ARTIFACT_BUSY', { artifact: name })
    if (isNew) this.#budget.take(put.quota, { count: 1 })
    // The kept part of an interrupted upload counts beside the artifact that it is to replace.
    const replaced = upload === undefined ? (this.#entries.get(name)?.length ?? 0) : 0
    const credit = this.#budget.startReplacing(name, replaced)
    this.#uploads.add(draft)
    try {
      return await this.#receive(name, content, put, path.join(this.#path, draft), credit)
    } finally {
      this.#uploads.delete(draft)
      if (credit > 0) this.#budget.endReplacing(name)
      // The list counts those that are in it.
      if (isNew) this.#budget.giveBack({ count: 1 })
    }
  }

  async #receive(
    name: string,
    content: ArtifactContent,
    put: CheckedPut,
    draft: string,
    credit: number,
  ): Promise<ArtifactInfo> {
    const handle = await this.#attempt(open(draft, put.upload === undefined ? 'wx' : 'a+'))
    let intake: Intake | undefined
    let isWhole = false
    try {
      const kept = await this.#continue(handle, name, put)
      intake = new Intake(name, put, this.#budget, credit)
      for await (const piece of readPieces(handle, kept)) intake.addReceived(piece)
      const what = `The artifact "${name}"`
      for await (const piece of piecesOf(content, what, put.signal)) {
        intake.add(piece)
        await this.#attempt(writeAll(handle, piece))
      }
      const received = intake.finish()
      isWhole = true
      await this.#attempt(handle.sync())
      await this.#attempt(handle.close())
      return await this.#list(name, put, { ...received, taken: intake.taken }, draft)
    } catch (error) {
      await this.#abandon(draft, put, intake, isWhole)
      throw error
    } finally {
      await handle.close()
    }
  }

  /** Cuts an upload back to where its content begins. Gives the bytes before that. */
  async #continue(handle: FileHandle, name: string, { start }: CheckedPut): Promise<number> {
    const { size } = await this.#attempt(handle.stat())
    if (size < start) {
      const [expected, found] = [`${start} bytes so far`, `${size}`]
      throw new HeddleError('HDL_ARTIFACT_MISMATCH', { artifact: name, expected, found })
    }
    if (size > start) {
      await this.#attempt(handle.truncate(start))
      this.#budget.giveBack({ bytes: size - start })
    }
    return start
  }

  /** Makes it an artifact of the run. */
  async #list(
    name: string,
    { by, createdAt = this.#kernel.clock.wallTime(), signal, start }: CheckedPut,
    { length, sha256, taken }: Pick<ArtifactInfo, 'length' | 'sha256'> & Pick<Intake, 'taken'>,
    draft: string,
  ): Promise<ArtifactInfo> {
    using _permit = await this.#listing.acquire(signal === undefined ? {} : { signal })
    // Two pieces of work may have written the same new name at the same time.
    this.#checkOwner(name, by)
    const earlier = this.#entries.get(name)
    const file = artifactFileName(name, sha256)
    const entry = { run: this.#run, name, length, sha256, createdAt, by, file }
    await this.#attempt(rename(draft, path.join(this.#path, file)))
    await this.#attempt(syncFolder(this.#path))
    await this.#attempt(appendToIndex(this.#path, entry))
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    if (earlier === undefined) this.#budget.count++
    else this.#budget.giveBack({ bytes: start + taken + earlier.length - length })
    if (earlier !== undefined && earlier.file !== file) {
      // Where a reader keeps it open it may stay until the next process removes it.
      await rm(path.join(this.#path, earlier.file), { force: true }).catch(() => undefined)
    }
    return infoOf(entry)
  }

  /** F6: received bytes of a resumable upload are kept, unless the bytes are wrong. */
  async #abandon(
    draft: string,
    { upload, start }: CheckedPut,
    intake: Intake | undefined,
    isWhole: boolean,
  ): Promise<void> {
    const isCut = intake !== undefined && !isWhole && !intake.isTooLong
    if (
      upload !== undefined &&
      (intake === undefined || (isCut && intake.length < upload.length))
    ) {
      // A write that failed has left less than has arrived.
      const kept = (await stat(draft).catch(() => undefined))?.size ?? 0
      if (intake !== undefined) this.#budget.giveBack({ bytes: intake.length - kept })
      return
    }
    await rm(draft, { force: true }).catch(() => undefined)
    this.#budget.giveBack({ bytes: start + (intake?.taken ?? 0) })
  }

  /** F2. */
  #checkOwner(name: string, by: string): void {
    const holder = this.#entries.get(name)?.by
    if (holder === undefined || holder === by) return
    throw new HeddleError('HDL_ARTIFACT_TAKEN', { run: this.#run, artifact: name, by, holder })
  }

  async #attempt<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      throw fileError(this.#path, 'hold an artifact', error)
    }
  }
}

/** What users see of an entry. */
export function infoOf({ file: _file, ...info }: ArtifactEntry): ArtifactInfo {
  return info
}

async function writeAll(handle: FileHandle, piece: Uint8Array): Promise<void> {
  for (let at = 0; at < piece.length;) {
    const { bytesWritten } = await handle.write(piece, at)
    at += bytesWritten
  }
}

/** The first bytes of a file, in pieces. */
async function* readPieces(handle: FileHandle, end: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < end;) {
    const length = Math.min(pieceBytes, end - at)
    const { bytesRead, buffer } = await handle.read(new Uint8Array(length), 0, length, at)
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}
