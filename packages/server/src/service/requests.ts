/** Requests by the id that their clients know them by, so that they can be cancelled. */
import { HeddleError } from '@heddle/core'
import { Remembered } from './remembered.ts'

export type CancelledState = 'cancelled' | 'already_cancelled' | 'already_done'

/** Ids that have ended; those of longer ago are unknown. */
const remembered = 10_000

export class Requests {
  readonly #open = new Map<string, () => void>()
  readonly #ended = new Remembered<'cancelled' | 'done'>(remembered)

  get size(): number {
    return this.#open.size
  }

  /**
   * @param cancel Ends the request.
   * @throws `HDL_REQUEST_EXISTS` while one of this id is open.
   */
  open(id: string, cancel: () => void): void {
    if (this.#open.has(id)) throw new HeddleError('HDL_REQUEST_EXISTS', { request: id })
    this.#open.set(id, cancel)
  }

  /** It has ended by itself. Harmless after it was cancelled. */
  close(id: string): void {
    if (this.#open.delete(id)) this.#ended.set(id, 'done')
  }

  /** @throws `HDL_UNKNOWN_REQUEST`. */
  cancel(id: string): CancelledState {
    const cancel = this.#open.get(id)
    if (cancel !== undefined) {
      this.#open.delete(id)
      this.#ended.set(id, 'cancelled')
      cancel()
      return 'cancelled'
    }
    const ended = this.#ended.get(id)
    if (ended === undefined) throw new HeddleError('HDL_UNKNOWN_REQUEST', { request: id })
    return ended === 'cancelled' ? 'already_cancelled' : 'already_done'
  }
}
