/** Requests by the id that their clients know them by, so that they can be cancelled. */
import { HeddleError } from '@heddle/core'
import { Remembered } from './remembered.ts'

export type CancelledState = 'cancelled' | 'already_cancelled' | 'already_done'

/** An object, so that two of one id can be told apart. */
interface OpenRequest {
  readonly cancel: () => void
}

/** Ids that have ended; those of longer ago are unknown. */
const remembered = 10_000

/** Who is acknowledged needs no seat when the work is there already: this is what bounds them. */
const mostOpen = 100_000

export class Requests {
  readonly #open = new Map<string, OpenRequest>()
  readonly #ended = new Remembered<'cancelled' | 'done'>(remembered)
  readonly #most: number

  constructor(most = mostOpen) {
    this.#most = most
  }

  get size(): number {
    return this.#open.size
  }

  /** @throws `HDL_REQUEST_EXISTS` while one of this id is open, `HDL_TOO_MANY_WAITERS`. */
  check(id: string): void {
    if (this.#open.has(id)) throw new HeddleError('HDL_REQUEST_EXISTS', { request: id })
    if (this.#open.size < this.#most) return
    throw new HeddleError('HDL_TOO_MANY_WAITERS', { what: 'The server', limit: this.#most })
  }

  /**
   * Dispose it when the request has ended by itself. Harmless twice, after it was cancelled, and after the
   * id was used again.
   *
   * @param cancel Ends the request.
   * @throws `HDL_REQUEST_EXISTS`, `HDL_TOO_MANY_WAITERS`.
   */
  open(id: string, cancel: () => void): Disposable {
    this.check(id)
    const request: OpenRequest = { cancel }
    this.#open.set(id, request)
    return {
      [Symbol.dispose]: () => {
        if (this.#open.get(id) !== request) return
        this.#open.delete(id)
        this.#ended.set(id, 'done')
      },
    }
  }

  /** @throws `HDL_UNKNOWN_REQUEST`. */
  cancel(id: string): CancelledState {
    const request = this.#open.get(id)
    if (request !== undefined) {
      this.#open.delete(id)
      this.#ended.set(id, 'cancelled')
      request.cancel()
      return 'cancelled'
    }
    const ended = this.#ended.get(id)
    if (ended === undefined) throw new HeddleError('HDL_UNKNOWN_REQUEST', { request: id })
    return ended === 'cancelled' ? 'already_cancelled' : 'already_done'
  }
}
