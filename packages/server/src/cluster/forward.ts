/**
 * Sends a request on to the server that owns its subject, or to all servers (C6).
 *
 *  F1  One hop: a request that was forwarded is answered where it arrives, with `not_owner` if need be. The first
 *      server then looks for the owner again, until the deadline of the caller.
 *  F2  A forwarded request proves that it comes from a server of the cluster: time, method, path, caller and the digest
 *      of the body are signed with the cluster secret. During a rotation two secrets are valid: the first signs, both
 *      are accepted.
 *  F3  The headers of a request that does not prove it mean nothing: it counts as a request from outside.
 *  F4  The caller is the one that sent the request to the first server, with its tenant, roles and scopes. Its
 *      credentials there (a token, a
 *      cookie) are not passed on.
 *  F5  A forwarded request has the id of the first one: a write that is sent twice is one request.
 *  F6  Requests for one server are gathered and sent over one kept connection (server-link.ts). A server of an earlier version
 *      gets them one by one. What is too long for a frame has a connection of its own, and so has an answer that is a
 *      stream, which goes to the client at the pace of the slower side.
 *  F7  Every call ends. The first server looks for the owner until the deadline that the caller has sent
 *      (`X-Deadline-Ms`, at most the limit of the server). For a caller that has sent none it looks for `ownerWithin`,
 *      which is longer than a take-over takes. Then the answer is 503 with Retry-After. An answer under way has
 *      `wayBack` more, so that the owner can report the deadline. A stream must have begun by then. From there on each
 *      of its pieces has `pieceWithin`: a server that falls silent in the middle
 *      ends the answer, and the client sees that it was cut.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { HeddleError, isError } from '@heddle/core'
import { pauseFor, shardOf, waitFor, type Clock } from '@heddle/core/lowlevel'
import type { Caller } from '../http/caller.ts'
import { Link, linkTarget, type CallWait } from './server-link.ts'
import type { Members } from './members.ts'

/** `TIME.DIGEST.SIGNATURE`. */
export const forwardHeader = 'x-heddle-forwarded'
/** The caller of the first server: JSON in base64. */
export const callerHeader = 'x-heddle-caller'

/** Milliseconds by which the clocks of two servers may differ, including the transfer. */
const signatureAge = 60_000

/** Milliseconds between two tries to find the owner. */
const pause = 100

/**
 * Milliseconds in which an owner must be found for a caller without a deadline: a take-over takes the ttl of six seconds and at
 * most three more.
 */
const ownerWithin = 12_000

/** Milliseconds after the deadline in which an answer may arrive: the owner answers at the deadline. */
const wayBack = 1_000

/**
 * Milliseconds in which the next piece of a stream must come. Time in which the client reads the last piece does not
 * count.
 */
const pieceWithin = 30_000

const deadlineHeader = 'x-deadline-ms'

/** Milliseconds that one server has to answer what all of them are asked. */
const answerWithin = 3_000

/** A request as it is sent on. */
export interface ForwardRequest {
  readonly method: string
  /** The path with its query. */
  readonly url: string
  readonly body: string | undefined
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly caller: Caller
  readonly id: string
  /** Aborts when the client has left. */
  readonly signal: AbortSignal
  /** Milliseconds until the request must be answered. */
  readonly deadline: number
}

type Head = Pick<FastifyRequest, 'method' | 'url' | 'headers'>

export interface ForwardAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** A success whose body is passed on as it arrives. */
export interface StreamAnswer extends Omit<ForwardAnswer, 'body'> {
  readonly stream: Readable
}

export interface ForwarderOptions {
  readonly members: Members
  /** The one that signs comes first. */
  readonly secrets: readonly string[]
  readonly clock: Clock
  /** Whether requests are sent over links (F6). Default false: each over a connection of its own. */
  readonly useLinks?: boolean
}

/** The server that opens a link; the calls on it have their own callers. */
const server: Caller = {
  kind: 'anonymous',
  id: 'server',
  name: 'server',
  tenant: 'default',
  roles: [],
  scopes: [],
}

