/** The disk tier of a cache, in the thread that hosts its file. */
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { HeddleError, describe } from '../../../errors.ts'
import type { HeldLock } from '../../../files/exclusive-lock.ts'
import { FileWriter, readFile } from '../../../files/large-values.ts'
import { FileGuard } from '../../../sqlite/file-guard.ts'
import type { HostedFile, Receiver, Role } from '../../../sqlite/host-server.ts'
import type { TierEntry, TierMeta, TierStats } from '../../tier.ts'
import { openHome } from './locked-folder.ts'
import type { DiskChange, DiskQuestion, DiskThreadData, WireMeta } from './disk-messages.ts'
import { DiskStore, emptyDirectory, type StoreChange } from './disk-store.ts'

/** A change as it comes, or one whose value is in a file already. */
type RoleChange = DiskChange | StoreChange

export class DiskRole implements HostedFile, Role<DiskQuestion, RoleChange, WireMeta> {
  readonly roles = [this]
  readonly #data: DiskThreadData
  #store: DiskStore | undefined
  #guard = new FileGuard()
  #lock: HeldLock | undefined
  #path = ''

  constructor(data: DiskThreadData) {
    this.#data = data
  }

  /** Gives the highest version that was ever written. */
  async open(): Promise<number> {
    const { directory, name, maxBytes, durable } = this.#data
    const { path, database, lock } = await openHome(directory, name, durable)
    this.#path = path
    this.#lock = lock
    emptyDirectory(join(path, 'staging'))
    this.#store = new DiskStore(database, join(path, 'files'), maxBytes)
    this.#store.sweep()
    this.#guardFiles(database, this.#store)
    return this.#store.lastVersion
  }

  async close(): Promise<void> {
    this.#opened.close()
    this.#store = undefined
    await this.#lock?.release()
  }

  report(): TierStats | undefined {
    return this.#store?.stats
  }

  toError(error: unknown): HeddleError {
    if (error instanceof HeddleError) return error
    const details = { store: this.#path || this.#data.directory, action: 'be used' }
    return new HeddleError('HDL_STORE_FAILED', { ...details, cause: describe(error) })
  }

  /** The cache keeps order: a read that overlaps with a change gives the entry before or after it. */
  seesChanges(): boolean {
    return false
  }

  answer(
    question: DiskQuestion,
    now: number,
  ): TierMeta | TierEntry | undefined | Promise<TierEntry | undefined> {
    const { key } = question
    return question.type === 'peek' ? this.#opened.peek(key) : this.#read(key, now)
  }

  bytesOf(answer: unknown): Uint8Array<ArrayBuffer> | undefined {
    return (answer as Partial<TierEntry> | undefined)?.body
  }

  commit(changes: readonly RoleChange[], now: number): (boolean | Error)[] {
    const store = this.#opened
    const ready = changes.map(readyToStore)
    // Before it as well: a commit may move pages into a database that was emptied, and so hide the hole.
    this.#checkFiles()
    const outcomes = store.commit(ready, now)
    this.#checkFiles()
    for (const change of ready) {
      if (change.type === 'write' && change.file !== null) store.unpin(change.file)
    }
    return outcomes
  }

  weightOf(): number {
    return 1
  }

  receive(meta: WireMeta, id: number): Receiver {
    const files = join(this.#path, 'files')
    const draft = join(this.#path, 'staging', String(id))
    const writer = new FileWriter(draft, files, this.#data.durable)
    return {
      write: (piece) => writer.write(piece),
      abandon: () => writer.abandon(),
      finish: async () => {
        const file = writer.name()
        const store = this.#opened
        // From here on a file of this name stays, also one that another key has just given up.
        store.pin(file)
        try {
          await writer.finish(file)
        } catch (error) {
          store.unpin(file)
          throw error
        }
        return { type: 'write', meta, bytes: writer.bytes, body: null, file }
      },
    }
  }

  #guardFiles(database: DatabaseSync, store: DiskStore): void {
    const file = database.location()!
    this.#guard = new FileGuard()
    this.#guard.add(this.#path, 'its folder', { is: 'folder' })
    this.#guard.add(join(this.#path, 'files'), 'the folder of its large values', { is: 'folder' })
    const mayBe = (): boolean => store.hasShrunk
    this.#guard.add(file, 'its database', { is: 'database', mayBe })
    this.#guard.add(`${file}-wal`, 'its write-ahead log', { is: 'log' })
  }

  /** A commit to a deleted or emptied file is lost: it is not acknowledged. */
  #checkFiles(): void {
    const cause = this.#guard.findProblem()
    if (cause === undefined) return
    throw new HeddleError('HDL_STORE_FAILED', { store: this.#path, action: 'be written', cause })
  }

  get #opened(): DiskStore {
    if (this.#store === undefined) throw new HeddleError('HDL_CLOSED', { what: 'The disk tier' })
    return this.#store
  }

  #read(key: string, now: number): TierEntry | undefined | Promise<TierEntry | undefined> {
    const found = this.#opened.read(key)
    if (found === undefined) return undefined
    const { meta, body } = found
    return body === null ? this.#readFile(key, meta.file!, now) : { ...meta, body }
  }

  async #readFile(key: string, file: string, now: number): Promise<TierEntry | undefined> {
    const body = await readFile(join(this.#path, 'files'), file)
    const store = this.#opened
    const current = store.peek(key)
    // It was replaced in between: the answer is the current value.
    if (current?.file !== file) return this.#read(key, now)
    if (body !== undefined) return { ...current, body }
    store.removeDamaged(key, file, now)
    return undefined
  }
}

function readyToStore(change: RoleChange): StoreChange {
  if (change.type !== 'write' || 'bytes' in change) return change
  const { meta, body } = change
  return { type: 'write', meta, bytes: body.length, body, file: null }
}
