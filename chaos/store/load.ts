/** Submits one number after the other to any server, and remembers the acknowledged ones. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Members } from './members.ts'

export interface LoadOptions {
  readonly members: Members
  /** Requests under way at a time. */
  readonly streams: number
  /** Milliseconds between two requests of a stream. */
  readonly pause: number
}

export class Load {
  readonly acknowledged = new Map<number, string>()
  /** Acknowledged with a result that was stored before: a server that died had computed it, and nothing is promised. */
  answered = 0
  refused = 0
  readonly #options: LoadOptions
  #next = 1
  #isOver = false
  #running: Promise<unknown> = Promise.resolve()

  constructor(options: LoadOptions) {
    this.#options = options
  }

  start(): void {
    const { streams } = this.#options
    this.#running = Promise.all(Array.from({ length: streams }, () => this.#stream()))
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
  }

  async #stream(): Promise<void> {
    const { members, pause } = this.#options
    while (!this.#isOver) {
      const n = this.#next++
      const { url } = members.at(n)
      try {
        const answer = await fetch(`${url}/jobs/work`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: String(n),
          signal: AbortSignal.timeout(20_000),
        })
        const { handle, state } = (await answer.json()) as { handle?: string; state?: string }
        if (answer.status === 202 && handle !== undefined) {
          this.acknowledged.set(n, handle)
          if (state === 'done') this.answered++
        } else this.refused++
      } catch {
        this.refused++
      }
      await sleep(pause)
    }
  }
}