const passedOn = ['content-type', 'accept', 'range', 'if-none-match', 'traceparent', 'tracestate']
const answered = [
  'content-type',
  'content-range',
  'content-location',
  'content-security-policy',
  'x-content-type-options',
  'accept-ranges',
  'cache-control',
  'location',
  'retry-after',
  'etag',
  'x-request-id',
]

/** The verified facts of a forwarded request. */
export interface Proof {
  readonly caller: Caller
  /** Whether a body is the one that was signed. */
  isBody(body: string | undefined): boolean
}

export class Forwarder {
  readonly #options: ForwarderOptions
  /** Keyed by address. */
  readonly #links = new Map<string, Link>()
  #forwarded = 0

  constructor(options: ForwarderOptions) {
    this.#options = options
  }

  get forwarded(): number {
    return this.#forwarded
  }

  /** Requests that were sent over links, and the groups that they were sent in. */
  linkStats(): { readonly sent: number; readonly groups: number } {
    const total = { sent: 0, groups: 0 }
    for (const link of this.#links.values()) {
      const { sent, groups } = link.stats()
      total.sent += sent
      total.groups += groups
    }
    return total
  }

  /** Closes the links: calls under way end without an answer. Harmless twice. */
  close(): void {
    for (const link of this.#links.values()) link.close()
  }

  isLocal(name: string): boolean {
    return this.#options.members.isLocal(name)
  }

  /** F2, F3: undefined for a request from outside. Asked when the head was read. */
  proofOf({ method, url, headers }: Head): Proof | undefined {
    const [time, digest, signature] = String(headers[forwardHeader] ?? '').split('.')
    const caller = headers[callerHeader]
    if (time === undefined || digest === undefined || signature === undefined) return undefined
    if (typeof caller !== 'string') return undefined
    const { clock, secrets } = this.#options
    if (!(Math.abs(clock.wallTime() - Number(time)) < signatureAge)) return undefined
    const isSigned = secrets.some((secret) => {
      const expected = Buffer.from(sign(secret, [time, digest, method, url, caller]))
      const given = Buffer.from(signature)
      return expected.length === given.length && timingSafeEqual(expected, given)
    })
    if (!isSigned) return undefined
    return {
      caller: JSON.parse(Buffer.from(caller, 'base64url').toString()) as Caller,
      isBody: (body) => digestOf(body) === digest,
    }
  }

  /**
   * Undefined when this server is to answer by itself.
   *
   * *Cancellation*: the signal: the client has left. It ends at the deadline.
   * @throws `HDL_NOT_OWNER` when no owner was found in time.
   */
  forward(name: string, request: ForwardRequest): Promise<ForwardAnswer | undefined> {
    return this.#atOwner(name, request, (address, left) => this.#send(address, left))
  }

  /**
   * Like forward(), for an answer of any length.
   *
   * *Cancellation*: the signal, also while the stream is read.
   * @throws `HDL_NOT_OWNER` when no owner was found in time.
   */
  forwardStream(
    name: string,
    request: ForwardRequest,
  ): Promise<ForwardAnswer | StreamAnswer | undefined> {
    return this.#atOwner(name, request, (address, left) => this.#sendForStream(address, left))
  }

  async #atOwner<T>(
    name: string,
    request: ForwardRequest,
    send: (address: string, request: ForwardRequest) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const { members, clock } = this.#options
    if (members.isLocal(name)) return undefined
    const { signal } = request
    const isForwarded = this.proofOf(request) !== undefined
    const until = clock.now() + request.deadline
    // F7: counted from the first failure, because the owner of a call that waits may die late.
    let lookUntil = request.headers[deadlineHeader] === undefined ? undefined : until
    for (;;) {
      let failure: HeddleError
      try {
        const deadline = Math.max(1, until - clock.now())
        const looking = members.addressOf(name)
        const address = await waitFor(looking, 'The owner', clock, { deadline, signal })
        if (address === undefined) return undefined
        if (isForwarded) throw notOwner(name, address)
        const left = { ...request, deadline: Math.max(1, until - clock.now()) }
        const answer = await send(address, left)
        if (answer !== undefined) return answer
        failure = notOwner(name, address)
      } catch (error) {
        if (isForwarded || !isError(error, 'HDL_NOT_OWNER')) throw error
        failure = error
      }
      lookUntil ??= Math.min(until, clock.now() + ownerWithin)
      if (clock.now() + pause >= lookUntil) throw failure
      await pauseFor(pause, clock, signal)
      signal.throwIfAborted()
    }
  }

