/**
 * The thread that writes, without the thread: takes messages, commits rows together, answers.
 *
 * Everything that has arrived when a commit starts goes into it. While it is under way the next group
 * gathers, so the group grows with the load and nobody waits for a timer (natural group commit).
 *
 * The log is moved into the database when nothing has come for a while, or when it has grown to four
 * times the size for that: after an acknowledgement, never before it. The counting of runs that have
 * ended waits for the same quiet: the next one may begin right then, and is not to wait for it. After a
 * second without quiet both are done between messages.
 *
 * That the files are still the ones that were opened is checked before a change of a run is acknowledged (its
 * end above all), and otherwise ten times a second.
 */
import { HeddleError } from '../../errors.ts'
import { FileGuard, goneWhileWritten } from '../../sqlite/file-guard.ts'
import { encodeError } from '../../threads/error-wire.ts'
import {
  cellsPerRow,
  type Answer,
  type Ask,
  type BatchWire,
  type FromWriter,
  type ToWriter,
  type WriterAnswers,
  type WriterData,
  type WriterQuestion,
} from './messages.ts'
import { valuesFolder } from './file-names.ts'
import { openForWriting } from './open-database.ts'
import { removeOrphans } from './orphans.ts'
import { JournalStore } from './store.ts'
import { storeError } from './sqlite-error.ts'

/** Rows that become durable together at most: those behind them are not kept waiting for long. */
const groupRows = 16_384

/** Milliseconds without a message after which there is time for what nobody waits for. */
const quietTime = 25

/** How often that is waited for: then it is done between messages, until nothing of it is left. */
const mostPuttingsOff = 40

/** Milliseconds between two looks at the files. */
const lookTime = 100

export interface WriterPort {
  /** Milliseconds, never set back. */
  now(): number
  post(message: FromWriter): void
  /** The next message that has arrived already. */
  next(): ToWriter | undefined
  /** The next message that has arrived, or arrives in a moment. */
  nextSoon(): ToWriter | undefined
  /** Calls back after so many milliseconds, when messages that arrived meanwhile have been taken. */
  whenIdle(quiet: number, callback: () => void): void
}

export class WriterServer {
  readonly #data: WriterData
  readonly #port: WriterPort
  #store: JournalStore | undefined
  #failed = false
  readonly #guard = new FileGuard()
  #guardsValues = false
  #lookedAt = -Infinity
  #idlePlanned = false
  /** Whether nothing has come since idle work was planned. */
  #isQuiet = false
  /** How often idle work was put off since there was none. */
  #puttingsOff = 0

  constructor(data: WriterData, port: WriterPort) {
    this.#data = data
    this.#port = port
  }

  accept(first: ToWriter): void {
    this.#isQuiet = false
    for (let message: ToWriter | undefined = first; message !== undefined;) {
      let next: ToWriter | undefined
      if ('batch' in message) next = this.#writeGroup(message)
      else this.#answer(message)
      message = next ?? this.#port.nextSoon()
    }
    this.#planIdle(quietTime)
  }

  /** Returns the message that ended the group, if there was one. */
  #writeGroup(first: BatchWire): ToWriter | undefined {
    const group = [first]
    let rows = first.rows.length / cellsPerRow
    let next: ToWriter | undefined
    while (rows < groupRows && (next = this.#port.next()) !== undefined && 'batch' in next) {
      group.push(next)
      rows += next.rows.length / cellsPerRow
    }
    if (!this.#failed) this.#write(group)
    return rows < groupRows ? next : undefined
  }

  #write(group: readonly BatchWire[]): void {
    const store = this.#store!
    try {
      store.write(group)
      this.#checkFiles(group)
    } catch (error) {
      this.#failed = true
      const failure = storeError(this.#data.file, 'be written', error)
      this.#port.post({ failure: encodeError(failure) })
      return
    }
    this.#port.post({ durable: group.at(-1)!.batch })
    this.#attempt(() => store.keepUp())
  }

  /** After the commit and before it is acknowledged: what was committed to a deleted file is lost. */
  #checkFiles(group: readonly BatchWire[]): void {
    const now = this.#port.now()
    const isImportant = group.some(({ changes }) => changes.length > 0)
    const hasNewFiles = !this.#guardsValues && group.some(({ hasFiles }) => hasFiles)
    if (!isImportant && !hasNewFiles && now - this.#lookedAt < lookTime) return
    this.#lookedAt = now
    const { file } = this.#data
    const values = 'the folder of its large values'
    this.#guardsValues ||= this.#guard.add(valuesFolder(file), values)
    const isMissing = hasNewFiles && !this.#guardsValues
    const problem = isMissing ? goneWhileWritten(values) : this.#guard.findProblem()
    if (problem === undefined) return
    throw new HeddleError('HDL_JOURNAL_GONE', { path: file, problem })
  }

  #planIdle(quiet: number): void {
    if (this.#idlePlanned || this.#failed) return
    if (this.#store?.hasIdleWork !== true) {
      this.#puttingsOff = 0
      return
    }
    this.#idlePlanned = true
    this.#isQuiet = true
    this.#port.whenIdle(quiet, () => {
      this.#idlePlanned = false
      const store = this.#store
      if (store === undefined || this.#failed) return
      if (!this.#isQuiet && this.#puttingsOff < mostPuttingsOff) {
        this.#puttingsOff++
        this.#planIdle(quietTime)
      } else if (this.#attempt(() => store.workIdly())) this.#planIdle(0)
    })
  }

  /** What can be done again later, by whoever opens the journal: its failure fails nothing else. */
  #attempt(work: () => void): boolean {
    try {
      work()
      return true
    } catch {
      return false
    }
  }

  #answer({ id, ...question }: Ask<WriterQuestion>): void {
    let answer: Answer
    try {
      answer = { id, value: this.#ask(question) }
    } catch (error) {
      answer = { id, error: encodeError(storeError(this.#data.file, 'be read', error)) }
    }
    this.#port.post(answer)
  }

  #ask(question: WriterQuestion): WriterAnswers[WriterQuestion['type']] {
    switch (question.type) {
      case 'open':
        return this.#open()
      case 'find':
        return this.#store!.find(question.run)
      case 'close':
        this.#close(question.at)
        return undefined
    }
  }

  #open(): WriterAnswers['open'] {
    const { file, durability, pid, openedAt } = this.#data
    const database = openForWriting(file, durability)
    try {
      removeOrphans(database, file)
      const store = new JournalStore(database, { pid, at: openedAt })
      // Otherwise nobody waits for the length of the log.
      if (durability === 'fsync') this.#attempt(() => store.reserveLog())
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

  #close(at: number): void {
    const store = this.#store
    this.#store = undefined
    // The rows are durable: what fails here is made up for at the next opening.
    this.#attempt(() => store?.close(at, !this.#failed))
  }
}
