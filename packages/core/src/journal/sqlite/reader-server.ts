/** The thread that reads, without the thread: long answers take turns, and none holds up a commit. */
import type { DatabaseSync } from 'node:sqlite'
import { describe, HeddleError } from '../../errors.ts'
import { encodeError } from '../../threads/error-wire.ts'
import type { Answer, Ask, ReaderAnswers, ReaderData, ReaderQuestion } from './messages.ts'
import { openForReading } from './open-database.ts'
import { JournalReader } from './reader.ts'
import { salvage } from './salvage.ts'
import { isDamage, storeError } from './sqlite-error.ts'

export interface ReaderPort {
  post(message: Answer): void
  pause(): Promise<void>
}

export class ReaderServer {
  readonly #data: ReaderData
  readonly #port: ReaderPort
  #database: DatabaseSync | undefined
  #reader: JournalReader | undefined

  constructor(data: ReaderData, port: ReaderPort) {
    this.#data = data
    this.#port = port
  }

  async accept({ id, ...question }: Ask<ReaderQuestion>): Promise<void> {
    try {
      this.#port.post({ id, value: await this.#answer(question) })
    } catch (error) {
      this.#port.post({ id, error: encodeError(this.#translate(error)) })
    }
  }

  #answer(
    question: ReaderQuestion,
  ): ReaderAnswers[ReaderQuestion['type']] | Promise<ReaderAnswers[ReaderQuestion['type']]> {
    const reader = this.#reader!
    switch (question.type) {
      case 'open':
        this.#database = openForReading(this.#data.file, this.#data.session !== undefined)
        this.#reader = new JournalReader(this.#database, this.#data, () => this.#port.pause())
        return undefined
      case 'runs':
        return reader.runs(question.state, question.limit)
      case 'counts':
        return reader.counts(question.run)
      case 'snapshot':
        return reader.snapshot(question.run, question.upTo)
      case 'nodes':
        return reader.nodes(question.snapshot)
      case 'history':
        return reader.history(question.run, question.from)
      case 'value':
        return reader.value(question.run, question.node)
      case 'results':
        return reader.results(question.run, question.from)
      case 'close':
        this.#database?.close()
        return undefined
    }
  }

  #translate(error: unknown): HeddleError {
    // Text that is not what we wrote is as bad as a page that is not what SQLite wrote.
    if (!isDamage(error) && !(error instanceof SyntaxError)) {
      return storeError(this.#data.file, 'be read', error)
    }
    return new HeddleError('HDL_JOURNAL_DAMAGED', {
      path: this.#data.file,
      problem: describe(error),
      ...salvage(this.#data.file, this.#data.session !== undefined),
    })
  }
}
