/**
 * Requests that came together are begun in turns of the loop.
 *
 *   head ── this turn has time ─▶ begun
 *     └── it has none, or others wait ─▶ waiting ── a turn with time ─▶ begun
 *                                           └── its client leaves ─▶ gone
 *
 * When the loop or the machine stood still, the system hands over the heads of all requests that came meanwhile, and Node passes
 * them on before anything else has a turn: a thousand held the loop for 190 ms.
 *
 * T1. In one turn requests are begun for at most `budget` milliseconds. The others wait for the next turns, first come, first served.
 * T2. One that waits counts as open, and its connection as busy: a drain waits for it, and it is not closed to make room.
 * T3. One whose client has left is not begun.
 * T4. Each is begun at most once, and one that throws does not keep those behind it from their turn.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Clock } from '@heddle/core/lowlevel'

export interface RequestTurnsOptions {
  readonly clock: Clock
  /** T2: called for a request that has to wait. */
  readonly onWait: (response: ServerResponse) => void
  /** Milliseconds. */
  readonly budget?: number
}

/** Milliseconds of a turn for the heads of requests. The work they start, such as reading a body, comes on top. */
const usualBudget = 8

interface Head {
  readonly request: IncomingMessage
  readonly response: ServerResponse & { readonly req: IncomingMessage }
}

export class RequestTurns {
  readonly #begin: RequestListener
  readonly #clock: Clock
  readonly #onWait: RequestTurnsOptions['onWait']
  readonly #budget: number
  readonly #waiting: Head[] = []
  /** When the first request of this turn was begun; undefined when none was. */
  #since: number | undefined

  constructor(begin: RequestListener, { clock, onWait, budget }: RequestTurnsOptions) {
    this.#begin = begin
    this.#clock = clock
    this.#onWait = onWait
    this.#budget = budget ?? usualBudget
  }

  readonly listener: RequestListener = (request, response) => {
    if (this.#waiting.length === 0 && this.#hasTime()) return this.#begin(request, response)
    this.#onWait(response)
    this.#waiting.push({ request, response })
  }

  #hasTime(): boolean {
    const now = this.#clock.now()
    if (this.#since !== undefined) return now - this.#since < this.#budget
    this.#since = now
    this.#clock.afterIo(this.#turn)
    return true
  }

  readonly #turn = (): void => {
    this.#since = undefined
    let begun = 0
    try {
      while (begun < this.#waiting.length && this.#hasTime()) {
        const { request, response } = this.#waiting[begun++]!
        if (!response.closed && !request.socket.destroyed) this.#begin(request, response)
      }
    } finally {
      // T4: also those before one that throws.
      this.#waiting.splice(0, begun)
    }
  }
}
