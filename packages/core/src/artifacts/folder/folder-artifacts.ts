/** Artifacts in a folder: `<folder>/<run>/…`, as run-folder.ts says. */
import { open, readdir, rm, stat, type FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError } from '../../errors.ts'
import { writeAtomic } from '../../files/atomic-write.ts'
import { codeOf, fileError, ifExists } from '../../files/replace.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import type {
  ArtifactContent,
  ArtifactInfo,
  ArtifactQuota,
  ArtifactRange,
  ArtifactStore,
  ArtifactUpload,
  OpenArtifact,
  PutArtifactOptions,
} from '../artifact-store.ts'
import { checkArtifactName, checkPut, checkRange, checkUpload } from '../check-artifact.ts'
import { damaged, ReadCheck } from '../intake.ts'
import { pieceBytes } from '../pieces.ts'
import { readIndex, type ArtifactEntry } from './artifact-index.ts'
import { partFileName, removalMark, runFolderName } from './file-names.ts'
import { RunFolder, infoOf } from './run-folder.ts'

/** Runs whose list is kept in memory after the last put. */
const mostIdle = 64

export interface FolderArtifactsOptions {
  readonly kernel: Kernel
  readonly quota: ArtifactQuota
}

export class FolderArtifacts implements ArtifactStore {
  readonly #folder: string
  readonly #options: FolderArtifactsOptions
  /** Runs that this process writes artifacts of, the one that was used last at the end. */
  readonly #runs = new Map<string, { readonly run: RunFolder; readonly loaded: Promise<void> }>()

  constructor(folder: string, options: FolderArtifactsOptions) {
    this.#folder = path.resolve(folder)
    this.#options = options
  }

