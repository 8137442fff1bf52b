/** The known past of a job's steps: rows of the journal, or the memory of this process. */
import { currentPath } from '../attempts/part-path.ts'
import type { PartEntry } from '../journal/journal.ts'

/** A step as it was recorded last. */
export interface PastStep {
  readonly state: 'succeeded' | 'failed' | 'suspended' | 'running'
  readonly job?: string | undefined
  readonly input?: string | undefined
  readonly version?: string | undefined
  readonly until?: number | undefined
  readonly isLeft?: boolean | undefined
  readonly value?: unknown
  readonly error?: PartEntry['error']
  /** For a step that was running when the process ended: how often that happened in a row (R6). */
  readonly interruptions?: number
}

/** Finds steps by their paths. */
export interface StepPast {
  /** The step as it stands; undefined when nothing is known of it. A promise while it is being read. */
  find(path: string): PastStep | undefined | Promise<PastStep | undefined>
}

/** Steps recorded by this process: for runs without a journal, and for elements of maps. */
export class RememberedSteps implements StepPast {
  readonly #steps = new Map<string, PastStep>()

  constructor(rows: readonly PartEntry[] = []) {
    for (const row of rows) addRow(this.#steps, row)
  }

  find(path: string): PastStep | undefined {
    return this.#steps.get(path)
  }

  add(path: string, step: PastStep): void {
    this.#steps.set(path, step)
  }

  /** The attempt has ended: failures do not stand any more. */
  dropFailures(): void {
    for (const [path, { state }] of this.#steps) if (state === 'failed') this.#steps.delete(path)
  }
}

/**
 * Rows of the journal, read in their order while the job goes through its steps: each step is looked for from where the
 * last one was found, and rows that are passed are kept until they are asked for. A job that makes a million steps one
 * after the other keeps none of them. The rows begin where those that stand do (R7 of resume.ts): an earlier row could
 * have been used as an answer already.
 */
export class JournaledSteps implements StepPast {
  readonly #rows: AsyncIterator<PartEntry>
  readonly #passed = new Map<string, PastStep>()
  /** One read after the other: several steps may read at the same time. */
  #reading: Promise<unknown> = Promise.resolve()
  #isAtEnd = false

  constructor(rows: AsyncIterable<PartEntry>) {
    this.#rows = rows[Symbol.asyncIterator]()
  }

  find(path: string): PastStep | undefined | Promise<PastStep | undefined> {
    if (this.#isAtEnd) return this.#take(path)
    const found = this.#reading.then(() => this.#readTo(path))
    this.#reading = found.catch(() => undefined)
    return found
  }

  async #readTo(path: string): Promise<PastStep | undefined> {
    // A later row may say more of a step that has not succeeded.
    while (!this.#isAtEnd && this.#passed.get(path)?.state !== 'succeeded') {
      const { done, value } = await this.#rows.next()
      if (done === true) this.#isAtEnd = true
      else this.#add(value)
    }
    return this.#take(path)
  }

  #take(path: string): PastStep | undefined {
    const found = this.#passed.get(path)
    this.#passed.delete(path)
    return found
  }

  #add(row: PartEntry): void {
    if (row.part.path === '') return this.#fall(row)
    addRow(this.#passed, row)
  }

  #fall({ state: how }: PartEntry): void {
    if (how === 'skipped') this.#passed.clear()
    for (const [path, { state }] of this.#passed) {
      if (state === 'failed' || state === 'running') this.#passed.delete(path)
    }
  }
}

/** Two starts without an end between them are those of two processes. */
function addRow(steps: Map<string, PastStep>, { state, part, value, error }: PartEntry): void {
  const { job, input, version, until, isLeft } = part
  const path = currentPath(part.path)
  const before = steps.get(path)
  if (state === 'succeeded' || state === 'failed' || state === 'suspended') {
    steps.set(path, { state, job, input, version, until, isLeft, value, error })
  } else if (state === 'running') {
    steps.set(path, { state, interruptions: (before?.interruptions ?? 0) + 1 })
  } else if (before?.state === 'running') steps.delete(path)
}
