import type { EventEmitter } from 'node:events'
import type { Ask } from './race.ts'

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
    const finished = Promise.withResolvers<void>()
    const event = `completed:${this.#id}`
    const listener = (): void => finished.resolve()
    this.#events.once(event, listener)
    try {
      const isCompleted = await this.#isCompleted(this.#id)
      if (!isCompleted) await finished.promise
    } finally {
      this.#events.off(event, listener)
    }
  }
}
