/**
 * Claims that wait for work (W3), and which claim gets which work. One claim is decided in one step, so no unit is
 * offered twice.
 *
 *     claim ──▶ offered at once
 *        └────▶ waiting ──work arrives──▶ offered
 *                  ├── 25 s, or the server drains ──▶ empty, with the reason (W2)
 *                  └── the client went away ──▶ gone; an offer that was on its way goes back
 */
import { HeddleError } from '@heddle/core'
import {
  LinkedList,
  soon,
  type Clock,
  type Kernel,
  type ListItem,
  type Timer,
} from '@heddle/core/lowlevel'
import type { FleetWorker, Refusal } from './fleet-worker.ts'
import type { Lease } from './lease.ts'

export type ClaimAnswer =
  | { readonly kind: 'offer'; readonly lease: Lease }
  | ({ readonly kind: 'empty' } & Refusal)

export interface ClaimRequest {
  /** Made by the worker; the same one again gets the same answer (L5). */
  readonly request: string
  /** Milliseconds to wait for work. */
  readonly wait: number
  readonly signal?: AbortSignal | undefined
}

export interface ClaimDeskOptions {
  readonly kernel: Kernel
  /** Makes an offer, or says why not. */
  readonly choose: (worker: FleetWorker, request: string) => Lease | Refusal
  /** Whether there is anything to hand out at all: otherwise waiting claims are not checked. */
  readonly hasWork: () => boolean
  /** Takes back an offer whose claim has gone. */
  readonly takeBack: (lease: Lease) => void
  /** Claims that wait at a time. Default 100,000. */
  readonly most?: number | undefined
}

class WaitingClaim implements ListItem<WaitingClaim> {
  list: object | undefined
  previous: WaitingClaim | undefined
  next: WaitingClaim | undefined
  readonly worker: FleetWorker
  readonly request: string
  refusal: Refusal
  readonly #done: (answer: ClaimAnswer) => void
  readonly #timer: Timer
  readonly #signal: AbortSignal | undefined
  readonly #onAbort: () => void
  readonly #unwatch: () => void

  constructor(
    worker: FleetWorker,
    { request, wait, signal }: ClaimRequest,
    refusal: Refusal,
    clock: Clock,
    list: LinkedList<WaitingClaim>,
    done: (answer: ClaimAnswer) => void,
  ) {
    this.worker = worker
    this.request = request
    this.refusal = refusal
    this.#done = done
    this.#signal = signal
    this.#onAbort = () => this.end(list)
    this.#timer = clock.setTimer(Math.min(wait, refusal.retryAfter ?? wait), this.#onAbort)
    signal?.addEventListener('abort', this.#onAbort, { once: true })
    // W7: it is answered with what its worker has to know.
    this.#unwatch = worker.claims.add(this.#onAbort)
  }

  /** Answers with nothing. */
  end(list: LinkedList<WaitingClaim>): void {
    if (!list.remove(this)) return
    // What its refusal said about coming back has passed while it waited.
    const { reason, message } = this.refusal
    const isOver = reason === 'no_work' || reason === 'capability'
    this.#answer({ kind: 'empty', ...(isOver ? { reason, message } : this.refusal) })
  }

  give(list: LinkedList<WaitingClaim>, lease: Lease): void {
    list.remove(this)
    this.#answer({ kind: 'offer', lease })
  }

  #answer(answer: ClaimAnswer): void {
    this.#timer.cancel()
    this.#unwatch()
    this.#signal?.removeEventListener('abort', this.#onAbort)
    this.#done(answer)
  }
}

/** Waiting claims that are checked in one turn of the loop. */
const slice = 500

export class ClaimDesk {
  readonly #options: ClaimDeskOptions
  readonly #waiting = new LinkedList<WaitingClaim>()
  readonly #waitingOf = new Map<string, number>()
  readonly #most: number
  /** Kinds of workers for which nothing was found since work arrived last: their other claims are not looked at. */
  readonly #refused = new Set<string>()
  #isPlanned = false
  #isOpen = true

