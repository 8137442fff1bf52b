import type http from 'node:http'
import type { Kernel } from '@heddle/core/lowlevel'
import type { FaultRule } from './fault-rules.ts'
import { subjectOf, subjectOfPath, type Subject } from './upload-of.ts'

/** One request, as it went. */
export interface LoggedRequest {
  /** On the kernel's clock. */
  readonly at: number
  readonly method: string
  readonly path: string
  readonly package?: string
  readonly version?: string
  readonly isUpload: boolean
  /** The answer that the client got. */
  readonly answer: number | 'cut' | 'hang' | 'gone'
  /** What the registry said; absent when it did not get the request. */
  readonly registryAnswer?: number
  readonly headers: http.IncomingHttpHeaders
}

export interface Answer {
  readonly status: number
  readonly headers: http.OutgoingHttpHeaders
  readonly body: Buffer
}

/** One request and the faults applied to it. */
export class Call {
  readonly method: string
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  subject: Subject
  body: Buffer = Buffer.alloc(0)
  sent: LoggedRequest['answer'] | undefined
  registryAnswer: number | undefined
  readonly #request: http.IncomingMessage
  readonly #response: http.ServerResponse
  readonly #kernel: Kernel
  readonly #at: number

  constructor(request: http.IncomingMessage, response: http.ServerResponse, kernel: Kernel) {
    this.#request = request
    this.#response = response
    this.#kernel = kernel
    this.#at = kernel.clock.now()
    this.method = request.method ?? 'GET'
    this.path = request.url ?? '/'
    this.headers = request.headers
    this.subject = subjectOfPath(this.method, this.path)
  }

  entry(): LoggedRequest {
    const { method, path, headers, sent = 'gone', registryAnswer, subject } = this
    return {
      at: this.#at,
      method,
      path,
      ...subject,
      answer: sent,
      ...(registryAnswer === undefined ? {} : { registryAnswer }),
      headers,
    }
  }

  async readBody(): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of this.#request as AsyncIterable<Buffer>) pieces.push(piece)
    this.body = Buffer.concat(pieces)
    this.subject = subjectOf(this.method, this.path, this.body)
  }

  pause(milliseconds: number): Promise<void> {
    return new Promise((done) => void this.#kernel.clock.setTimer(milliseconds, done))
  }

  async answer({ status, headers, body }: Answer, trickle?: FaultRule['trickle']): Promise<void> {
    this.sent = status
    const { 'transfer-encoding': _, ...kept } = headers
    this.#response.writeHead(status, { ...kept, 'content-length': body.length })
    if (trickle !== undefined) {
      for (let at = 0; at < body.length; at += trickle.bytes) {
        this.#response.write(body.subarray(at, at + trickle.bytes))
        await this.pause(trickle.pause)
      }
      this.#response.end()
    } else this.#response.end(body)
  }

  /** Waits for the first piece of the body, if there is one, and hangs up. */
  async cutInRequest(): Promise<void> {
    this.sent = 'cut'
    if (this.method !== 'GET' && this.method !== 'HEAD') {
      await new Promise<void>((arrived) => this.#request.once('data', () => arrived()))
    }
    this.#request.socket.destroy()
  }

  cutBeforeAnswer(): void {
    this.sent = 'cut'
    this.#request.socket.destroy()
  }

  async cutInAnswer({ status, headers, body }: Answer): Promise<void> {
    this.sent = 'cut'
    const { 'transfer-encoding': _, ...kept } = headers
    this.#response.writeHead(status, { ...kept, 'content-length': body.length + 1 })
    const half = body.subarray(0, Math.floor(body.length / 2))
    await new Promise<void>((sent) => this.#response.write(half, () => sent()))
    this.#request.socket.destroy()
  }

  /** Nothing more happens until the client gives up. */
  async hang(): Promise<void> {
    this.sent = 'hang'
    await new Promise<void>((gone) => this.#request.socket.once('close', () => gone()))
  }
}

export function jsonAnswer(status: number, body: unknown): Answer {
  const headers = { 'content-type': 'application/json' }
  return { status, headers, body: Buffer.from(JSON.stringify(body)) }
}

export function fakeAnswer({ status = 500, headers, body }: FaultRule): Answer {
  if (typeof body === 'string') return { status, headers: { ...headers }, body: Buffer.from(body) }
  const made = jsonAnswer(status, body ?? { error: `injected ${status}` })
  return { ...made, headers: { ...made.headers, ...headers } }
}

export function rateAnswer(wait: number): Answer {
  const headers = { 'retry-after': String(Math.ceil(wait / 1000)) }
  return { ...jsonAnswer(429, { error: 'too many requests' }), headers }
}
