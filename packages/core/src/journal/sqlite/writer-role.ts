/**
 * The journal in the thread that writes its file: carries out changes, and keeps those that fail. A change is a batch of
 * rows, a claim to a run, a message, or a step of removing a run.
 *
 *   writing ──a write failed──▶ keeping ──retry succeeded──▶ writing
 *      └──the file is gone or damaged─┴──given up──▶ failed
 *
 *  R1  What could not be written is kept here, in order, and so is everything that comes after it. It is written
 *      together when the loop says so (write-side.ts): no gap, and nothing travels twice.
 *  R2  A file that was deleted, replaced, emptied or damaged is never written again.
 *
 * The log is moved into the database, and the nodes of runs that have ended are counted, when nothing has come
 * for a while; the log also when it has grown to four times the size for that: after an acknowledgement, never
 * before it.
 *
 * That the files are still the ones that were opened, and as long as they were, is checked before a change of a
 * run is acknowledged (its end above all), before the log is moved into the database, and otherwise ten times a
 * second.
 */
import type { DatabaseSync } from 'node:sqlite'
import { HeddleError } from '../../errors.ts'
import { FileGuard, goneWhileWritten } from '../../sqlite/file-guard.ts'
import type { HostedFile, Role } from '../../sqlite/host-server.ts'
import { StoreRole, type StoreHost } from '../../store/sqlite/store-role.ts'
import { decodeError, encodeError } from '../../threads/error-wire.ts'
import { valuesFolder } from './file-names.ts'
import { cellsPerRow } from '../batch.ts'
import {
  type Opened,
  type Stalled,
  type WriterAnswer,
  type WriterAnswers,
  type WriterChange,
  type WriterData,
  type WriterQuestion,
} from './journal-messages.ts'
import { openForWriting } from './open-database.ts'
import { removeOrphans } from './orphans.ts'
import { isSessionAlive, SessionLock } from './session-lock.ts'
import { isBusy, isDamage, storeError } from './sqlite-error.ts'
import { JournalStore } from './journal-store.ts'

/** Milliseconds between two checks of the files. */
const lookTime = 100

/** Large values older than this many milliseconds have got their rows, if they ever get them. */
const orphanAge = 3_600_000

export class JournalWriterRole implements HostedFile, Role<WriterQuestion, WriterChange> {
  readonly roles: readonly Role[]
  readonly #data: WriterData
  readonly #guard = new FileGuard()
  #database: DatabaseSync | undefined
  #store: JournalStore | undefined
  #lock: SessionLock | undefined
  #host: StoreHost | undefined
  /** R2: why nothing is written any more. */
  #failure: HeddleError | undefined
  /** R1: rows that could not be written, in order, and the reason. */
  #kept: WriterChange[] = []
  #trouble: HeddleError | undefined
  #guardsValues = false
  #lookedAt = 0
  #commits = 0

