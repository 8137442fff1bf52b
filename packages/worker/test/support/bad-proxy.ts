/** A proxy that misbehaves: for the first requests of some paths it answers as the test says, then it passes everything on. */
import { EventEmitter } from 'node:events'
import http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export type Trouble =
  | 'reset'
  | 'html'
  | 'silence'
  | 500
  | 503
  /** Busy for the next ten minutes. */
  | 'later'
  /** An internal error, which the server itself does not call passing. */
  | 'defect'
  /** An answer in JSON that is none of the protocol. */
  | 'object'
  /** Any status with a page. */
  | { readonly page: number }
  /** A claim that is answered so. */
  | { readonly offer?: object | null; readonly empty?: object | null }
  /** Passed on when it has resolved. */
  | Promise<unknown>

/** Emits `seen` with each answer, `kept` with each request that is passed on later. */
export class BadProxy extends EventEmitter<{ seen: []; kept: [] }> implements AsyncDisposable {
  readonly #server: http.Server
  readonly #target: string
  readonly #troubles = new Map<string, Trouble[]>()
  readonly #sockets = new Set<Socket>()
  /** The answers of each path. */
  readonly seen: string[] = []
  /** The last answer of the server to each path. */
  readonly answers = new Map<string, string>()
  /** Connections that were open at one time. */
  most = 0

  constructor(target: string) {
    super()
    this.#target = target
    this.#server = http.createServer((request, response) => this.#answer(request, response))
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      this.most = Math.max(this.most, this.#sockets.size)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  async start(): Promise<this> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#server.listen(0, '127.0.0.1', resolve)
    await promise
    return this
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The next requests of this path get these answers, one after the other. */
  trouble(path: string, ...troubles: Trouble[]): void {
    this.#troubles.set(path, troubles)
  }

  /** Answers to this path so far. */
  count(path: string): number {
    return this.seen.filter((each) => each.startsWith(`${path} `)).length
  }

  #answer(request: http.IncomingMessage, response: http.ServerResponse): void {
    const path = request.url!
    const trouble = this.#troubles.get(path)?.shift()
    if (trouble === undefined) return this.#pass(request, response)
    if (trouble instanceof Promise) {
      this.emit('kept')
      return void trouble.then(() => this.#pass(request, response))
    }
    request.resume()
    if (typeof trouble === 'object') {
      const page = 'page' in trouble ? trouble.page : 200
      this.#note(`${path} ${page}`)
      const body = 'page' in trouble ? '<h1>Back soon</h1>' : JSON.stringify(trouble)
      return void response.writeHead(page, { 'content-type': 'text/html' }).end(body)
    }
    this.#note(`${path} ${trouble}`)
    switch (trouble) {
      // Simulates a connection whose other end is gone: the request was taken, and nothing follows.
      case 'silence':
        return
      case 'reset':
        return void request.socket.resetAndDestroy()
      case 'html':
        return void response
          .writeHead(502, { 'content-type': 'text/html' })
          .end('<h1>Bad Gateway</h1>')
      case 'object':
        return void response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      case 'later': {
        const error = { code: 'busy', message: 'later', retryable: true, retry_after_ms: 600_000 }
        return void response
          .writeHead(503, { 'content-type': 'application/json' })
          .end(JSON.stringify({ error }))
      }
      case 'defect': {
        const error = { code: 'internal_error', message: 'a defect', retryable: false }
        return void response
          .writeHead(500, { 'content-type': 'application/json' })
          .end(JSON.stringify({ error }))
      }
      case 500:
      case 503: {
        const error = { code: 'internal_error', message: 'oops', retryable: true }
        return void response
          .writeHead(trouble, { 'content-type': 'application/json' })
          .end(JSON.stringify({ error }))
      }
    }
  }

  #note(line: string): void {
    this.seen.push(line)
    this.emit('seen')
  }

  #pass(request: http.IncomingMessage, response: http.ServerResponse): void {
    const { method, headers, url } = request
    const onward = http.request(this.#target + url!, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part
        response.write(part)
      })
      answer.once('end', () => {
        this.answers.set(url!, text)
        response.end()
        this.#note(`${url!} passed on`)
      })
    })
    onward.on('error', () => response.destroy())
    // A client that leaves takes its request with it.
    response.once('close', () => onward.destroy())
    request.pipe(onward)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#server.close(() => resolve())
    this.#server.closeAllConnections()
    await promise
  }
}
