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
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { HeddleError, isError } from '@heddle/core'
import { shardOf, waitFor, type Clock } from '@heddle/core/lowlevel'
import type { Caller } from '../http/caller.ts'
import type { Members } from './members.ts'

/** `TIME.DIGEST.SIGNATURE`. */
export const forwardHeader = 'x-heddle-forwarded'
/** Who asked the first server: JSON in base64. */
export const callerHeader = 'x-heddle-caller'

/** Milliseconds by which the clocks of two servers may differ, the time on the way included. */
const signatureAge = 60_000

/** Milliseconds between two tries to find the owner. */
const pause = 100

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
  #forwarded = 0

  constructor(options: ForwarderOptions) {
    this.#options = options
  }

  get forwarded(): number {
    return this.#forwarded
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
    for (;;) {
      try {
        const address = await members.addressOf(name)
        if (address === undefined) return undefined
        if (isForwarded) throw notOwner(name, address)
        const left = { ...request, deadline: Math.max(1, until - clock.now()) }
        const answer = await this.#send(address, left)
        if (answer !== undefined) return answer
      } catch (error) {
        if (isForwarded || !isError(error, 'HDL_NOT_OWNER')) throw error
        if (clock.now() + pause >= until) throw error
      }
      await waitFor(new Promise<never>(() => undefined), 'The owner', clock, {
        deadline: pause,
        signal,
      }).catch((error: unknown) => {
        if (signal.aborted) throw error
      })
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
    if (response.status === 503 && bytes.includes('"not_owner"')) return undefined
    this.#forwarded++
    const kept = answered.flatMap((name) => {
      const value = response.headers.get(name)
      return value === null ? [] : [[name, value] as const]
    })
    return { status: response.status, headers: Object.fromEntries(kept), body: bytes }
  }

  /** F2, F4. */
  #proofFor({ method, url, body, caller: who }: ForwardRequest): Record<string, string> {
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