  constructor(data: WriterData) {
    this.#data = data
    this.roles = [this, new StoreRole(() => this.#storeHost())] as readonly Role[]
  }

  #storeHost(): StoreHost {
    if (this.#failure !== undefined) throw this.#failure
    return (this.#host ??= this.#makeStoreHost(this.#store!, this.#database!))
  }

  #makeStoreHost(store: JournalStore, database: DatabaseSync): StoreHost {
    const { file, lock, pid } = this.#data
    return {
      database,
      lock,
      pid,
      isAlive: (name, owner) => isSessionAlive(file, { lock: name, pid: owner }),
      transact: (rows, work) => {
        try {
          const result = store.alongside(rows, work)
          this.#checkGuard()
          return result
        } catch (error) {
          throw this.#judge(error)
        }
      },
    }
  }

  open(): Opened {
    const { file, durability, pid, openedAt, lock } = this.#data
    const database = openForWriting(file, durability)
    try {
      this.#lock = new SessionLock(file, lock)
      const store = new JournalStore(database, { file, pid, at: openedAt, lock })
      if (store.hasFoundDead && !store.hasOthers) removeOrphans(database, file)
      // Otherwise nothing waits for the length of the log.
      if (durability === 'fsync') attempt(() => store.reserveLog())
      this.#database = database
      this.#store = store
      const mayBe = (size: number): boolean => canBeSoShort(store, size)
      this.#guard.add(file, 'the file', { is: 'database', mayBe })
      // Where SQLite has its log: the name that was given may be that of a link.
      this.#guard.add(`${database.location()}-wal`, 'its write-ahead log', { is: 'log' })
      return store.opened()
    } catch (error) {
      database.close()
      this.#lock?.release()
      throw storeError(file, 'be opened', error)
    }
  }

  close(at: unknown): void {
    const store = this.#store
    this.#store = undefined
    // The rows are durable: work that fails here is repeated at the next opening.
    attempt(() => store?.close(at as number, this.#failure === undefined))
    // Released after the file: while it is open the session is alive.
    attempt(() => this.#lock?.release())
  }

  toError(error: unknown): HeddleError {
    return storeError(this.#data.file, 'be read', error)
  }

  answer(question: WriterQuestion, now: number): WriterAnswers[WriterQuestion['type']] {
    const store = this.#store!
    switch (question.type) {
      case 'find':
        return store.find(question.run)
      case 'mail':
        return store.mail(question.wanted)
      case 'sweep': {
        const isAlone = !store.hasOthers && !store.holdsRuns
        return removeOrphans(
          this.#database!,
          this.#data.file,
          isAlone ? undefined : now - orphanAge,
        )
      }
      case 'retry':
        return this.#retry(now)
      case 'give up':
        this.#fail(decodeError(question.error) as HeddleError)
        return undefined
    }
  }

  seesChanges({ type }: WriterQuestion): boolean {
    return type !== 'retry'
  }

  /** Answers a batch with the number of its commit: batches of one commit became durable together. */
  commit(changes: readonly WriterChange[], now: number): (WriterAnswer | Stalled)[] {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#trouble !== undefined) return this.#keep(changes, this.#trouble)
    try {
      return this.#write(changes, now)
    } catch (error) {
      return this.#keep(changes, this.#judge(error))
    }
  }

  #keep(changes: readonly WriterChange[], trouble: HeddleError): Stalled[] {
    this.#trouble = trouble
    this.#kept.push(...changes)
    const stalled: Stalled = { stalled: encodeError(trouble) }
    return changes.map(() => stalled)
  }

  #retry(now: number): WriterAnswers['retry'] {
    if (this.#failure !== undefined) throw this.#failure
    try {
      const answers = this.#write(this.#kept, now)
      this.#kept = []
      this.#trouble = undefined
      return { answers }
    } catch (error) {
      this.#trouble = this.#judge(error)
      return { stalled: encodeError(this.#trouble) }
    }
  }

  #write(changes: readonly WriterChange[], now: number): WriterAnswer[] {
    const answers = this.#store!.write(changes, now)
    this.#checkFiles(changes, now)
    const commit = ++this.#commits
    return answers.map((answer) => {
      if (answer === undefined) return commit
      return typeof answer === 'object' && 'lost' in answer ? { ...answer, commit } : answer
    })
  }

  /** Nothing is written any more. Its runs are interrupted: another process may take them. */
  #fail(failure: HeddleError): void {
    this.#failure ??= failure
    this.#kept = []
    attempt(() => this.#lock?.release())
    this.#lock = undefined
  }

  /**
   * Throws an error that is permanent; returns one that may pass. For a file that was cut short SQLite reports an error
   * of the disk, or damage: what the file had is lost, and trying again does not help.
   */
  #judge(error: unknown): HeddleError {
    let problem: string | undefined
    // What cannot be looked at now may be there again later.
    attempt(() => (problem = this.#guard.findProblem()))
    const failure =
      problem === undefined ? storeError(this.#data.file, 'be written', error) : this.#gone(problem)
    if (failure.code === 'HDL_STORE_FAILED' && !isDamage(error)) return failure
    this.#fail(failure)
    throw failure
  }

  weightOf(change: WriterChange): number {
    return 'batch' in change ? change.rows.length / cellsPerRow : 1
  }

  afterCommit(): void {
    if (this.#failure !== undefined || this.#trouble !== undefined) return
    if (this.#mayCheckpoint()) attempt(() => this.#store?.keepUp())
  }

  get hasIdleWork(): boolean {
    const isWriting = this.#failure === undefined && this.#trouble === undefined
    return isWriting && this.#store?.hasIdleWork === true
  }

  workIdly(): boolean {
    return this.#mayCheckpoint() && attempt(() => this.#store?.workIdly())
  }

  /**
   * Whether the log may be moved into the database. In a database that another program has emptied it would
   * fill the hole, and the length would say nothing any more.
   */
  #mayCheckpoint(): boolean {
    if (this.#store?.isLogLong !== true) return true
    try {
      this.#checkGuard()
      return true
    } catch (error) {
      this.#fail(storeError(this.#data.file, 'be written', error))
      return false
    }
  }

  /** After the commit and before it is acknowledged: a commit to a deleted file is lost. */
  #checkFiles(changes: readonly WriterChange[], now: number): void {
    const isImportant = changes.some((each) => !('batch' in each) || each.changes.length > 0)
    const hasNewFiles =
      !this.#guardsValues && changes.some((each) => 'batch' in each && each.hasFiles)
    // The time of day can be set back.
    if (!isImportant && !hasNewFiles && Math.abs(now - this.#lookedAt) < lookTime) return
    this.#lookedAt = now
    const { file } = this.#data
    const values = 'the folder of its large values'
    this.#guardsValues ||= this.#guard.add(valuesFolder(file), values, { is: 'folder' })
    const isMissing = hasNewFiles && !this.#guardsValues
    this.#checkGuard(isMissing ? goneWhileWritten(values) : undefined)
  }

  #checkGuard(problem: string | undefined = this.#guard.findProblem()): void {
    if (problem === undefined) return
    throw this.#gone(problem)
  }

  #gone(problem: string): HeddleError {
    return new HeddleError('HDL_JOURNAL_GONE', { path: this.#data.file, problem })
  }
}

/** A file whose record of vacuums cannot be read any more has lost that page too. */
function canBeSoShort(store: JournalStore, size: number): boolean {
  try {
    return store.canBeSoShort(size)
  } catch (error) {
    if (isBusy(error)) throw error
    return false
  }
}

/** Work that can be repeated later, when the journal is next opened: its failure affects nothing else. */
function attempt(work: () => unknown): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}
