import type { FastifyRequest } from 'fastify'
import { HeddleError } from '@heddle/core'
import type { Contract } from '../client/contract/contract.ts'
import { checkAccess, type AccessPolicy, type Caller } from '../http/caller.ts'
import type { Forwarder, Proof } from './forward.ts'

/**
 * The policy of a server among others: a request that another server has forwarded comes from the caller that it names (F4), and
 * what that caller may do is checked here too. Every other request is decided by the policy of the server.
 */
export class ForwardedPolicy implements AccessPolicy {
  readonly #inner: AccessPolicy
  readonly #forwarder: Forwarder
  readonly #proofs = new WeakMap<FastifyRequest, Proof>()

  constructor(inner: AccessPolicy, forwarder: Forwarder) {
    this.#inner = inner
    this.#forwarder = forwarder
  }

  callerOf(request: FastifyRequest, contract: Contract): Caller | Promise<Caller> {
    const proof = this.#forwarder.proofOf(request)
    if (proof === undefined) return this.#inner.callerOf(request, contract)
    this.#proofs.set(request, proof)
    return proof.caller
  }

  check(caller: Caller, contract: Contract, request: FastifyRequest): void {
    if (this.#proofs.has(request)) checkAccess(caller, contract)
    else this.#inner.check(caller, contract, request)
  }

  /** F2: the head was proved before its body was there. @throws `HDL_UNAUTHENTICATED`. */
  checkBody(request: FastifyRequest, body: string | undefined): void {
    const proof = this.#proofs.get(request)
    if (proof === undefined || proof.isBody(body)) return
    throw new HeddleError('HDL_UNAUTHENTICATED', { what: `${request.method} ${request.url}` })
  }
}
