import { createReadStream, createWriteStream } from 'node:fs'
import {
  Agent as HttpAgent,
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'

/** Two connections: one for what takes its time, claims and uploads, and one for everything else. Beats never wait. */
const agentOptions = { keepAlive: true, maxSockets: 1, maxFreeSockets: 1 } as const

/** The largest answer that is read. */
const mostBytes = 64 * 2 ** 20

export interface Answer {
  readonly status: number
  readonly body: string
}

interface Sending {
  readonly method: string
  readonly path: string
  readonly headers: OutgoingHttpHeaders
  readonly agent: HttpAgent | HttpsAgent
  readonly within: number
  /** Ends the request, and with it the connection. */
  readonly cancel?: AbortSignal | undefined
  /** Where the body of an answer goes that is a success. */
  readonly file?: string | undefined
}

export interface Upload {
  readonly path: string
  readonly file: string
  readonly start: number
  /** Length of the whole file. */
  readonly length: number
  readonly within: number
  readonly cancel?: AbortSignal | undefined
}

/** Sends JSON to one server, over at most two connections; to the next one of the list when that cannot be reached. */
export class Sender {
  readonly #servers: readonly URL[]
  #at = 0
  readonly #token: string | undefined
  readonly #slow: HttpAgent | HttpsAgent
  readonly #quick: HttpAgent | HttpsAgent
  readonly #onClosed: () => void
  readonly #followed = new WeakSet<Socket>()

  /** `onClosed`: the server has closed a connection that was not in use. */
  constructor(server: string, token: string | undefined, onClosed: () => void) {
    this.#onClosed = onClosed
    this.#servers = server.split(',').map((each) => new URL(each.trim()))
    this.#token = token
    const isSecure = this.#servers[0]!.protocol === 'https:'
    const makeAgent = (): HttpAgent | HttpsAgent =>
      isSecure ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions)
    this.#slow = makeAgent()
    this.#quick = makeAgent()
  }

  /**
   * *Cancellation*: ends after `within` milliseconds, whatever the server does; `cancel` ends it earlier.
   * @throws the error of the connection.
   */
  post(path: string, body: string, within: number, cancel?: AbortSignal): Promise<Answer> {
    const agent = path === '/fleet/claim' ? this.#slow : this.#quick
    return this.#post({ path, body, agent, within, cancel })
  }

  /** Like post(), over the connection of claims. */
  postSlow(path: string, body: string, within: number, cancel: AbortSignal): Promise<Answer> {
    return this.#post({ path, body, agent: this.#slow, within, cancel })
  }

  #post({ body, ...sending }: Omit<Sending, 'method' | 'headers'> & { body: string }) {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    }
    return this.#send({ ...sending, method: 'POST', headers }, (request) => {
      request.end(body)
    })
  }

  /** Like post(). */
  get(path: string, within: number, cancel?: AbortSignal): Promise<Answer> {
    return this.#send(
      { method: 'GET', path, headers: {}, agent: this.#quick, within, cancel },
      (request) => {
        request.end()
      },
    )
  }

  /** Like get(): the body of the answer goes into a file, at the pace of the disk. */
  download(path: string, file: string, within: number, cancel?: AbortSignal): Promise<Answer> {
    return this.#send(
      { method: 'GET', path, headers: {}, agent: this.#slow, within, cancel, file },
      (request) => {
        request.end()
      },
    )
  }

  /** Like post(): sends the bytes of a file, from `start` on. */
  put({ path, file, start, length, within, cancel }: Upload): Promise<Answer> {
    const headers = {
      'content-type': 'application/octet-stream',
      'content-length': length - start,
    }
    return this.#send(
      { method: 'PUT', path, headers, agent: this.#slow, within, cancel },
      (request) => {
        if (length === start) return void request.end()
        const content = createReadStream(file, { start, end: length - 1 })
        content.once('error', (error) => request.destroy(error))
        request.once('close', () => content.destroy())
        content.pipe(request)
      },
    )
  }

  #send(
    { method, path, headers, agent, within, cancel, file }: Sending,
    write: (request: ClientRequest) => void,
  ): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const at = this.#at
    const target = new URL(path.replace(/^\//, ''), withSlash(this.#servers[at]!))
    const send = target.protocol === 'https:' ? httpsRequest : httpRequest
    const request = send(target, {
      method,
      agent,
      signal: endOf(within, cancel),
      headers: {
        ...headers,
        ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
      },
    })
    request.once('socket', (socket) => this.#follow(socket))
    request.once('error', (error) => {
      // The other one may be there. Calls that fail together change it once.
      if (this.#at === at && cancel?.aborted !== true) this.#at = (at + 1) % this.#servers.length
      reject(error)
    })
    request.once('response', (response) => {
      const isToFile = file !== undefined && response.statusCode === 200
      const read = isToFile ? saveTo(file, response) : textOf(response, request)
      read.then((body) => resolve({ status: response.statusCode ?? 0, body }), reject)
    })
    write(request)
    return promise
  }

  /** The end of a stream comes from the other side only: an agent that closes a connection itself destroys it. */
  #follow(socket: Socket): void {
    if (this.#followed.has(socket)) return
    this.#followed.add(socket)
    socket.once('end', this.#onClosed)
    socket.once('error', this.#onClosed)
  }

  close(): void {
    this.#slow.destroy()
    this.#quick.destroy()
  }
}

async function textOf(response: IncomingMessage, request: ClientRequest): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > mostBytes) {
      const error = new Error(`the answer has more than ${mostBytes} bytes`)
      request.destroy(error)
      throw error
    }
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** The answer that the caller reads has no body then. */
async function saveTo(file: string, response: IncomingMessage): Promise<string> {
  await pipeline(response, createWriteStream(file))
  return '{}'
}

function endOf(within: number, cancel: AbortSignal | undefined): AbortSignal {
  const timeout = AbortSignal.timeout(within)
  return cancel === undefined ? timeout : AbortSignal.any([timeout, cancel])
}

/** A server may be behind a path: `https://host/heddle`. */
function withSlash(url: URL): URL {
  return url.pathname.endsWith('/') ? url : new URL(`${url.pathname}/`, url)
}
