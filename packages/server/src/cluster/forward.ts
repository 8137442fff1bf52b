/**
 * Sends a request on to the server that owns what it is about, or to all servers (C6).
 *
 *  F1  One hop: a request that was forwarded is answered where it arrives, with `not_owner` if need be. The first server
 *      then looks for the owner again, until the deadline of the caller.
 *  F2  A forwarded request proves that it comes from a server of the cluster: time, method, path, caller and the digest of
 *      the body are signed with the cluster secret. During a rotation two secrets are valid: the first signs, both are accepted.
 *  F3  The headers of a request that does not prove it mean nothing: it counts as a request from outside.
 *  F4  The caller is who asked the first server, with its tenant, roles and scopes. What identified it there (a token, a
 *      cookie) is not passed on.
 *  F5  A forwarded request has the id of the first one: a write that is sent twice is one request.
 *  F6  Requests for one server are gathered and sent over one kept connection (link.ts). A server of an earlier version gets them one by
 *      one.
 *  F7  An owner that cannot be reached for `findWithin`, longer than a take-over takes, is answered for with 503 and Retry-After.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { HeddleError, isError } from '@heddle/core'
import { pauseFor, shardOf, waitFor, type Clock } from '@heddle/core/lowlevel'
import type { Caller } from '../http/caller.ts'
import { Link, linkTarget } from './link.ts'
import type { Members } from './members.ts'

/** `TIME.DIGEST.SIGNATURE`. */
export const forwardHeader = 'x-heddle-forwarded'
/** Who asked the first server: JSON in base64. */
export const callerHeader = 'x-heddle-caller'

/** Milliseconds by which the clocks of two servers may differ, the time on the way included. */
const signatureAge = 60_000

/** Milliseconds between two tries to find the owner. */
const pause = 100

/** Milliseconds in which an owner must be found: a take-over takes the ttl of six seconds and at most three more. */
const findWithin = 12_000

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

export interface ForwarderOptions {
  readonly members: Members
  /** The one that signs comes first. */
  readonly secrets: readonly string[]
  readonly clock: Clock
  /** Whether requests are sent over links (F6). Default false: each over a connection of its own. */
  readonly useLinks?: boolean
}

/** Who opens a link; the calls on it have their own callers. */
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

/** What a request that was forwarded has proved. */
export interface Proof {
  readonly caller: Caller
  /** Whether a body is the one that was signed. */
  isBody(body: string | undefined): boolean
}

export class Forwarder {
  readonly #options: ForwarderOptions
  /** By address. */
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
  async forward(name: string, request: ForwardRequest): Promise<ForwardAnswer | undefined> {
    const { members, clock } = this.#options
    if (members.isLocal(name)) return undefined
    const { signal } = request
    const isForwarded = this.proofOf(request) !== undefined
    const until = clock.now() + request.deadline
    let failedAt: number | undefined
    for (;;) {
      let failure: HeddleError
      try {
        const address = await members.addressOf(name)
        if (address === undefined) return undefined
        if (isForwarded) throw notOwner(name, address)
        const left = { ...request, deadline: Math.max(1, until - clock.now()) }
        const answer = await this.#send(address, left)
        if (answer !== undefined) return answer
        failure = notOwner(name, address)
      } catch (error) {
        if (isForwarded || !isError(error, 'HDL_NOT_OWNER')) throw error
        failure = error
      }
      // F7: counted from the first failure, because the owner of a call that waits may die late.
      failedAt ??= clock.now()
      if (clock.now() + pause >= Math.min(until, failedAt + findWithin)) throw failure
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

  /** Undefined when the answer is that it is not the owner either, or when the server cannot be reached. */
  async #send(address: string, request: ForwardRequest): Promise<ForwardAnswer | undefined> {
    const { method, body, headers, signal } = request
    const target = new URL(request.url, address)
    // As the other server will see it.
    const url = target.pathname + target.search
    const sent = new Headers(this.#proofFor({ ...request, url }))
    sent.set('x-request-id', request.id)
    sent.set('x-deadline-ms', String(Math.ceil(request.deadline)))
    for (const name of passedOn) {
      const value = headers[name]
      if (typeof value === 'string') sent.set(name, value)
    }
    if (this.#options.useLinks === true) {
      const carried = { method, url, headers: { ...Object.fromEntries(sent), host: target.host } }
      const bytes = Buffer.from(body ?? '')
      const outcome = await this.#linkTo(address).ask({ ...carried, body: bytes }, signal)
      if (outcome === 'unreachable') return undefined
      if (outcome !== 'unsupported') return this.#read(outcome)
    }
    let response: Response
    let bytes: Buffer
    try {
      response = await fetch(target, {
        method,
        headers: sent,
        signal,
        redirect: 'manual',
        ...(body !== undefined && { body }),
      })
      bytes = Buffer.from(await response.arrayBuffer())
    } catch (error) {
      if (signal.aborted) throw error
      return undefined
    }
    const { status } = response
    return this.#read({ status, headers: Object.fromEntries(response.headers), body: bytes })
  }

  /** Undefined when the answer is that it is not the owner either. */
  #read({ status, headers, body }: ForwardAnswer): ForwardAnswer | undefined {
    if (status === 503 && body.includes('"not_owner"')) return undefined
    this.#forwarded++
    const kept = answered.flatMap((name) => {
      const value = headers[name]
      return value === undefined ? [] : [[name, value] as const]
    })
    return { status, headers: Object.fromEntries(kept), body }
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
