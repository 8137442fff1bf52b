/** The read side of a journal's file, in a thread of its own: long answers take turns, and none holds up a commit. */
import type { DatabaseSync } from 'node:sqlite'
import { describe, HeddleError } from '../../errors.ts'
import type { HostedFile, Role } from '../../sqlite/host-server.ts'
import type { ReaderAnswers, ReaderData, ReaderQuestion } from './journal-messages.ts'
import { openForReading } from './open-database.ts'
import { JournalReader } from './reader.ts'
import { salvage } from './salvage.ts'
import { isDamage, storeError } from './sqlite-error.ts'

type ReaderAnswer = ReaderAnswers[ReaderQuestion['type']]

export class JournalReaderRole implements HostedFile, Role<ReaderQuestion> {
  readonly roles = [this]
  readonly #data: ReaderData
  readonly #pause: () => Promise<void>
  #database: DatabaseSync | undefined
  #reader: JournalReader | undefined

  /** `pause` lets other questions be answered between the pages of one. */
  constructor(data: ReaderData, pause: () => Promise<void>) {
    this.#data = data
    this.#pause = pause
  }

  open(): void {
    this.#database = openForReading(this.#data.file, this.#data.session !== undefined)
    this.#reader = new JournalReader(this.#database, this.#data, this.#pause)
  }

  close(): void {
    this.#database?.close()
  }

  answer(question: ReaderQuestion): ReaderAnswer | Promise<ReaderAnswer> {
    const reader = this.#reader!
    switch (question.type) {
      case 'runs':
        return reader.runs(question)
      case 'list':
        return reader.list(question.options)
      case 'tally':
        return reader.tally()
      case 'overview':
        return reader.overview(question.run)
      case 'check':
        return reader.check(question.run)
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
      case 'parts':
        return reader.parts(question)
      case 'ages':
        return reader.ages(question.before)
      case 'sizes':
        return reader.sizes(question.runs)
      case 'summaries':
        return reader.summaries(question.runs)
      case 'outcomes':
        return reader.outcomes(question.before)
    }
  }

  seesChanges(): boolean {
    return false
  }

  /** A reader has no changes to commit. */
  commit(): never[] {
    return []
  }

  weightOf(): number {
    return 0
  }

  toError(error: unknown): HeddleError {
    // Text in a wrong format is as bad as a damaged page.
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