  /**
   * Asks all other servers. A request that was forwarded asks none (F1).
   *
   * *Cancellation*: the signal; a server that does not answer in a few seconds is left out.
   */
  async askOthers(request: ForwardRequest): Promise<{
    readonly answers: readonly ForwardAnswer[]
    /** Servers that did not answer. */
    readonly missing: number
  }> {
    if (this.proofOf(request) !== undefined) return { answers: [], missing: 0 }
    const { members, clock } = this.#options
    const { addresses, unknown } = await members.others()
    const deadline = Math.min(request.deadline, answerWithin)
    const { signal } = request
    const asked = await Promise.all(
      addresses.map((address) =>
        waitFor(this.#send(address, { ...request, deadline }), 'A server', clock, {
          deadline,
          signal,
        }).catch((error: unknown) => {
          if (signal.aborted) throw error
          return undefined
        }),
      ),
    )
    const answers = asked.filter((answer) => answer !== undefined)
    return { answers, missing: unknown + asked.length - answers.length }
  }

  /**
   * What one server answers; undefined when it cannot be reached in time.
   *
   * *Cancellation*: the signal; it ends at the deadline.
   */
  async askAt(address: string, request: ForwardRequest): Promise<ForwardAnswer | undefined> {
    const { clock } = this.#options
    const { deadline, signal } = request
    return waitFor(this.#send(address, request), 'A server', clock, { deadline, signal }).catch(
      (error: unknown) => {
        if (signal.aborted) throw error
        return undefined
      },
    )
  }

  /** Undefined when the answer is that it is not the owner either, or when the server cannot be reached in time (F7). */
  async #send(address: string, request: ForwardRequest): Promise<ForwardAnswer | undefined> {
    const { method, body, signal } = request
    const { target, url, sent } = this.#prepare(address, request)
    return unlessAway(signal, async () => {
      if (this.#options.useLinks === true) {
        const carried = { method, url, headers: { ...Object.fromEntries(sent), host: target.host } }
        const call = { ...carried, body: Buffer.from(body ?? '') }
        const outcome = await this.#linkTo(address).ask(call, waitOf(request))
        if (outcome === 'unreachable') return undefined
        if (typeof outcome !== 'string') return this.#read(outcome)
      }
      return this.#fetch(target, sent, request, (response) => this.#readAll(response))
    })
  }

  /** Like #send(); the body of a success is not buffered. */
  async #sendForStream(
    address: string,
    request: ForwardRequest,
  ): Promise<ForwardAnswer | StreamAnswer | undefined> {
    const { target, sent } = this.#prepare(address, request)
    const read = async (response: Response): Promise<ForwardAnswer | StreamAnswer | undefined> => {
      const { status, body } = response
      if (status >= 300 || body === null) return this.#readAll(response)
      this.#forwarded++
      const headers = keptHeaders(Object.fromEntries(response.headers))
      return { status, headers, stream: streamOf(body, this.#options.clock, request.signal) }
    }
    return unlessAway(request.signal, () => this.#fetch(target, sent, request, read))
  }

  /** Where a request goes, and with which headers. */
  #prepare(
    address: string,
    request: ForwardRequest,
  ): { readonly target: URL; readonly url: string; readonly sent: Headers } {
    const target = new URL(request.url, address)
    // The path that the other server will see.
    const url = target.pathname + target.search
    const sent = new Headers(this.#proofFor({ ...request, url }))
    sent.set('x-request-id', request.id)
    sent.set(deadlineHeader, String(Math.ceil(request.deadline)))
    for (const name of passedOn) {
      const value = request.headers[name]
      if (typeof value === 'string') sent.set(name, value)
    }
    return { target, url, sent }
  }

  /** One call over a connection of its own. *Cancellation*: the signal of the request; `read` has until the deadline. */
  async #fetch<T>(
    target: URL,
    headers: Headers,
    request: ForwardRequest,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { method, body } = request
    const late = new AbortController()
    // What `read` leaves unread ends with the client, too.
    const signal = AbortSignal.any([late.signal, request.signal])
    const call = { method, headers, signal, redirect: 'manual' } as const
    const answer = async (): Promise<T> =>
      read(await fetch(target, { ...call, ...(body !== undefined && { body }) }))
    const { clock } = this.#options
    try {
      return await waitFor(answer(), 'The answer of another server', clock, waitOf(request))
    } catch (error) {
      late.abort()
      throw error
    }
  }

  async #readAll(response: Response): Promise<ForwardAnswer | undefined> {
    const { status } = response
    const body = Buffer.from(await response.arrayBuffer())
    return this.#read({ status, headers: Object.fromEntries(response.headers), body })
  }

  /** Undefined when the answer is that it is not the owner either. */
  #read({ status, headers, body }: ForwardAnswer): ForwardAnswer | undefined {
    if (status === 503 && body.includes('"not_owner"')) return undefined
    this.#forwarded++
    return { status, headers: keptHeaders(headers), body }
  }

  #linkTo(address: string): Link {
    let link = this.#links.get(address)
    if (link === undefined) {
      const proof = (): Record<string, string> =>
        this.#proofFor({ method: 'CONNECT', url: linkTarget, body: undefined, caller: server })
      link = new Link({ address, clock: this.#options.clock, proof })
      this.#links.set(address, link)
    }
    return link
  }

  /** F2, F4. */
  #proofFor({
    method,
    url,
    body,
    caller: who,
  }: Pick<ForwardRequest, 'method' | 'url' | 'body' | 'caller'>): Record<string, string> {
    const { clock, secrets } = this.#options
    const time = String(Math.round(clock.wallTime()))
    const digest = digestOf(body)
    const caller = Buffer.from(JSON.stringify(who)).toString('base64url')
    const signature = sign(secrets[0]!, [time, digest, method, url, caller])
    return { [forwardHeader]: `${time}.${digest}.${signature}`, [callerHeader]: caller }
  }
}

