/**
 * One answer of `text/event-stream`, with back-pressure.
 *
 *   open ── end(), the client leaves ─▶ closed
 *
 *  E1  Nothing is written until the client has taken the earlier frames: the next frame is made then, with all events
 *      up to that moment.
 *  E2  Closing it, by whichever side, ends every wait of it.
 *  E3  A client that takes nothing of a frame for `sendLimit` milliseconds is cut off: it would keep a place for ever.
 */
import type { FastifyReply } from 'fastify'
import type { Clock } from '@heddle/core/lowlevel'

export interface Frame {
  readonly event: string
  /** Where a client continues that has seen this frame. */
  readonly id?: number | undefined
  readonly data: object
}

export class EventStream {
  readonly #reply: FastifyReply
  readonly #clock: Clock
  readonly #sendLimit: number
  readonly #closed = new AbortController()

  constructor(reply: FastifyReply, clock: Clock, sendLimit: number) {
    this.#reply = reply
    this.#clock = clock
    this.#sendLimit = sendLimit
    reply.hijack()
    const { raw } = reply
    // Headers that hooks have set are not sent by themselves once the reply was taken over.
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) raw.setHeader(name, value)
    }
    raw.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // Proxies would collect frames otherwise.
      'x-accel-buffering': 'no',
    })
    raw.once('close', () => this.#closed.abort())
    raw.flushHeaders()
  }

  get signal(): AbortSignal {
    return this.#closed.signal
  }

  get isClosed(): boolean {
    return this.#closed.signal.aborted
  }

  /**
   * Resolves when the client has taken it, has left, or was cut off (E3).
   *
   * *Cancellation*: by the end of the stream.
   */
  async send(frame: Frame): Promise<void> {
    if (this.isClosed) return
    const { raw } = this.#reply
    if (raw.write(textOf(frame))) return
    const late = this.#clock.setTimer(this.#sendLimit, () => raw.destroy())
    await this.#until((resolve) => raw.once('drain', resolve))
    late.cancel()
  }

  /**
   * Resolves after this many milliseconds, or when the stream is closed.
   *
   * *Cancellation*: by the end of the stream.
   */
  async pause(ms: number): Promise<void> {
    await this.#until((resolve) => {
      const timer = this.#clock.setTimer(ms, resolve)
      this.signal.addEventListener('abort', () => timer.cancel(), { once: true })
    })
  }

  /** The last frame is sent before the end, unless the stream is closed. */
  end(last?: Frame): void {
    if (last === undefined || this.isClosed) this.#reply.raw.end()
    else this.#reply.raw.end(textOf(last))
    this.#closed.abort()
  }

  async #until(start: (resolve: () => void) => void): Promise<void> {
    if (this.isClosed) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const leave = (): void => resolve()
    this.signal.addEventListener('abort', leave, { once: true })
    start(resolve)
    await promise
    this.signal.removeEventListener('abort', leave)
  }
}

function textOf({ event, id, data }: Frame): string {
  const head = id === undefined ? '' : `id: ${id}\n`
  return `event: ${event}\n${head}data: ${JSON.stringify(data)}\n\n`
}
