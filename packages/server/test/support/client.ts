/** Clients of a server: one that is polite, and a socket that can be anything else. */
import { once } from 'node:events'
import { request, type Agent, type ClientRequest, type IncomingHttpHeaders } from 'node:http'
import { connect, type Socket } from 'node:net'
import { json } from 'node:stream/consumers'

export interface Address {
  readonly host: string
  readonly port: number
}

export interface CallOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The text of the body, or a value that is sent as JSON. */
  readonly body?: unknown
  readonly text?: string
  /** Keeps connections. Absent: a connection for each call. */
  readonly agent?: Agent
}

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Record<string, unknown> & { readonly error?: ErrorReply }
}

export interface ErrorReply {
  readonly code: string
  readonly message: string
  readonly retryable: boolean
  readonly retry_after_ms?: number
  readonly stage?: string
}

/** A request under way. */
export interface Call {
  /** Destroy it to leave without a word. */
  readonly request: ClientRequest
  readonly reply: Promise<Reply>
}

export function begin({ host, port }: Address, path: string, options: CallOptions = {}): Call {
  const { method = options.body === undefined ? 'GET' : 'POST', headers, agent } = options
  const text = options.text ?? (options.body === undefined ? '' : JSON.stringify(options.body))
  const sent = request({
    host,
    port,
    path,
    method,
    agent: agent ?? false,
    headers: {
      ...(method === 'POST' && { 'content-type': 'application/json' }),
      ...(text !== '' && { 'content-length': String(Buffer.byteLength(text)) }),
      ...headers,
    },
  })
  const reply = readReply(sent)
  // A client that leaves does not read the answer.
  reply.catch(() => undefined)
  sent.end(text)
  return { request: sent, reply }
}

/** Calls and waits for the answer, which must be JSON. */
export function call(address: Address, path: string, options?: CallOptions): Promise<Reply> {
  return begin(address, path, options).reply
}

async function readReply(sent: ClientRequest): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>()
  sent.on('error', reject)
  sent.on('response', (response) => {
    const { statusCode: status = 0, headers } = response
    json(response).then((body) => resolve({ status, headers, body: body as Reply['body'] }), reject)
  })
  return promise
}

/** A connection that sends what the test gives it. */
export class Wire implements Disposable {
  readonly socket: Socket
  received = ''
  #wake = Promise.withResolvers<void>()
  #isClosed = false

  constructor({ host, port }: Address) {
    this.socket = connect({ host, port, allowHalfOpen: true })
    this.socket.setEncoding('utf8')
    this.socket.on('data', (text: string) => {
      this.received += text
      this.#stir()
    })
    this.socket.on('error', () => undefined)
    this.socket.on('close', () => {
      this.#isClosed = true
      this.#stir()
    })
    // The other side has said everything: this one has nothing to add either.
    this.socket.on('end', () => this.socket.end())
  }

  async connected(): Promise<void> {
    if (this.socket.connecting) await once(this.socket, 'connect')
  }

  /** Resolves when the system has taken it. */
  send(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.socket.write(text, (error) => (error ? reject(error) : resolve()))
    })
  }

  async has(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.received)
      if (found !== null) return found
      if (this.#isClosed) throw new Error(`Closed without ${String(pattern)}:\n${this.received}`)
      await this.#wake.promise
    }
  }

  async closed(): Promise<void> {
    while (!this.#isClosed) await this.#wake.promise
  }

  #stir(): void {
    this.#wake.resolve()
    this.#wake = Promise.withResolvers()
  }

  [Symbol.dispose](): void {
    this.socket.destroy()
  }
}

/** The head of a request with a body of this many bytes. */
export function head(path: string, length: number, headers = ''): string {
  return (
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
    `content-length: ${length}\r\n${headers}\r\n`
  )
}