  constructor(options: ClaimDeskOptions) {
    this.#options = options
    this.#most = options.most ?? 100_000
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Claims of a tenant that wait. */
  waitingOf(tenant: string): number {
    return this.#waitingOf.get(tenant) ?? 0
  }

  #count(tenant: string, more: 1 | -1): void {
    const count = this.waitingOf(tenant) + more
    if (count === 0) this.#waitingOf.delete(tenant)
    else this.#waitingOf.set(tenant, count)
  }

  /**
   * Answers with an offer, or with the reason why there is none.
   *
   * *Cancellation*: the claim leaves; an offer that it got in the same moment goes back.
   * *Fairness*: waiting claims are checked in the order in which they came.
   * @throws `HDL_DRAINING` after close(), except for the claim of an offer that was made before.
   */
  async claim(worker: FleetWorker, request: ClaimRequest): Promise<ClaimAnswer> {
    const answer = await this.#claim(worker, request)
    if (answer.kind === 'offer' && request.signal?.aborted === true) {
      this.#options.takeBack(answer.lease)
      return { kind: 'empty', reason: 'no_work', message: 'the worker went away' }
    }
    if (answer.kind === 'empty') worker.lastRefusal = answer
    else worker.lastRefusal = undefined
    return answer
  }

  #claim(worker: FleetWorker, request: ClaimRequest): Promise<ClaimAnswer> | ClaimAnswer {
    for (const lease of worker.leases) {
      if (lease.request === request.request && request.request !== '')
        return { kind: 'offer', lease }
    }
    if (!this.#isOpen) throw new HeddleError('HDL_DRAINING', { what: 'The server' })
    const chosen = this.#options.choose(worker, request.request)
    if (!('reason' in chosen)) return { kind: 'offer', lease: chosen }
    const mayWait = chosen.reason === 'no_work' || chosen.reason === 'capability'
    if (!mayWait || request.wait <= 0 || request.signal?.aborted === true) {
      return { kind: 'empty', ...chosen }
    }
    if (this.#waiting.size >= this.#most) return { kind: 'empty', ...tooMany }
    const { clock } = this.#options.kernel
    const { tenant } = worker.identity
    this.#count(tenant, 1)
    return new Promise((done) => {
      const answer = (given: ClaimAnswer): void => {
        this.#count(tenant, -1)
        done(given)
      }
      this.#waiting.push(new WaitingClaim(worker, request, chosen, clock, this.#waiting, answer))
    })
  }

  /** Work has arrived: checks waiting claims when the current code has finished. */
  wake(): void {
    this.#refused.clear()
    if (this.#isPlanned || this.#waiting.size === 0) return
    this.#isPlanned = true
    soon(() => this.#look(this.#waiting.size))
  }

  #look(left: number): void {
    this.#isPlanned = false
    let claim = this.#waiting.first
    for (let looked = 0; claim !== undefined && looked < left; looked++) {
      if (looked === slice) return this.#lookLater(left - looked)
      const next: WaitingClaim | undefined = claim.next
      if (this.#refused.has(claim.worker.kind)) this.#putLast(claim)
      else if (this.#options.hasWork()) this.#tryToGive(claim)
      else return
      claim = next ?? this.#waiting.first
    }
  }

  #tryToGive(claim: WaitingClaim): void {
    const chosen = this.#options.choose(claim.worker, claim.request)
    if (!('reason' in chosen)) return claim.give(this.#waiting, chosen)
    claim.refusal = chosen
    if (chosen.isPersonal !== true) this.#refused.add(claim.worker.kind)
    this.#putLast(claim)
  }

  /** The next slice looks at others. */
  #putLast(claim: WaitingClaim): void {
    this.#waiting.remove(claim)
    this.#waiting.push(claim)
  }

  #lookLater(left: number): void {
    this.#isPlanned = true
    this.#options.kernel.clock.afterIo(() => this.#look(left))
  }

  /** From now on no claim waits or gets work: waiting claims are answered, later ones are refused. */
  close(): void {
    this.#isOpen = false
    for (const claim of this.#waiting) {
      claim.refusal = draining
      claim.end(this.#waiting)
    }
  }
}

const draining: Refusal = { reason: 'busy', message: 'the server is draining', retryAfter: 1_000 }
const tooMany: Refusal = { reason: 'busy', message: 'too many claims wait', retryAfter: 2_000 }
