import type { EventEmitter } from 'node:events'

export type Ask = (id: string) => Promise<boolean>

/** A job that runs elsewhere: whether it has completed is stored, and its completion is an event. */
export class Job {
  readonly #id: string
  readonly #events: EventEmitter
  readonly #isCompleted: Ask

  constructor(id: string, events: EventEmitter, isCompleted: Ask) {
    this.#id = id
    this.#events = events
    this.#isCompleted = isCompleted
  }

  async waitUntilFinished(): Promise<void> {
    if (await this.#isCompleted(this.#id)) return
    await new Promise<void>((resolve) => {
      this.#events.once(`completed:${this.#id}`, () => resolve())
    })
  }
}
