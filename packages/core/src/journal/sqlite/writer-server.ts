/**
 * The thread that writes, without the thread: takes messages, commits rows together, answers.
 *
 * Everything that has arrived when a commit starts goes into it. While it is under way the next group
 * gathers, so the group grows with the load and nobody waits for a timer (natural group commit).
 *
 * The log is moved into the database when nothing waits, or when it has grown to four times the size
 * for that: after an acknowledgement, never before it.
 */
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
import { openForWriting } from './open-database.ts'
import { removeOrphans } from './orphans.ts'
import { JournalStore } from './store.ts'
import { storeError } from './sqlite-error.ts'

/** Rows that become durable together at most: those behind them are not kept waiting for long. */
const groupRows = 16_384

export interface WriterPort {
  post(message: FromWriter): void
  /** The next message that has arrived already. */
  next(): ToWriter | undefined
  /** Calls back when messages that arrive meanwhile have been taken. */
  whenIdle(callback: () => void): void
}

export class WriterServer {
  readonly #data: WriterData
  readonly #port: WriterPort
  #store: JournalStore | undefined
  #failed = false
  #idlePlanned = false

  constructor(data: WriterData, port: WriterPort) {
    this.#data = data
    this.#port = port
  }

  accept(first: ToWriter): void {
    for (let message: ToWriter | undefined = first; message !== undefined;) {
      if ('batch' in message) message = this.#writeGroup(message)
      else {
        this.#answer(message)
        message = this.#port.next()
      }
    }
    this.#planIdle()
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
    return rows < groupRows ? next : this.#port.next()
  }

  #write(group: readonly BatchWire[]): void {
    const store = this.#store!
    try {
      store.write(group)
    } catch (error) {
      this.#failed = true
      const failure = storeError(this.#data.file, 'be written', error)
      this.#port.post({ failure: encodeError(failure) })
      return
    }
    this.#port.post({ durable: group.at(-1)!.batch })
    if (store.mustCheckpoint) this.#attempt(() => store.checkpoint())
  }

  #planIdle(): void {
    if (this.#idlePlanned || this.#failed || this.#store?.hasIdleWork !== true) return
    this.#idlePlanned = true
    this.#port.whenIdle(() => {
      this.#idlePlanned = false
      const store = this.#store
      if (store === undefined || this.#failed) return
      if (this.#attempt(() => store.workIdly())) this.#planIdle()
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
      this.#store = new JournalStore(database, { pid, at: openedAt })
      return this.#store.opened()
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
