/**
 * Files that are changed for a while and given back byte by byte, whatever ends the process.
 *
 *   reserved ──bytes and intent are durable──▶ intended ──▶ changed ──▶ restoring ──▶ restored
 *       └───────────────failed───────────────▶ gone   └──edited by another───▶ conflict
 *
 * Three layers, each for the ends that the one before cannot see: restore() or the end of the scope; exit,
 * uncaught errors and signals, synchronously (see exit-guard.ts); the journal, read by the next
 * start, for SIGKILL and power failure.
 *
 * Invariants, quoted by the tests:
 *  I1  A file is changed only after its original bytes and the intent are on disk.
 *  I2  After restoring, the file has its original bytes (checked by SHA-256) and mode; symbolic
 *      links still point where they did.
 *  I3  A crash at any point, also during recovery, is repaired by the next recovery.
 *  I4  An edit by another program is never overwritten: `HDL_RESTORE_CONFLICT`, both versions kept.
 *  I5  A file is changed by at most one holder at a time; a journal folder has at most one owner.
 *  I6  With nothing changed, nothing of ours listens to signals or exit.
 *
 * Known limits: other hard links to a file keep the changed content until it is restored, and are
 * separate files afterwards. An edit in the instant between the last check and the rename is lost.
 */
import { constants } from 'node:fs'
import { copyFile, open, readdir, realpath, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError, isError } from '../errors.ts'
import { checkOptions, type OptionNames } from '../kernel/check.ts'
import { isoTime } from '../kernel/iso-time.ts'
import { systemKernel, type Kernel } from '../kernel/kernel.ts'
import { holdLock, type HeldLock } from './exclusive-lock.ts'
import { beforeExit } from './exit-guard.ts'
import {
  dropIntent,
  hashOfBytes,
  hashOfFile,
  idOfIntent,
  idOfOriginal,
  intentFiles,
  readIntent,
  restoreFile,
  writeIntent,
  type Intent,
  type IntentFiles,
} from './intent.ts'
import { fileError, replaceFile, syncFolder, tempBeside } from './replace.ts'
import { restoreNow } from './restore-now.ts'

export interface RestoreOptions {
  readonly kernel?: Kernel
}

/** What {@link recover} found. Paths are without symbolic links. */
export interface Recovery {
  /** Files that got their original content back. */
  readonly restored: readonly string[]
  /** Files that were about to be changed, or had been restored, when the process was killed. */
  readonly untouched: readonly string[]
}

/** A file that is changed until it is restored. */
export interface ChangedFile extends AsyncDisposable {
  /** The path without symbolic links. */
  readonly path: string
  /**
   * Gives the file its original bytes back. Calling it again is harmless, and tries again when it
   * failed for a reason that may pass.
   *
   * *Cancellation*: cannot be cancelled.
   * *Fairness*: does not apply; callers at the same time share one restoration.
   *
   * @throws `HDL_RESTORE_CONFLICT` when another program edited the file; both versions are kept.
   */
  restore(): Promise<void>
}

export interface RestoreStats {
  readonly folder: string
  /** Files that are changed now, or about to be. */
  readonly changed: number
  readonly restored: number
  readonly conflicts: number
  readonly isClosed: boolean
}

const lockName = 'registry.lock'

async function recoverEntry(folder: string, id: string): Promise<[keyof Recovery, string]> {
  const intent = await readIntent(path.join(folder, `${id}.json`))
  const files = intentFiles(folder, id, intent.path)
  const outcome = intent.restored ? 'untouched' : await restoreFile(files, intent)
  // The name that an interrupted synchronous restoration uses.
  await rm(`${intent.temp}.now`, { force: true })
  await dropIntent(files, intent)
  return [outcome, intent.path]
}

/** Under the folder's lock: no other process changes files through this journal. */
async function recoverFolder(folder: string): Promise<Recovery> {
  const names = (await readdir(folder)).sort()
  const recovery = { restored: [] as string[], untouched: [] as string[] }
  const errors: unknown[] = []
  const unsettled = new Set<string>()
  for (const name of names) {
    // The lock's description is not an intent.
    const id = name.startsWith(lockName) ? undefined : idOfIntent(name)
    if (id === undefined) continue
    try {
      const [outcome, file] = await recoverEntry(folder, id)
      recovery[outcome].push(file)
    } catch (error) {
      errors.push(fileError(path.join(folder, name), 'be recovered', error))
      // A conflict is settled; anything else is tried again next time and keeps its original.
      if (!isError(error, 'HDL_RESTORE_CONFLICT')) unsettled.add(id)
    }
  }
  for (const name of names) {
    const id = idOfOriginal(name)
    // Without an intent the file was not changed yet, or is restored already.
    const isOrphan = id !== undefined && !unsettled.has(id)
    if (isOrphan || name.endsWith('.tmp')) await rm(path.join(folder, name), { force: true })
  }
  if (errors.length > 0) throw firstOf(errors)
  return recovery
}

