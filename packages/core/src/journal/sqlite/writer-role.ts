/**
 * The write side of a journal's file, in the thread that hosts it: one change is one batch of rows.
 *
 * The log is moved into the database, and the nodes of runs that have ended are counted, when nothing has come
 * for a while; the log also when it has grown to four times the size for that: after an acknowledgement, never
 * before it.
 *
 * That the files are still the ones that were opened is checked before a change of a run is acknowledged (its
 * end above all), and otherwise ten times a second.
 */
import { HeddleError } from '../../errors.ts'
import { FileGuard, goneWhileWritten } from '../../sqlite/file-guard.ts'
import type { HostedFile, Role } from '../../sqlite/host-server.ts'
import { valuesFolder } from './file-names.ts'
import {
  cellsPerRow,
  type BatchWire,
  type FoundRun,
  type Opened,
  type WriterData,
  type WriterQuestion,
} from './messages.ts'
import { openForWriting } from './open-database.ts'
import { removeOrphans } from './orphans.ts'
import { storeError } from './sqlite-error.ts'
import { JournalStore } from './store.ts'

/** Milliseconds between two looks at the files. */
const lookTime = 100

export class JournalWriterRole implements HostedFile, Role<WriterQuestion, BatchWire> {
  readonly roles = [this]
  readonly #data: WriterData
  readonly #guard = new FileGuard()
  #store: JournalStore | undefined
  /** D2: the first failure is the last write. */
  #failure: HeddleError | undefined
  #guardsValues = false
  #lookedAt = 0
  #commits = 0

  constructor(data: WriterData) {
    this.#data = data
  }

  open(): Opened {
    const { file, durability, pid, openedAt } = this.#data
    const database = openForWriting(file, durability)
    try {
      removeOrphans(database, file)
      const store = new JournalStore(database, { pid, at: openedAt })
      // Otherwise nothing waits for the length of the log.
      if (durability === 'fsync') attempt(() => store.reserveLog())
      this.#store = store
      this.#guard.add(file, 'the file')
      // Where SQLite has its log: the name that was given may be that of a link.
      this.#guard.add(`${database.location()}-wal`, 'its write-ahead log')
      return store.opened()
    } catch (error) {
      database.close()
      throw storeError(file, 'be opened', error)
    }
  }

  close(at: unknown): void {
    const store = this.#store
    this.#store = undefined
    // The rows are durable: what fails here is made up for at the next opening.
    attempt(() => store?.close(at as number, this.#failure === undefined))
  }

  toError(error: unknown): HeddleError {
    return storeError(this.#data.file, 'be read', error)
  }

  answer(question: WriterQuestion): FoundRun | undefined {
    return this.#store!.find(question.run)
  }

  seesChanges(): boolean {
    return true
  }

  /** Answers with the number of the commit: batches of one commit became durable together. */
  commit(batches: readonly BatchWire[], now: number): number[] {
    if (this.#failure !== undefined) throw this.#failure
    try {
      this.#store!.write(batches)
      this.#checkFiles(batches, now)
    } catch (error) {
      this.#failure = storeError(this.#data.file, 'be written', error)
      throw this.#failure
    }
    const commit = ++this.#commits
    return batches.map(() => commit)
  }

  weightOf(batch: BatchWire): number {
    return batch.rows.length / cellsPerRow
  }

  afterCommit(): void {
    if (this.#failure === undefined) attempt(() => this.#store?.keepUp())
  }

  get hasIdleWork(): boolean {
    return this.#failure === undefined && this.#store?.hasIdleWork === true
  }

  workIdly(): boolean {
    return attempt(() => this.#store?.workIdly())
  }

  /** After the commit and before it is acknowledged: what was committed to a deleted file is lost. */
  #checkFiles(batches: readonly BatchWire[], now: number): void {
    const isImportant = batches.some(({ changes }) => changes.length > 0)
    const hasNewFiles = !this.#guardsValues && batches.some(({ hasFiles }) => hasFiles)
    // The time of day can be set back.
    if (!isImportant && !hasNewFiles && Math.abs(now - this.#lookedAt) < lookTime) return
    this.#lookedAt = now
    const { file } = this.#data
    const values = 'the folder of its large values'
    this.#guardsValues ||= this.#guard.add(valuesFolder(file), values)
    const isMissing = hasNewFiles && !this.#guardsValues
    const problem = isMissing ? goneWhileWritten(values) : this.#guard.findProblem()
    if (problem === undefined) return
    throw new HeddleError('HDL_JOURNAL_GONE', { path: file, problem })
  }
}

/** What can be done again later, by whoever opens the journal: its failure fails nothing else. */
function attempt(work: () => void): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}
