/**
 * The callers that wait for a result of a work, and the callers that were promised one.
 *
 * A waiting caller is in the registry, and ends with the first event that concerns it. Who was promised a result
 * without waiting holds the work. When the last of both has left, the work is abandoned (W4).
 */
import type { Context } from '@opentelemetry/api'
import { HeddleError, isError } from '@heddle/core'
import type { Kernel, Registry, RegistryRequest, Slots, SlotTicket } from '@heddle/core/lowlevel'
import { encodeResult, isEncoded, type Encoded } from './encoded.ts'
import { itemName } from './handle.ts'
import type { AcknowledgementLog, LedgerEntry } from './ledger.ts'
import { cancelledBy, lostResult, withStage } from './job-errors.ts'
import type { Failure, Remembered } from './remembered.ts'
import type { Requests } from './requests.ts'
import type { ResultStore } from './result-store.ts'
import { noteStory } from './computation-runner.ts'
import type { Hold, Computation } from './computation.ts'

/** One request of a caller. */
export interface Asking {
  readonly request: string
  /** Slots and ids of requests are names of this tenant. */
  readonly tenant: string
  readonly slot?: string | undefined
  /** Aborts when the client has gone. */
  readonly disconnect: AbortSignal
  /** Milliseconds until the request must have an answer, from now on: what is left of it whenever it is read. */
  readonly deadline: number
  /** Milliseconds it waits for a result before it is answered that the work continues. */
  readonly wait: number
  /** The trace of the request; undefined where nothing is traced. */
  readonly trace?: Context | undefined
}

export interface Answer {
  readonly handle: string
  readonly index: number
  readonly total: number
  /** Absent while the work continues, or when no caller asked for it. */
  readonly result?: Encoded
  readonly isDone: boolean
}

export interface WaitingOptions {
  readonly registry: Registry<Encoded>
  readonly slots: Slots
  readonly requests: Requests
  readonly store: ResultStore
  readonly ledger: AcknowledgementLog
  readonly failures: Remembered<Failure>
  readonly kernel: Kernel
  /** Ends the work if no caller needs it any more. */
  readonly abandon: (work: Computation, reason: unknown) => void
}

/** One waiting request, with its ticket. */
interface OpenWait {
  readonly request: RegistryRequest<Encoded>
  readonly ticket: SlotTicket | undefined
}

type Found = { readonly value: Encoded } | undefined

const elapsed: unique symbol = Symbol('elapsed')

export class Waiting {
  readonly #options: WaitingOptions
  #late = 0

  constructor(options: WaitingOptions) {
    this.#options = options
  }

  /** How many were answered, at the end of their wait, that the work continues. */
  get late(): number {
    return this.#late
  }