/** The first error, carrying all of them. */
function firstOf(errors: readonly unknown[]): unknown {
  const first = errors[0]
  if (errors.length === 1 || !(first instanceof HeddleError)) return first
  return new HeddleError(first.code, first.details, { cause: first, errors })
}

const lockFolder = (folder: string, kernel: Kernel): Promise<HeldLock> =>
  holdLock(path.join(folder, lockName), { command: 'restoring changed files', kernel })

const optionNames = {
  kernel: 1,
} satisfies OptionNames<RestoreOptions>

/**
 * Restores the files that a killed process left changed. To be called before anything else is done
 * with those files; {@link RestoreRegistry.open} does it itself.
 *
 * All files are tried before it fails.
 *
 * *Cancellation*: cannot be cancelled; killing it is harmless.
 * *Fairness*: does not apply.
 *
 * @throws `HDL_LOCKED` when a living process uses the folder; `HDL_RESTORE_CONFLICT` when a file
 * was edited meanwhile, once: both versions are kept, and the next call finds nothing to do.
 */
export async function recover(folder: string, options: RestoreOptions = {}): Promise<Recovery> {
  checkOptions(options, optionNames)
  await using lock = await lockFolder(folder, options.kernel ?? systemKernel)
  return await recoverFolder(path.dirname(lock.path))
}

type ChangeState = 'reserved' | 'intended' | 'changed' | 'restoring' | 'restored' | 'conflict'

/** Over all registries of the thread, by path without symbolic links. */
const inHand = new Set<string>()

class Change implements ChangedFile {
  readonly path: string
  readonly files: IntentFiles
  state: ChangeState = 'reserved'
  /** Known from `intended` on. */
  intent: Intent | undefined
  /** Settles when the file is changed, or failed to be. */
  readonly made: Promise<void>
  readonly #onEnd: (change: Change) => void
  #restoring: Promise<void> | undefined

  constructor(
    target: string,
    files: IntentFiles,
    bytes: Uint8Array,
    kernel: Kernel,
    onEnd: (change: Change) => void,
  ) {
    this.path = target
    this.files = files
    this.#onEnd = onEnd
    this.made = this.#make(bytes, kernel)
  }

  async #make(bytes: Uint8Array, kernel: Kernel): Promise<void> {
    try {
      this.intent = await this.#prepare(bytes, kernel)
      await writeIntent(this.files, this.intent, kernel)
      this.state = 'intended'
      const { path: target, temp, original } = this.intent
      if ((await hashOfFile(target)) !== original) {
        const cause = 'it was edited at the same moment'
        throw new HeddleError('HDL_STORE_FAILED', { store: target, action: 'be changed', cause })
      }
      await replaceFile({ target, temp, attributes: this.intent, content: bytes })
      this.state = 'changed'
    } catch (error) {
      await this.#undo()
      throw fileError(this.path, 'be changed', error)
    }
  }

  async #prepare(bytes: Uint8Array, kernel: Kernel): Promise<Intent> {
    const { original } = this.files
    const found = await stat(this.path)
    if (!found.isFile()) {
      const cause = 'it is not a regular file'
      throw new HeddleError('HDL_STORE_FAILED', { store: this.path, action: 'be changed', cause })
    }
    await copyFile(this.path, original, constants.COPYFILE_EXCL)
    const handle = await open(original, 'r+')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
    await syncFolder(path.dirname(original))
    return {
      version: 1,
      path: this.path,
      temp: tempBeside(this.path, kernel.random),
      mode: found.mode & 0o7777,
      uid: found.uid,
      gid: found.gid,
      original: (await hashOfFile(original))!,
      changed: await hashOfBytes(bytes),
      pid: process.pid,
      at: isoTime(kernel.clock.wallTime()),
    }
  }

  /** Restores the state after a failure. */
  async #undo(): Promise<void> {
    try {
      if (this.intent !== undefined) {
        if (this.state === 'intended') await restoreFile(this.files, this.intent)
        await dropIntent(this.files, this.intent)
      } else await rm(this.files.original, { force: true })
    } catch {
      // The first failure is reported; the files that could not be restored are left to the next recovery.
    }
    this.#end('restored')
  }

  restore(): Promise<void> {
    if (this.state === 'restored') return Promise.resolve()
    this.#restoring ??= this.#giveBack().catch((error: unknown) => {
      // A conflict stays one; anything else can be tried again.
      if (this.state !== 'conflict') this.#restoring = undefined
      throw error
    })
    return this.#restoring
  }

  async #giveBack(): Promise<void> {
    const { files, intent } = this
    this.state = 'restoring'
    try {
      await restoreFile(files, intent!)
      this.state = 'restored'
      await dropIntent(files, intent!)
    } catch (error) {
      if (isError(error, 'HDL_RESTORE_CONFLICT')) {
        this.#end('conflict')
        throw error
      }
      if (this.state !== 'restored') {
        this.state = 'changed'
        throw fileError(this.path, 'be restored', error)
      }
      // The file is as it was; traces in the journal are removed by the next recovery.
    }
    this.#end('restored')
  }

  #end(state: 'restored' | 'conflict'): void {
    this.state = state
    inHand.delete(this.path)
    this.#onEnd(this)
  }

  /** The synchronous way, for the end of the process. */
  restoreNow(): void {
    const { state, intent } = this
    if (intent === undefined || state === 'reserved') return
    if (state === 'restored' || state === 'conflict') return
    restoreNow(this.files, intent, state === 'changed')
    this.state = 'restored'
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.restore()
  }
}

