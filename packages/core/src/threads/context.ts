import type { JobContext } from '../graph/job.ts'
import { isCancelled, type Ticket } from './slots.ts'

/** What a job in a thread is given, and what the thread remembers of the job while it runs. */
export class ThreadContext implements JobContext {
  readonly name: string
  readonly attempt: number
  readonly ticket: Ticket
  readonly #words: Int32Array
  readonly #readMail: () => void
  #controller: AbortController | undefined
  #reason: unknown
  #aborted = false

  constructor(
    name: string,
    attempt: number,
    ticket: Ticket,
    words: Int32Array,
    readMail: () => void,
  ) {
    this.name = name
    this.attempt = attempt
    this.ticket = ticket
    this.#words = words
    this.#readMail = readMail
  }

  get cancelled(): boolean {
    return isCancelled(this.#words, this.ticket)
  }

  get signal(): AbortSignal {
    // The reason is in the mail before the word changes: a job that has not returned to its event
    // loop since then still gets a signal that tells the truth.
    if (!this.#aborted && this.cancelled) this.#readMail()
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    this.#aborted = true
    this.#reason = reason
    this.#controller?.abort(reason)
  }
}
