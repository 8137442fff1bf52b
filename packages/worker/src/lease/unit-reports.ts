/**
 * What a lease of units has done, on its way to the server. The work does not wait for the answer: a report says everything that was
 * done so far, so what is done while one is under way is in the next one.
 *
 *     idle ──add──▶ sending ──answered──▶ idle
 *                      │ └── more was added meanwhile ──▶ sending
 *                      └── the lease has ended, or the report was refused ──▶ over
 *
 *  U1  One report is under way at a time, each with a higher number and with everything that was added before it.
 *  U2  Nothing is sent after the end.
 */
import type { UpdateAnswer } from './offered-work.ts'

/** What the whole lease has done so far. */
export interface UnitsDone {
  readonly done: number
  readonly result: unknown
}

export interface UnitReportsOptions {
  readonly send: (sequence: number, units: UnitsDone) => Promise<UpdateAnswer>
  /** The lease has ended with this answer. */
  readonly onClosed: (answer: UpdateAnswer) => void
  /** A report could not be sent. */
  readonly onFailed: (error: unknown) => void
}

export class UnitReports {
  readonly #options: UnitReportsOptions
  #sequence = 0
  #next: UnitsDone | undefined
  #sending: Promise<void> | undefined
  #closed: UpdateAnswer | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(options: UnitReportsOptions) {
    this.#options = options
  }

  get isOver(): boolean {
    return this.#closed !== undefined || this.#failure !== undefined
  }

  /** U1: sent at once, or with what comes next when a report is under way. */
  add(units: UnitsDone): void {
    this.#next = units
    this.#sending ??= this.#sendAll()
  }

  /**
   * Resolves when everything that was added is acknowledged, with the answer that has ended the lease if there was one.
   *
   * *Cancellation*: that of `send`.
   * @throws what `send` has thrown.
   */
  async settled(): Promise<UpdateAnswer | undefined> {
    await this.#sending
    if (this.#failure !== undefined) throw this.#failure.error
    return this.#closed
  }

  /** Never rejects. */
  async #sendAll(): Promise<void> {
    while (this.#next !== undefined && !this.isOver) {
      const units = this.#next
      this.#next = undefined
      try {
        const answer = await this.#options.send(++this.#sequence, units)
        if (answer.closed === undefined) continue
        this.#closed = answer
        this.#options.onClosed(answer)
      } catch (error) {
        this.#failure = { error }
        this.#options.onFailed(error)
      }
    }
    this.#sending = undefined
  }
}
