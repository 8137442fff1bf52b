/** Calls of routes, sent on to the servers that answer them. */
import type { FastifyRequest } from 'fastify'
import type { AccessPolicy } from '../http/caller.ts'
import type { CallForwarding, ForwardedAnswer } from '../http/context.ts'
import type { Call } from '../http/route.ts'
import { ForwardedPolicy } from './forwarded-policy.ts'
import type { ForwardAnswer, Forwarder, ForwardRequest } from './forward.ts'

/** A call, whatever its contract is. */
type AnyCall = Pick<Call, 'request' | 'reply' | 'caller' | 'id' | 'signal' | 'deadline'>

export interface OthersAnswer<T> {
  readonly answers: readonly T[]
  /** Servers that did not answer. */
  readonly missing: number
}

export class ClusterForwarding implements CallForwarding {
  readonly #forwarder: Forwarder
  #policy: ForwardedPolicy | undefined

  constructor(forwarder: Forwarder) {
    this.#forwarder = forwarder
  }

  /** The policy of this server, which knows the callers of forwarded requests. Called once. */
  policyOver(inner: AccessPolicy): AccessPolicy {
    this.#policy = new ForwardedPolicy(inner, this.#forwarder)
    return this.#policy
  }

  checkBody(request: FastifyRequest, body: string | undefined): void {
    this.#policy?.checkBody(request, body)
  }

  forward(
    name: string,
    call: AnyCall,
    body: string | undefined,
    isStream = false,
  ): Promise<ForwardedAnswer | undefined> | undefined {
    if (this.#forwarder.isLocal(name)) return undefined
    return this.#forward(name, call, body, isStream)
  }

  /**
   * What the other servers answer to the same request, as JSON; an answer that is not a success is left out, and its server
   * is not missing.
   *
   * *Cancellation*: the signal of the call; a server that does not answer in a few seconds is missing.
   */
  async askOthers<T>(call: AnyCall, body?: string): Promise<OthersAnswer<T>> {
    const { answers, missing } = await this.#forwarder.askOthers(requestOf(call, body))
    const succeeded = answers.filter(({ status }) => status < 300)
    const read = ({ body: text }: ForwardAnswer): T => JSON.parse(text.toString()) as T
    return { answers: succeeded.map(read), missing }
  }

  /** Whether another server of the cluster has sent the call on. */
  isForwarded({ request }: Pick<AnyCall, 'request'>): boolean {
    return this.#forwarder.proofOf(request) !== undefined
  }

  /**
   * What one server answers to the same request with another body; undefined when it refuses or cannot be reached.
   *
   * *Cancellation*: the signal of the call; it ends within `deadline` milliseconds.
   */
  async askAt<T>(
    address: string,
    call: AnyCall,
    body: object,
    deadline: number,
  ): Promise<T | undefined> {
    const request = { ...requestOf(call, JSON.stringify(body)), deadline }
    const answer = await this.#forwarder.askAt(address, request)
    if (answer === undefined || answer.status >= 300) return undefined
    return JSON.parse(answer.body.toString()) as T
  }

  /**
   * The answer of the owner of a name to a question about the call, such as whether it may be answered here; undefined
   * when this server is the owner.
   *
   * *Cancellation*: the signal of the call; it ends at the deadline of the call.
   * @throws `HDL_NOT_OWNER` when no owner was found in time.
   */
  askOwner(name: string, call: AnyCall, url: string): Promise<ForwardAnswer | undefined> {
    const question = { ...requestOf(call, undefined), method: 'GET', url, headers: {} }
    return this.#forwarder.forward(name, question)
  }

  async #forward(
    name: string,
    call: AnyCall,
    body: string | undefined,
    isStream: boolean,
  ): Promise<ForwardedAnswer | undefined> {
    const request = requestOf(call, body)
    const answer = isStream
      ? await this.#forwarder.forwardStream(name, request)
      : await this.#forwarder.forward(name, request)
    if (answer === undefined) return undefined
    const { status, headers } = answer
    const content = 'stream' in answer ? answer.stream : answer.body
    void call.reply.code(status).headers(headers).send(content)
    return { status, body: 'stream' in answer ? undefined : answer.body }
  }
}

function requestOf(call: AnyCall, body: string | undefined): ForwardRequest {
  const { request, caller, id, signal, deadline } = call
  const { method, url, headers } = request
  return { method, url, headers, body, caller, id, signal, deadline }
}
