/**
 * A request and its answer without a connection of their own: a call that came over a link, as the routes of this server see it.
 *
 *   new ──▶ the routes answer ──▶ answered            new ──abort()──▶ gone: `close` without `finish`, as when a client leaves
 */
import { EventEmitter } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { soon } from '@heddle/core/lowlevel'
import type { CarriedAnswer, CarriedCall } from './frames.ts'

/** The connection that routes see for all calls of a link. Calls on it do not affect the link. */
export class LinkPeer extends EventEmitter {
  readonly remoteAddress: string | undefined
  readonly readable = false
  readonly readableEnded = false
  readonly bytesRead = 0
  destroyed = false

  constructor(remoteAddress: string | undefined) {
    super()
    this.remoteAddress = remoteAddress
    // One for each call under way.
    this.setMaxListeners(0)
  }

  setTimeout(): this {
    return this
  }

  destroy(): this {
    return this
  }

  /** The link has closed. */
  leave(): void {
    this.destroyed = true
    this.emit('close')
  }
}

export class Exchange {
  readonly request: IncomingMessage
  readonly response: CarriedResponse

  constructor(call: CarriedCall, peer: LinkPeer, onAnswer: (answer: CarriedAnswer) => void) {
    const { id, method, url, headers, body } = call
    const request = new IncomingMessage(peer as unknown as Socket)
    request.method = method
    request.url = url
    request.httpVersion = '1.1'
    request.httpVersionMajor = 1
    request.httpVersionMinor = 1
    request.headers = { ...headers }
    if (body.length > 0) {
      request.headers['content-length'] = String(body.length)
      request.push(body)
    }
    request.push(null)
    request.complete = true
    this.request = request
    this.response = new CarriedResponse(request, (answer) => onAnswer({ id, ...answer }))
  }

  /** The caller has left. */
  abort(): void {
    this.response.abandon()
  }
}

/** Keeps the response instead of writing it to a connection. */
class CarriedResponse extends ServerResponse {
  readonly #pieces: Buffer[] = []
  readonly #onEnd: (answer: Omit<CarriedAnswer, 'id'>) => void
  readonly #headers: Record<string, string> = {}
  #isOver = false
  #isGone = false

  constructor(request: IncomingMessage, onEnd: (answer: Omit<CarriedAnswer, 'id'>) => void) {
    super(request)
    this.#onEnd = onEnd
  }

  /** Headers that are given here only are not among those that `getHeaders()` knows. */
  override writeHead(status: number, ...more: unknown[]): this {
    const given = more.at(-1)
    keepText(this.#headers, this.getHeaders())
    if (typeof given === 'object' && given !== null && !Array.isArray(given)) {
      keepText(this.#headers, given)
    }
    return super.writeHead(status, ...(more as []))
  }

  override write(chunk: unknown, ...more: unknown[]): boolean {
    this.#keep(chunk, more)
    callLast(more)
    return true
  }

  override end(...given: unknown[]): this {
    if (this.#isOver || this.#isGone) return this
    const [chunk, ...more] = given
    if (typeof chunk !== 'function') this.#keep(chunk, more)
    if (!this.headersSent) this.writeHead(this.statusCode)
    this.#isOver = true
    // What `writableEnded` and `writableFinished` say.
    this.finished = true
    this.emit('prefinish')
    this.emit('finish')
    callLast(given)
    const body = Buffer.concat(this.#pieces)
    this.#onEnd({ status: this.statusCode, headers: this.#headers, body })
    soon(() => this.emit('close'))
    return this
  }

  /** Behaves like a connection that ends before the answer was sent. */
  abandon(): void {
    if (this.#isOver) return
    this.#isGone = true
    this.emit('close')
  }

  #keep(chunk: unknown, [encoding]: readonly unknown[]): void {
    if (chunk === undefined || chunk === null) return
    const bytes =
      typeof chunk === 'string'
        ? Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
        : Buffer.from(chunk as Uint8Array)
    this.#pieces.push(bytes)
  }
}

function callLast(given: readonly unknown[]): void {
  const last = given.at(-1)
  if (typeof last === 'function') soon(() => (last as () => void)())
}

function keepText(kept: Record<string, string>, headers: object): void {
  for (const [name, value] of Object.entries(headers) as [string, unknown][]) {
    if (typeof value === 'string' || typeof value === 'number')
      kept[name.toLowerCase()] = String(value)
  }
}
