import type { EventEmitter } from 'node:events'

export type JobState = 'active' | 'completed'

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
    const state = await this.#readState(this.#id)
    if (state === 'completed') return
    await new Promise<void>((resolve) => {
      this.#events.once(`completed:${this.#id}`, () => resolve())
    })
  }
}
