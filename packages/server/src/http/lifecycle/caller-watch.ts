/**
 * Callers of requests that take long: streams of events, waits for a result, downloads.
 *
 *   begun ── a second has passed ─▶ looked at every second ── the caller is refused now ─▶ its connection ends
 *
 *  E1  A caller that was blocked or logged out, or whose token was revoked, gets nothing more within two seconds, also on requests
 *      that it had begun before.
 *  E2  A store that cannot be read refuses no caller; what was missed is read when it can be.
 *  E3  A look is one question to the policy for all requests that take long. Anonymous callers and public routes are not asked for.
 *
 * Known limit: a token whose age is over counts until the end of the requests that it has begun.
 */
import type { ServerResponse } from 'node:http'
import type { Clock, ServiceState, StopOptions } from '@heddle/core/lowlevel'
import type { Contract } from '../../client/contract/contract.ts'
import { RepeatedLook } from '../../repeated-look.ts'
import type { AccessPolicy, BegunCall } from '../caller.ts'
import type { Call } from '../route.ts'
import type { OpenResponses } from './open-responses.ts'

/** Milliseconds. What a policy remembers of a caller is a second old at most: both together stay below two. */
const lookEvery = 900

export interface CallerWatchOptions {
  readonly open: Pick<OpenResponses, 'all'>
  readonly policy: Pick<AccessPolicy, 'refused'>
  readonly clock: Clock
}

interface Begun extends BegunCall {
  readonly at: number
}

export class CallerWatch {
  readonly #options: CallerWatchOptions
  readonly #looks: RepeatedLook
  readonly #begun = new WeakMap<ServerResponse, Begun>()

  constructor(options: CallerWatchOptions) {
    this.#options = options
    this.#looks = new RepeatedLook({
      what: 'The watch over callers',
      clock: options.clock,
      // A store that does not answer is left alone then.
      deadline: 1_000,
      first: lookEvery,
      look: () => this.#look(),
    })
  }

  start(): Promise<void> {
    return this.#looks.start()
  }

  stop(options: StopOptions = {}): Promise<void> {
    return this.#looks.stop(options)
  }

  stats(): { readonly state: ServiceState } {
    return this.#looks.stats()
  }

  /** To be called when the caller of a request is known. An anonymous caller has no right to lose. */
  begin(
    { request, reply, caller }: Pick<Call, 'request' | 'reply' | 'caller'>,
    contract: Contract,
  ): void {
    if (caller.kind === 'anonymous' || contract.access === 'public') return
    this.#begun.set(reply.raw, { caller, contract, request, at: this.#options.clock.now() })
  }

  /** Never rejects. */
  async #look(): Promise<number> {
    const { open, policy, clock } = this.#options
    if (policy.refused === undefined) return Infinity
    const now = clock.now()
    const long = new Map<BegunCall, ServerResponse>()
    for (const response of open.all()) {
      const begun = this.#begun.get(response)
      if (begun !== undefined && now - begun.at >= lookEvery) long.set(begun, response)
    }
    // E2
    const refused = await policy.refused([...long.keys()]).catch(() => [])
    for (const begun of refused) long.get(begun)!.req.socket.destroy()
    return lookEvery
  }
}