  /**
   * Promises the results of a work: resolves when it is durable (W5).
   *
   * *Cancellation*: the slot and the request's id end the promise, `deadline` the wait for it.
   * @param given The slot's ticket, when the caller has taken it before.
   */
  async acknowledge(
    work: Computation,
    index: number,
    caller: Asking,
    given?: SlotTicket,
  ): Promise<Answer> {
    const { handle, total } = work
    const { request } = caller
    const hold: Hold = { request }
    // Before the slot is taken: its earlier request may be the only one that holds this very work.
    work.holds.add(hold)
    const opened = this.#options.requests.open(caller.tenant, request, () => {
      release(cancelledBy(handle, request))
      return work.endedInStore
    })
    let ticket = given
    const release = (lostBy?: HeddleError): void => {
      if (!work.holds.delete(hold)) return
      if (lostBy !== undefined) hold.lostBy = lostBy
      ticket?.release()
      opened[Symbol.dispose]()
      if (!work.isEnded) this.#options.abandon(work, cancelledBy(handle, request))
    }
    hold.release = release
    try {
      ticket ??= this.#take(caller)
      ticket?.signal.addEventListener('abort', () => release(ticket?.signal.reason), { once: true })
      // oxlint-disable-next-line typescript/no-floating-promises -- it never rejects; what release() throws must end the process, as it would from a timer
      work.ended.then(() => release())
      await this.#before(caller.deadline, handle, this.#written(work))
    } catch (error) {
      release()
      throw hold.lostBy ?? error
    }
    // No caller may get the answer that work will be done when it has failed or was cancelled.
    if (hold.lostBy !== undefined) throw hold.lostBy
    if (work.state === 'ended') throw work.error
    return { handle, index, total, isDone: work.state === 'done' }
  }

  /** Everything is stored already, or it is in the ledger that it will be. */
  async #written(work: Computation): Promise<void> {
    const isStored = (await work.looked) === 'stored'
    if (!isStored && !work.isEnded) await this.#inLedger(work)
  }

  /** A store that hangs does not hang the callers. @throws `HDL_TIMEOUT`. */
  async #before(limit: number, what: string, done: Promise<void>): Promise<void> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = this.#options.kernel.clock.setTimer(limit, () =>
      reject(new HeddleError('HDL_TIMEOUT', { what, limit, stage: 'request' })),
    )
    try {
      await Promise.race([done, late])
    } finally {
      timer.cancel()
    }
  }

  async #inLedger(work: Computation): Promise<void> {
    const { served, handle, submitted, priority } = work
    if (work.ledger !== undefined) return void (await work.ledger)
    const { input } = submitted!
    const job = served.name
    const written = this.write(
      work,
      this.#options.ledger.acknowledge(served, {
        job,
        handle,
        input,
        tenant: work.tenant,
        priority,
        version: served.version,
        force: work.isForced,
        ...(work.family !== undefined && { family: work.family }),
      }),
    )
    noteStory(work)
    await written
  }

  /** A failed write can be tried again. @throws `HDL_STORE_FAILED`. *Cancellation*: none. */
  async write(work: Computation, entry: Promise<LedgerEntry>): Promise<void> {
    work.ledger = entry
    try {
      await entry
    } catch (error) {
      if (work.ledger === entry) work.ledger = undefined
      throw error
    }
  }

  #take({ slot, tenant }: Asking): SlotTicket | undefined {
    return slot === undefined ? undefined : this.#options.slots.take(`${tenant}\0${slot}`)
  }

  /**
   * Waits for one result.
   *
   * *Cancellation*: `disconnect`, `deadline`, the slot and the request's id end this request only.
   * @param isSubmit After `wait` it is acknowledged; a caller that only asks is answered that it continues.
   */
  async wait(work: Computation, index: number, caller: Asking, isSubmit: boolean): Promise<Answer> {
    const { handle, total } = work
    const { request: id, wait } = caller
    this.#options.requests.check(caller.tenant, id)
    const { request, ticket } = this.#enter(work, index, caller)
    using opened = this.#options.requests.open(
      caller.tenant,
      id,
      () => void request.cancel(cancelledBy(handle, id)),
    )
    let isKept = false
    try {
      const value = await this.#within(request, wait)
      if (value !== elapsed) return { handle, index, total, result: value, isDone: true }
      const late = new HeddleError('HDL_TIMEOUT', { what: handle, limit: wait, stage: 'wait' })
      if (!isSubmit) {
        // Answered, not gone: a poll does not end the work that it asks for.
        this.#late += this.#options.registry.notifyError(handle, index, late, request.id)
        return { handle, index, total, isDone: false }
      }
      opened[Symbol.dispose]()
      isKept = true
      // It holds the work before the request leaves it.
      const answer = this.acknowledge(work, index, caller, ticket)
      if (request.cancel(late)) this.#late++
      return await answer
    } catch (error) {
      throw isError(error, 'HDL_TIMEOUT') ? withStage(error, work.stage) : error
    } finally {
      request[Symbol.dispose]()
      if (!isKept) ticket?.release()
    }
  }

  /** Takes the slot and registers the waiting caller in one step. */
  #enter(work: Computation, index: number, caller: Asking): OpenWait {
    const { handle } = work
    const { disconnect, deadline } = caller
    const arriving: Hold = { request: caller.request }
    // Same order as in `acknowledge`: the superseded request may be the last of this computation.
    work.holds.add(arriving)
    let place: OpenWait | undefined
    try {
      const ticket = this.#take(caller)
      const look = (): Found | Promise<Found> => this.#look(work, index)
      const request = this.#options.registry.open(handle, index, {
        disconnect,
        deadline,
        slot: ticket,
        look,
      })
      place = { request, ticket }
      return place
    } finally {
      work.holds.delete(arriving)
      const outcome = place?.request.outcome
      if (place !== undefined && outcome === undefined) this.#watch(work)
      else if (outcome !== 'success' && outcome !== 'error') {
        this.#options.abandon(work, this.#options.registry.gone(handle).reason)
      }
    }
  }

  /** Delivered and not stored yet, still to come, or stored: one of them sees a completion (W6). */
  #look(work: Computation, index: number): Found | Promise<Found> {
    if (work.results.has(index)) return { value: work.results.get(index)! }
    return work.awaits(index) ? undefined : this.#lookInStore(work, index)
  }

  /** Only results of the second stage leave the work before it ends. */
  async #lookInStore(work: Computation, index: number): Promise<Found> {
    const { handle } = work
    const stored = await this.#options.store.item(handle, index)
    if (stored !== undefined) {
      const { value } = stored
      return {
        value: isEncoded(value) ? value : await encodeResult(value, this.#options.kernel.clock),
      }
    }
    // It is not made a second time because a caller asks late.
    const failure = this.#options.failures.get(itemName(handle, index))
    if (failure !== undefined) throw failure.error
    if (work.isEnded) throw lostResult(handle, index)
    work.ask(index)
    return undefined
  }

  /** Listens for the moment when the last of the current waiters has left. */
  #watch(work: Computation): void {
    const gone = this.#options.registry.gone(work.handle)
    if (work.watched === gone) return
    work.watched = gone
    gone.addEventListener('abort', () => this.#options.abandon(work, gone.reason), { once: true })
  }

  /** *Cancellation*: none of its own: the awaited work has a deadline. */
  async #within(
    request: RegistryRequest<Encoded>,
    wait: number,
  ): Promise<Encoded | typeof elapsed> {
    const { promise, resolve } = Promise.withResolvers<typeof elapsed>()
    const timer = this.#options.kernel.clock.setTimer(wait, () => resolve(elapsed))
    try {
      const first = await Promise.race([request.done, promise])
      // It may have ended in the step in which the time was over.
      return first === elapsed && request.outcome !== undefined ? await request.done : first
    } finally {
      timer.cancel()
    }
  }
}
