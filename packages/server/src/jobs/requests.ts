/**
 * Requests by the id that their clients know them by, so that they can be cancelled. Ids belong to a tenant: the same id of
 * another tenant is another request.
 */
import { HeddleError } from '@heddle/core'
import { Remembered } from './remembered.ts'

export type CancelledState = 'cancelled' | 'already_cancelled' | 'already_done'

/** An object, so that two of one id can be distinguished. */
interface OpenRequest {
  readonly cancel: () => unknown
}

/** Ids that have ended; those of longer ago are unknown. */
const remembered = 10_000

/** An acknowledged request needs no seat when its computation is there already: this is what bounds them. */
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
  check(tenant: string, id: string): void {
    if (this.#open.has(keyOf(tenant, id)))
      throw new HeddleError('HDL_REQUEST_EXISTS', { request: id })
    if (this.#open.size < this.#most) return
    throw new HeddleError('HDL_TOO_MANY_WAITERS', { what: 'The server', limit: this.#most })
  }

  /**
   * Dispose it when the request has ended by itself. Harmless twice, after it was cancelled, and after the
   * id was used again.
   *
   * @param cancel Ends the request. A promise resolves when that is durable.
   * @throws `HDL_REQUEST_EXISTS`, `HDL_TOO_MANY_WAITERS`.
   */
  open(tenant: string, id: string, cancel: () => unknown): Disposable {
    this.check(tenant, id)
    const key = keyOf(tenant, id)
    const request: OpenRequest = { cancel }
    this.#open.set(key, request)
    return {
      [Symbol.dispose]: () => {
        if (this.#open.get(key) !== request) return
        this.#open.delete(key)
        this.#ended.set(key, 'done')
      },
    }
  }

  /** @throws `HDL_UNKNOWN_REQUEST`. */
  cancel(tenant: string, id: string): CancelledState {
    return this.#cancel(tenant, id).state
  }

  /** Like {@link cancel}, and resolves when it is durable. *Cancellation*: none. @throws `HDL_UNKNOWN_REQUEST`; what a write throws. */
  async cancelForGood(tenant: string, id: string): Promise<CancelledState> {
    const { state, written } = this.#cancel(tenant, id)
    await written
    return state
  }

  #cancel(
    tenant: string,
    id: string,
  ): { readonly state: CancelledState; readonly written?: unknown } {
    const key = keyOf(tenant, id)
    const request = this.#open.get(key)
    if (request !== undefined) {
      this.#open.delete(key)
      this.#ended.set(key, 'cancelled')
      return { state: 'cancelled', written: request.cancel() }
    }
    const ended = this.#ended.get(key)
    if (ended === undefined) throw new HeddleError('HDL_UNKNOWN_REQUEST', { request: id })
    return { state: ended === 'cancelled' ? 'already_cancelled' : 'already_done' }
  }
}

/** Neither a tenant nor an id has a zero character. */
function keyOf(tenant: string, id: string): string {
  return `${tenant}\0${id}`
}
