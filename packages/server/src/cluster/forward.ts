/**
 * Sends a request on to the server that owns its handle (C6).
 *
 *  F1  One hop: a request that was forwarded is answered where it arrives, with `not_owner` if need be. The first server
 *      then looks for the owner again, until the deadline of the caller.
 *  F2  A forwarded request proves that it comes from a server of the cluster: method, path, time and body are signed
 *      with the cluster secret. During a rotation two secrets are valid: the first signs, both are accepted.
 *  F3  The header is taken from requests that do not prove it: they count as requests from outside.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { HeddleError, isError } from '@heddle/core'
import { shardOf, waitFor, type Clock } from '@heddle/core/lowlevel'
import type { Members } from './members.ts'

export const forwardHeader = 'x-heddle-forwarded'

/** Milliseconds by which the clocks of two servers may differ, the time on the way included. */
const signatureAge = 60_000

/** Milliseconds between two tries to find the owner. */
const pause = 100

export interface ForwardRequest {
  readonly method: string
  /** The path with its query. */
  readonly url: string
  readonly body: string | undefined
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

export interface ForwardAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface ForwarderOptions {
  readonly members: Members
  /** The one that signs comes first. */
  readonly secrets: readonly string[]
  readonly clock: Clock
}

const passedOn = ['content-type', 'authorization', 'x-request-id', 'traceparent', 'tracestate']
const answered = ['content-type', 'location', 'retry-after', 'etag']

export class Forwarder {
  readonly #options: ForwarderOptions
  #forwarded = 0

  constructor(options: ForwarderOptions) {
    this.#options = options
  }

  get forwarded(): number {
    return this.#forwarded
  }

  /** F2, F3. */
  isForwarded({ method, url, body, headers }: ForwardRequest): boolean {
    const [time, signature] = String(headers[forwardHeader] ?? '').split('.')
    if (time === undefined || signature === undefined) return false
    const { clock, secrets } = this.#options
    if (!(Math.abs(clock.wallTime() - Number(time)) < signatureAge)) return false
    return secrets.some((secret) => {
      const expected = Buffer.from(sign(secret, time, method, url, body))
      const given = Buffer.from(signature)
      return expected.length === given.length && timingSafeEqual(expected, given)
    })
  }

  /**
   * Undefined when this server is to answer by itself.
   *
   * *Cancellation*: the signal: the client has left. It ends at the deadline.
   * @throws `HDL_NOT_OWNER` when no owner was found in time.
   */
  async forward(
    handle: string,
    request: ForwardRequest,
    { signal, deadline }: { readonly signal: AbortSignal; readonly deadline: number },
  ): Promise<ForwardAnswer | undefined> {
    const { members, clock } = this.#options
    if (members.isLocal(handle)) return undefined
    const isForwarded = this.isForwarded(request)
    const until = clock.now() + deadline
    for (;;) {
      try {
        const address = await members.addressOf(handle)
        if (address === undefined) return undefined
        if (isForwarded) throw notOwner(handle)
        const answer = await this.#send(address, request, signal)
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

  /** Undefined when the answer is that it is not the owner either, or when the server cannot be reached. */
  async #send(
    address: string,
    { method, url, body, headers }: ForwardRequest,
    signal: AbortSignal,
  ): Promise<ForwardAnswer | undefined> {
    const { clock, secrets } = this.#options
    const time = String(Math.round(clock.wallTime()))
    const sent = new Headers({
      [forwardHeader]: `${time}.${sign(secrets[0]!, time, method, url, body)}`,
    })
    for (const name of passedOn) {
      const value = headers[name]
      if (typeof value === 'string') sent.set(name, value)
    }
    let response: Response
    try {
      response = await fetch(new URL(url, address), {
        method,
        headers: sent,
        signal,
        ...(body !== undefined && { body }),
      })
    } catch (error) {
      if (signal.aborted) throw error
      return undefined
    }
    const text = await response.text()
    if (response.status === 503 && text.includes('"not_owner"')) return undefined
    this.#forwarded++
    const kept = answered.flatMap((name) => {
      const value = response.headers.get(name)
      return value === null ? [] : [[name, value] as const]
    })
    return { status: response.status, headers: Object.fromEntries(kept), body: text }
  }
}

function sign(
  secret: string,
  time: string,
  method: string,
  url: string,
  body: string | undefined,
): string {
  const digest = createHash('sha256')
    .update(body ?? '')
    .digest('hex')
  return createHmac('sha256', secret).update([time, method, url, digest].join('\n')).digest('hex')
}

function notOwner(handle: string): HeddleError {
  return new HeddleError('HDL_NOT_OWNER', { shard: shardOf(handle), retryAfter: pause })
}
