/**
 * A registry that misbehaves on purpose: a proxy in front of a real one.
 *
 * ```
 *   request ─▶ rate limit ─▶ rule? ─▶ the registry ─▶ answer, replaced, cut or slowed down ─▶ client
 *                 │ 429        │ answered or cut here: the registry sees nothing of it
 *                 ▼            ▼
 *                client       client
 * ```
 *
 * FP1  Each request is in the log once, with the client's answer and whether the registry got it.
 * FP2  `uploads` counts uploads that the registry itself accepted, whatever answer the client got.
 * FP3  A hidden version is in no answer: not by itself, in lists, in tags or as an archive.
 *
 * Time comes from the kernel, so that a test with a virtual clock can wait an hour at once. Bodies are
 * kept in memory: it is for tests.
 */
import http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { describe, systemKernel, type Kernel } from '@heddle/core/lowlevel'
import {
  Call,
  fakeAnswer,
  jsonAnswer,
  rateAnswer,
  type Answer,
  type LoggedRequest,
} from './call.ts'
import { FaultRules, type FaultRule, type RateLimit } from './fault-rules.ts'
import type { Subject } from './upload-of.ts'
import { Hidden, type VisibleAfter } from './visibility.ts'

export interface FaultProxyOptions {
  /** The address of the real registry. */
  readonly target: string
  readonly rules?: readonly FaultRule[]
  /** Hides each version for a time after the registry has accepted it. */
  readonly visibleAfter?: VisibleAfter
  readonly rateLimit?: RateLimit
  readonly kernel?: Kernel
}

export interface UploadCount {
  /** How often a client sent it. */
  readonly sent: number
  /** How often the registry took it. */
  readonly accepted: number
}

/**
 * Starts a proxy on a free port of 127.0.0.1.
 *
 * *Cancellation*: none; closing it ends all that is under way.
 * @example
 * await using registry = await startVerdaccio()
 * await using proxy = await startFaultProxy({
 *   target: registry.url,
 *   rules: [{ method: 'PUT', package: 'b', status: 504, afterCommit: true, times: 1 }],
 * })
 * // publish to proxy.url, then:
 * proxy.uploads.get('b@1.0.0') // { sent: 1, accepted: 1 }
 */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const proxy = new FaultProxy(options)
  await proxy.listen()
  return proxy
}

export class FaultProxy {
  readonly rules: FaultRules
  /** Every request, in order of its end. */
  readonly log: LoggedRequest[] = []
  /** Keyed by `name@version`. */
  readonly uploads = new Map<string, UploadCount>()
  readonly #target: URL
  readonly #kernel: Kernel
  readonly #hidden: Hidden
  readonly #rateLimit: RateLimit | undefined
  readonly #window: number[] = []
  readonly #sockets = new Set<Socket>()
  readonly #agent = new http.Agent({ keepAlive: true })
  readonly #server: http.Server
  #mostSockets = 0
  #active = 0