/** F7: the owner answers at the deadline, and its answer has to come back. */
function waitOf({ deadline, signal }: ForwardRequest): CallWait {
  return { deadline: deadline + wayBack, signal }
}

/** The body of an answer as it arrives, with a deadline for each piece (F7). Left early, it closes the connection. */
function streamOf(body: ReadableStream<Uint8Array>, clock: Clock, signal: AbortSignal): Readable {
  const reader = body.getReader()
  const stream = Readable.from(piecesOf(reader, clock, signal), { objectMode: false })
  // Not waited for: the other side may never answer.
  stream.once('close', () => void reader.cancel().catch(() => undefined))
  return stream
}

/**
 * *Cancellation*: the signal.
 * @throws `HDL_TIMEOUT`.
 */
async function* piecesOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const wait = { deadline: pieceWithin, signal }
  for (;;) {
    const next = await waitFor(reader.read(), 'The next piece of an answer', clock, wait)
    if (next.done) return
    yield next.value
  }
}

/** Undefined when the other server cannot be reached. *Cancellation*: rejects when the signal has aborted. */
async function unlessAway<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask()
  } catch (error) {
    // The link refuses calls beyond its limit (law 4).
    if (signal.aborted || isError(error, 'HDL_OVERLOADED')) throw error
    return undefined
  }
}

function keptHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept = answered.flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(kept)
}

function digestOf(body: string | undefined): string {
  return createHash('sha256')
    .update(body ?? '')
    .digest('hex')
}

function sign(secret: string, parts: readonly string[]): string {
  return createHmac('sha256', secret).update(parts.join('\n')).digest('hex')
}

function notOwner(name: string, owner: string): HeddleError {
  return new HeddleError('HDL_NOT_OWNER', { shard: shardOf(name), retryAfter: pause, owner })
}