/**
 * The files that this process has changed for a while, with a journal in a folder of its own.
 *
 * @example
 * await using files = await RestoreRegistry.open('.git/heddle/changed')
 * await using pinned = await files.change('package.json', Buffer.from(pinnedManifest))
 * await pack()
 */
export class RestoreRegistry implements AsyncDisposable {
  readonly folder: string
  /** What an earlier process had left changed. */
  readonly recovered: Recovery
  readonly #lock: HeldLock
  readonly #kernel: Kernel
  readonly #changes = new Set<Change>()
  #guard: Disposable | undefined
  #closing: Promise<void> | undefined
  #sequence = 0
  #restored = 0
  #conflicts = 0

  private constructor(folder: string, lock: HeldLock, recovered: Recovery, kernel: Kernel) {
    this.folder = folder
    this.#lock = lock
    this.recovered = recovered
    this.#kernel = kernel
  }

  /**
   * Takes the folder (made when absent) and restores the files that an earlier process left changed.
   *
   * *Cancellation*: cannot be cancelled; killing it is harmless.
   * *Fairness*: does not apply.
   *
   * @throws as {@link recover}
   */
  static async open(folder: string, options: RestoreOptions = {}): Promise<RestoreRegistry> {
    checkOptions(options, optionNames)
    const kernel = options.kernel ?? systemKernel
    const resolved = path.resolve(folder)
    const lock = await lockFolder(resolved, kernel)
    try {
      return new RestoreRegistry(resolved, lock, await recoverFolder(resolved), kernel)
    } catch (error) {
      await lock.release()
      throw fileError(folder, 'be recovered', error)
    }
  }

  /**
   * Changes a file until it is restored. A symbolic link stays one; its target is changed.
   *
   * *Cancellation*: cannot be cancelled.
   * *Fairness*: files are independent of each other.
   *
   * @throws `HDL_LOCKED` when the file is changed already; `HDL_STORE_FAILED` when it cannot be
   * read or written: it is as it was then, and nothing is left behind.
   */
  async change(file: string, content: string | Uint8Array): Promise<ChangedFile> {
    let target: string
    try {
      target = await realpath(file)
    } catch (error) {
      throw fileError(file, 'be changed', error)
    }
    // No await between the checks and the reservation.
    if (this.#closing !== undefined) {
      throw new HeddleError('HDL_CLOSED', { what: `The registry in ${this.folder}` })
    }
    if (inHand.has(target)) {
      const holder = 'this process, which has changed it and not restored it yet'
      throw new HeddleError('HDL_LOCKED', { path: file, holder })
    }
    inHand.add(target)
    const bytes = typeof content === 'string' ? Buffer.from(content) : content
    const files = intentFiles(this.folder, this.#newId(), target)
    const change = new Change(target, files, bytes, this.#kernel, (ended) => this.#onEnd(ended))
    this.#changes.add(change)
    this.#guard ??= beforeExit(() => this.#restoreAllNow())
    await change.made
    return change
  }

  /** Unique over all processes that ever used the folder: in a container every one may have the same pid. */
  #newId(): string {
    return `${this.#kernel.clock.wallTime().toString(36)}-${process.pid}-${++this.#sequence}`
  }

  #onEnd(change: Change): void {
    if (change.state === 'conflict') this.#conflicts++
    else this.#restored++
    this.#changes.delete(change)
    if (this.#changes.size > 0) return
    this.#guard?.[Symbol.dispose]()
    this.#guard = undefined
  }

  /** Runs when the process ends: all files are tried before it fails. */
  #restoreAllNow(): void {
    const errors: unknown[] = []
    for (const change of this.#changes) {
      try {
        change.restoreNow()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, errors.map(String).join('\n'))
  }

  /**
   * Restores all files, then gives the folder free. Calling it again is harmless.
   *
   * *Cancellation*: cannot be cancelled; it waits for changes that are just being made.
   * *Fairness*: does not apply.
   *
   * @throws `HDL_RESTORE_CONFLICT` as {@link ChangedFile.restore}, after trying all files.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const results = await Promise.allSettled(
      [...this.#changes].map(async (change) => {
        // The caller of a failed change has been notified.
        await change.made.catch(() => undefined)
        await change.restore()
      }),
    )
    await this.#lock.release()
    const errors = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    )
    if (errors.length > 0) throw firstOf(errors)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  stats(): RestoreStats {
    return {
      folder: this.folder,
      changed: this.#changes.size,
      restored: this.#restored,
      conflicts: this.#conflicts,
      isClosed: this.#closing !== undefined,
    }
  }
}
