/** A contract with the function that answers it. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '@heddle/core/lowlevel'
import type {
  Contract,
  ParamsOf,
  QueryOf,
  RequestBodyOf,
  ResponseBodyOf,
} from '../client/contract/contract.ts'
import type { Caller } from './caller.ts'
import type { ForwardedAnswer } from './context.ts'
import { clientGone } from './lifecycle/client-gone.ts'
import { deadlineOf, requestId } from './read-request.ts'
import { checkTenancy, type Tenancy } from './tenancy.ts'

/** One request, as handlers see it. */
export interface Call<C extends Contract = Contract> {
  readonly params: ParamsOf<C>
  readonly query: QueryOf<C>
  /** Validated; the text of an unparsed body; undefined for `raw` (read `request.raw`) and `none`. */
  readonly body: RequestBodyOf<C>
  readonly caller: Caller
  /** `X-Request-Id`, or 128 random bits. */
  readonly id: string
  /** Aborts when the client leaves before its answer was sent. */
  readonly signal: AbortSignal
  /** Milliseconds until the request must be answered, from now on: of two waits the second one gets what the first has left. */
  readonly deadline: number
  /** Milliseconds that the request has in all. */
  readonly limit: number
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

type Answer<C extends Contract> = ResponseBodyOf<C> | FastifyReply

export type Handler<C extends Contract> = (call: Call<C>) => Answer<C> | Promise<Answer<C>>

export interface RouteOptions<C extends Contract> {
  /**
   * Called when the head was read and the caller is known, before the body: a throw refuses the request without its body.
   * `body` is undefined then.
   */
  readonly door?: (call: Call<C>) => void
  /** The handler gets the text of a JSON body, because it must not be parsed before it is admitted. */
  readonly isUnparsed?: boolean
  /** Bytes of the body, where the operator decides: the contract's limit when absent. */
  readonly bodyLimit?: number
  /**
   * The name (a handle, a campaign) whose owner answers: where several servers share a store, the request is forwarded to that
   * server before the handler is called. Undefined for a call that any server answers.
   */
  readonly ownedBy?: (call: Call<C>) => string | undefined
  /** Called when another server has answered, with what this server may learn from it. It must not throw. */
  readonly onForwarded?: (call: Call<C>, answer: ForwardedAnswer) => void
  /** A success is a stream of any length: a server in between passes it on as it arrives. */
  readonly isStream?: boolean
  /** Needed where the path names a thing and callers are not admins (N2 in tenancy.ts). */
  readonly tenancy?: Tenancy<C>
}

/** The types of a route are those of its contract; here they are forgotten. */
export interface Route {
  readonly contract: Contract
  readonly handle: (call: Call) => unknown
  readonly door: ((call: Call) => void) | undefined
  readonly isUnparsed: boolean
  readonly bodyLimit: number | undefined
  readonly ownedBy: ((call: Call) => string | undefined) | undefined
  readonly onForwarded: ((call: Call, answer: ForwardedAnswer) => void) | undefined
  readonly isStream: boolean
  readonly tenancy: Tenancy<Contract> | undefined
}

/**
 * @example
 * route(listJobs, () => ({ jobs: [] }))
 */
export function route<const C extends Contract>(
  contract: C,
  handle: Handler<C>,
  options: RouteOptions<C> = {},
): Route {
  checkTenancy(contract, options.tenancy)
  return {
    contract,
    handle: handle,
    door: options.door,
    isUnparsed: options.isUnparsed ?? false,
    bodyLimit: options.bodyLimit ?? contract.bodyLimit,
    ownedBy: options.ownedBy,
    onForwarded: options.onForwarded,
    isStream: options.isStream ?? false,
    tenancy: options.tenancy,
  }
}

/** The state from which a call is made when its request arrives. */
export class OpenCall implements Call {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly caller: Caller
  params: ParamsOf<Contract> = {}
  query: QueryOf<Contract> = {}
  body: undefined
  readonly #clock: Clock
  readonly #limit: number
  #id: string | undefined
  #signal: AbortSignal | undefined
  /** When its body was there: its limit counts from then on. */
  #begunAt: number | undefined

  constructor(
    request: FastifyRequest,
    reply: FastifyReply,
    caller: Caller,
    settings: { readonly clock: Clock; readonly requestLimit: number },
  ) {
    this.request = request
    this.reply = reply
    this.caller = caller
    this.#clock = settings.clock
    this.#limit = settings.requestLimit
  }

  get id(): string {
    return (this.#id ??= requestId(this.request))
  }

  /** Made when it is first asked for: most routes answer in the same step. */
  get signal(): AbortSignal {
    return (this.#signal ??= clientGone(this.reply.raw, this.id, this.#clock))
  }

  begin(): void {
    this.#begunAt = this.#clock.now()
  }

  get limit(): number {
    return deadlineOf(this.request, this.#limit)
  }

  get deadline(): number {
    const { limit } = this
    if (this.#begunAt === undefined) return limit
    return Math.max(1, limit - (this.#clock.now() - this.#begunAt))
  }
}