  async put(
    run: string,
    name: string,
    content: ArtifactContent,
    options: PutArtifactOptions = {},
  ): Promise<ArtifactInfo> {
    checkArtifactName(name)
    const put = checkPut(options, this.#options.quota)
    const used = await this.#use(run)
    try {
      return await used.put(name, content, put)
    } finally {
      used.users--
      this.#forgetIdle()
    }
  }

  async received(run: string, name: string, upload: ArtifactUpload): Promise<number> {
    checkArtifactName(name)
    checkUpload(upload)
    const part = partFileName(name, upload.sha256, upload.length)
    const found = await this.#attempt(ifExists(stat(path.join(this.#folderOf(run), part))))
    return found?.size ?? 0
  }

  async find(run: string, name: string): Promise<ArtifactInfo | undefined> {
    const entry = (await this.#entries(run)).get(name)
    return entry && infoOf(entry)
  }

  async open(run: string, name: string, range: ArtifactRange = {}): Promise<OpenArtifact> {
    const entry = await this.#entryOf(run, name)
    const { start, end } = checkRange(range, entry)
    const handle =
      (await this.#openFile(run, entry)) ??
      // It was replaced after the list was read.
      (await this.#openFile(run, await this.#entryOf(run, name)))
    if (handle === undefined) throw damaged(entry, 'its file is gone')
    const { size } = await this.#attempt(handle.stat())
    if (size === entry.length) return new OpenFile(entry, handle, start, end)
    await handle.close()
    throw damaged(entry, `its file has ${size} bytes, expected ${entry.length}`)
  }

  async list(run: string): Promise<readonly ArtifactInfo[]> {
    return [...(await this.#entries(run)).values()].map(infoOf)
  }

  async remove(run: string): Promise<number> {
    this.#runs.delete(run)
    const folder = this.#folderOf(run)
    const bytes = await this.#attempt(bytesIn(folder))
    await this.#attempt(rm(folder, { recursive: true, force: true }))
    return bytes
  }

  async *sizes(): AsyncGenerator<readonly [run: string, bytes: number], void, undefined> {
    for (const run of await this.#runIds()) {
      yield [run, await this.#attempt(bytesIn(this.#folderOf(run)))]
    }
  }

  /**
   * Notes that a run is about to be removed from its journal: should the process die before remove(), the next one finds it
   * with {@link unfinishedRemovals}.
   */
  async markRemoval(run: string): Promise<void> {
    const folder = this.#folderOf(run)
    if ((await this.#attempt(ifExists(stat(folder)))) === undefined) return
    await writeAtomic(path.join(folder, removalMark), run, { kernel: this.#options.kernel })
  }

  async unfinishedRemovals(): Promise<readonly string[]> {
    const marked: string[] = []
    for (const run of await this.#runIds()) {
      const mark = path.join(this.#folderOf(run), removalMark)
      if ((await this.#attempt(ifExists(stat(mark)))) !== undefined) marked.push(run)
    }
    return marked
  }

  async unmarkRemoval(run: string): Promise<void> {
    await this.#attempt(rm(path.join(this.#folderOf(run), removalMark), { force: true }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#runs.clear()
  }

  /** The ids of runs whose folders are there. A hashed one is read from its list. */
  async #runIds(): Promise<readonly string[]> {
    const names = (await this.#attempt(ifExists(readdir(this.#folder)))) ?? []
    const runs: string[] = []
    for (const name of names) {
      if (runFolderName(name) === name) runs.push(name)
      else if (name.startsWith('_')) {
        const [first] = (await this.#attempt(readIndex(path.join(this.#folder, name)))).values()
        if (first !== undefined) runs.push(first.run)
      }
    }
    return runs
  }

  async #use(run: string): Promise<RunFolder> {
    let used = this.#runs.get(run)
    if (used === undefined) {
      const made = new RunFolder(run, this.#folderOf(run), this.#options.kernel)
      used = { run: made, loaded: this.#attempt(made.load()) }
      this.#runs.set(run, used)
    } else {
      // The last one is forgotten last.
      this.#runs.delete(run)
      this.#runs.set(run, used)
    }
    used.run.users++
    try {
      await used.loaded
      return used.run
    } catch (error) {
      used.run.users--
      if (this.#runs.get(run) === used) this.#runs.delete(run)
      throw error
    }
  }

  #forgetIdle(): void {
    for (const [id, { run }] of this.#runs) {
      if (this.#runs.size <= mostIdle) return
      if (run.users === 0) this.#runs.delete(id)
    }
  }

  async #entries(run: string): Promise<ReadonlyMap<string, ArtifactEntry>> {
    const used = this.#runs.get(run)
    if (used === undefined) return this.#attempt(readIndex(this.#folderOf(run)))
    await used.loaded
    return used.run.entries
  }

  async #entryOf(run: string, name: string): Promise<ArtifactEntry> {
    const entry = (await this.#entries(run)).get(name)
    if (entry === undefined) throw new HeddleError('HDL_UNKNOWN_ARTIFACT', { run, artifact: name })
    return entry
  }

  async #openFile(run: string, { file }: ArtifactEntry): Promise<FileHandle | undefined> {
    return this.#attempt(ifExists(open(path.join(this.#folderOf(run), file), 'r')))
  }

  #folderOf(run: string): string {
    return path.join(this.#folder, runFolderName(run))
  }

  async #attempt<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      throw fileError(this.#folder, 'keep artifacts', error)
    }
  }
}

class OpenFile implements OpenArtifact {
  readonly info: ArtifactInfo
  readonly start: number
  readonly end: number
  readonly #handle: FileHandle
  #isOpen = true

  constructor(entry: ArtifactEntry, handle: FileHandle, start: number, end: number) {
    this.info = infoOf(entry)
    this.start = start
    this.end = end
    this.#handle = handle
  }

  get bytes(): AsyncIterable<Uint8Array> {
    return this.#read()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    await this.#handle.close()
  }

  async *#read(): AsyncGenerator<Uint8Array, void, undefined> {
    const { length, sha256 } = this.info
    const check = this.start === 0 && this.end === length ? new ReadCheck() : undefined
    try {
      for (let at = this.start; at < this.end;) {
        const most = Math.min(pieceBytes, this.end - at)
        const { bytesRead, buffer } = await this.#handle.read(new Uint8Array(most), 0, most, at)
        if (bytesRead === 0) throw damaged(this.info, 'its file has become shorter')
        const piece = buffer.subarray(0, bytesRead)
        check?.add(piece)
        at += bytesRead
        // The last piece is held back until all of them are known to be right.
        if (at === this.end && check !== undefined && !check.holds(sha256)) {
          throw damaged(this.info, `its bytes do not have the checksum ${sha256}`)
        }
        yield piece
      }
    } finally {
      await this[Symbol.asyncDispose]()
    }
  }
}

async function bytesIn(folder: string): Promise<number> {
  let bytes = 0
  for (const file of (await ifExists(readdir(folder))) ?? []) {
    try {
      bytes += (await stat(path.join(folder, file))).size
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
    }
  }
  return bytes
}
