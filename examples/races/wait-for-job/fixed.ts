import type { EventEmitter } from 'node:events'
import type { JobState } from './race.ts'

/** A job that runs elsewhere: its state is stored, its end is an event. */
export class Job {
  readonly #id: string
  readonly #events: EventEmitter
  readonly #readState: (id: string) => Promise<JobState>

  constructor(id: string, events: EventEmitter, readState: (id: string) => Promise<JobState>) {
    this.#id = id
    this.#events = events
    this.#readState = readState
  }

  async waitUntilFinished(): Promise<void> {
    const finished = Promise.withResolvers<void>()
    const event = `completed:${this.#id}`
    const listener = (): void => finished.resolve()
    this.#events.once(event, listener)
    try {
      const state = await this.#readState(this.#id)
      if (state !== 'completed') await finished.promise
    } finally {
      this.#events.off(event, listener)
    }
  }
}
