import { Readable } from 'node:stream'
import { HeddleError } from '@heddle/core'
import type { Clock, Timer } from '@heddle/core/lowlevel'
import { actionOf, type HttpAnswer, type HttpRequest } from './request.ts'
import type { Connections } from './transport.ts'

interface Limits {
  readonly signal: AbortSignal | undefined
  /** Milliseconds for the whole exchange. */
  readonly limit: number
  /** Milliseconds without progress. */
  readonly stall: number
}

const defaultMaxBytes = 16 * 1024 * 1024

/**
 * One request and its answer, ended by whichever comes first: the caller's signal, the time for the
 * whole, or a time without progress. Progress is a piece of the request taken or a piece of the
 * answer received: a large upload may take long, a silent one may not.
 */
export class Exchange implements Disposable {
  readonly #clock: Clock
  readonly #limits: Limits
  readonly #abort = new AbortController()
  #progressAt: number
  readonly #endsAt: number
  #timer: Timer | undefined
  /** Why it was ended from here, when it was. */
  problem: string | undefined

  constructor(clock: Clock, limits: Limits) {
    this.#clock = clock
    this.#limits = limits
    this.#progressAt = clock.now()
    this.#endsAt = this.#progressAt + limits.limit
    this.#arm()
    limits.signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  async run(pool: Connections, request: HttpRequest): Promise<HttpAnswer> {
    const { origin, pathname, search } = new URL(request.url)
    const { statusCode, headers, body } = await pool.request({
      // A proxy must know where it goes.
      origin,
      path: pathname + search,
      method: request.method,
      headers: request.headers ?? {},
      body: this.#watch(request.body),
      signal: this.#abort.signal,
    })
    this.#progress()
    const { maxBytes = defaultMaxBytes } = request
    const pieces: Buffer[] = []
    let bytes = 0
    for await (const piece of body as AsyncIterable<Buffer>) {
      this.#progress()
      bytes += piece.length
      if (bytes > maxBytes) {
        const key = `the answer to ${actionOf(request)}`
        throw new HeddleError('HDL_VALUE_TOO_LARGE', { key, bytes, limit: maxBytes })
      }
      if (request.sink !== undefined && statusCode === 200) request.sink(piece)
      else pieces.push(piece)
    }
    return { status: statusCode, headers: flat(headers), body: Buffer.concat(pieces) }
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel()
    this.#limits.signal?.removeEventListener('abort', this.#onAbort)
  }

  readonly #onAbort = (): void => this.#abort.abort(this.#limits.signal?.reason)

  #watch(body: HttpRequest['body']): string | Uint8Array | Readable | null {
    if (typeof body !== 'function') return body ?? null
    return Readable.from(this.#pieces(body), { objectMode: false })
  }

  async *#pieces(body: () => AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of body()) {
      this.#progress()
      yield piece
    }
  }

  #progress(): void {
    this.#progressAt = this.#clock.now()
  }

  /** The timer is not moved with each piece: it looks when it fires how much time is left. */
  #arm(): void {
    const due = Math.min(this.#progressAt + this.#limits.stall, this.#endsAt)
    this.#timer = this.#clock.setTimer(due - this.#clock.now(), () => this.#look())
  }

  #look(): void {
    const now = this.#clock.now()
    if (now >= this.#endsAt) this.problem = `it was not done after ${this.#limits.limit} ms`
    else if (now >= this.#progressAt + this.#limits.stall) {
      this.problem = `nothing came for ${this.#limits.stall} ms`
    } else return this.#arm()
    this.#abort.abort(new Error(this.problem))
  }
}

function flat(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  )
}