  constructor(options: FaultProxyOptions) {
    this.rules = new FaultRules(options.rules ?? [])
    this.#target = new URL(options.target)
    this.#kernel = options.kernel ?? systemKernel
    this.#hidden = new Hidden(options.visibleAfter ?? 0, () => this.#kernel.clock.now())
    this.#rateLimit = options.rateLimit
    this.#server = http.createServer((request, response) => {
      this.#serve(request, response).catch((error: Error) => response.destroy(error))
    })
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      this.#mostSockets = Math.max(this.#mostSockets, this.#sockets.size)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  /** Without a slash at its end. */
  get url(): string {
    const { port } = this.#server.address() as AddressInfo
    return `http://127.0.0.1:${port}`
  }

  /** The most connections that were open at a time. */
  get mostSockets(): number {
    return this.#mostSockets
  }

  /** Requests that have not been answered yet: a test with a virtual clock waits for these first. */
  get active(): number {
    return this.#active
  }

  /** Shows all versions that are hidden. */
  showAll(): void {
    this.#hidden.clear()
  }

  /**
   * Listens on a free port.
   *
   * *Cancellation*: none.
   */
  async listen(): Promise<void> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done))
  }

  /**
   * Ends all connections.
   *
   * *Cancellation*: none.
   */
  async close(): Promise<void> {
    const closed = new Promise<void>((done) => this.#server.close(() => done()))
    for (const socket of this.#sockets) socket.destroy()
    this.#agent.destroy()
    await closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    this.#active++
    const call = new Call(request, response, this.#kernel)
    try {
      await this.#handle(call)
    } catch (error) {
      // The client or the registry went away: no answer can be sent.
      call.sent ??= 'gone'
      response.destroy(error instanceof Error ? error : new Error(describe(error)))
    } finally {
      this.#active--
      this.log.push(call.entry())
    }
  }

  async #handle(call: Call): Promise<void> {
    // heddle-ignore H101 -- each request has a call of its own, which only its own handler changes
    const early = this.rules.take('head', call, call.subject)
    if (early?.cut === 'in-request') return call.cutInRequest()
    if (early !== undefined) return call.answer(fakeAnswer(early))

    await call.readBody()
    this.#count(call.subject, 'sent')
    const wait = this.#overLimit(call.method)
    if (wait !== undefined) return call.answer(rateAnswer(wait))

    const rule = this.rules.take('whole', call, call.subject)
    if (rule?.delay !== undefined) await call.pause(rule.delay)
    const reachesRegistry =
      rule === undefined ||
      rule.afterCommit === true ||
      rule.cut !== undefined ||
      (rule.status === undefined && rule.hang !== true)
    const real = reachesRegistry ? await this.#forward(call) : undefined
    if (rule?.hang === true) return call.hang()
    if (rule?.cut === 'before-answer') return call.cutBeforeAnswer()
    const answer = rule?.status === undefined ? real! : fakeAnswer(rule)
    if (rule?.cut === 'in-answer') return call.cutInAnswer(answer)
    await call.answer(answer, rule?.trickle)
  }

  /** The registry's answer, without hidden versions. */
  async #forward(call: Call): Promise<Answer> {
    const { subject, method } = call
    const answer = await this.#ask(call)
    call.registryAnswer = answer.status
    const isDone = answer.status >= 200 && answer.status < 300
    if (!isDone) return answer
    if (subject.isUpload) {
      this.#count(subject, 'accepted')
      if (subject.package !== undefined && subject.version !== undefined) {
        this.#hidden.accepted(subject.package, subject.version)
      }
      return answer
    }
    if (method !== 'GET') return answer
    const body = this.#hidden.without(subject, answer.body)
    if (body === undefined) return jsonAnswer(404, { error: 'not found' })
    return body === answer.body ? answer : { ...answer, body }
  }

  #ask(call: Call): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const { method, path, headers, body } = call
      const base = this.#target.pathname.replace(/\/$/, '')
      const forwarded = http.request({
        agent: this.#agent,
        host: this.#target.hostname,
        port: this.#target.port,
        method,
        path: base + path,
        // The client's host is kept: the registry makes addresses of archives from it.
        headers: { ...headers, 'accept-encoding': 'identity', connection: 'keep-alive' },
      })
      forwarded.once('error', reject)
      forwarded.once('response', (response) => {
        const pieces: Buffer[] = []
        response.on('data', (piece: Buffer) => pieces.push(piece))
        response.once('error', reject)
        response.once('end', () => {
          const { statusCode: status = 502 } = response
          resolve({ status, headers: response.headers, body: Buffer.concat(pieces) })
        })
      })
      forwarded.end(body)
    })
  }

  #count({ package: name, version, isUpload }: Subject, what: keyof UploadCount): void {
    if (!isUpload || name === undefined || version === undefined) return
    const key = `${name}@${version}`
    const count = this.uploads.get(key) ?? { sent: 0, accepted: 0 }
    this.uploads.set(key, { ...count, [what]: count[what] + 1 })
  }

  /** Milliseconds until the window has room again, when it has none. */
  #overLimit(method: string): number | undefined {
    const limit = this.#rateLimit
    if (limit === undefined || limit.methods?.includes(method) === false) return undefined
    const now = this.#kernel.clock.now()
    while (this.#window.length > 0 && this.#window[0]! <= now - limit.per) this.#window.shift()
    this.#window.push(now)
    return this.#window.length > limit.requests ? this.#window[0]! + limit.per - now : undefined
  }
}
