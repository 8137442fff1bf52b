/** Results by their handle: of a computation under way, of the store, or of a job in the backlog. */
import type { Context } from '@opentelemetry/api'
import { HeddleError, isError } from '@heddle/core'
import type { WaitOptions } from '@heddle/core/lowlevel'
import { commonTenant } from '../http/caller.ts'
import type { Listed } from './jobs-backlog.ts'
import { encodeResult, isEncoded, type Encoded } from './encoded.ts'
import { itemName, jobOfHandle } from './handle.ts'
import { findJob } from './job-table.ts'
import { checkIndex, draining, evictedResult, withStage } from './job-errors.ts'
import { findAside, mayRead, setAsideError, type ServiceState } from './service-state.ts'
import type { Answer, Asking, Waiting } from './waiting.ts'
import { Computation } from './computation.ts'

export interface ResultsMeans {
  readonly waiting: Waiting
  /** Starts a computation that has no seat: its first stage is stored. */
  readonly start: (work: Computation, trace: Context | undefined) => Computation
  /** Whether the deadline of a drain has passed. */
  readonly isOver: () => boolean
}

export class Results {
  readonly #state: ServiceState
  readonly #means: ResultsMeans

  constructor(state: ServiceState, means: ResultsMeans) {
    this.#state = state
    this.#means = means
  }

  /**
   * Waits for a result by its handle. One that has left the store is made again from its first stage.
   *
   * *Cancellation*: as a submit; after `wait` it gets the answer that there is no result yet, and holds nothing.
   * *Fairness*: as the dispatcher: by priority with aging, else first come, first served.
   * @throws `HDL_UNKNOWN_RESULT`, and the errors of a submit.
   */
  async read(handle: string, index: number, caller: Asking): Promise<Answer> {
    try {
      const found = await (this.#ofWork(handle, index, caller) ??
        this.#ofStore(handle, index, caller))
      if (found !== undefined) return found
      const { disconnect: signal, deadline } = caller
      const { ledger } = this.#state.options
      if (await ledger.waitKnown(handle, { signal, deadline })) {
        return await this.read(handle, index, caller)
      }
      return (
        // It may have been submitted while the store was read. Both in one step: what leaves the backlog
        // is work already.
        (await (this.#ofWork(handle, index, caller) ?? this.#ofBacklog(handle, index, caller))) ??
        (await this.#unknown(handle, caller.tenant))
      )
    } catch (error) {
      // The store took too long.
      throw isError(error, 'HDL_TIMEOUT') ? withStage(error, 'request') : error
    }
  }

  /**
   * A result in memory, in the same step: most frequent requests. Undefined when {@link read} has to search for it.
   *
   * @throws `HDL_NO_SUCH_INDEX`.
   */
  tryRead(handle: string, index: number, tenant: string): Answer | undefined {
    const { options, works } = this.#state
    const served = works.has(handle) ? undefined : options.jobs.get(jobOfHandle(handle) ?? '')
    const prepared = served && options.store.tryPrepared(handle)
    if (prepared === undefined) return undefined
    const { total, value, tenant: owner = commonTenant } = prepared
    if (!mayRead(this.#state, handle, owner, tenant)) return undefined
    checkIndex(handle, index, total)
    const hasItems = served!.item !== undefined
    const result = hasItems ? options.store.tryItem(handle, index)?.value : value
    return isEncoded(result) ? { handle, index, total, result, isDone: true } : undefined
  }

  /**
   * Whether a tenant may read what belongs to a computation: its results, and the files that its jobs leave. False for a handle
   * that is not known here.
   *
   * *Cancellation*: the signal and the deadline end the wait for the open jobs after a take-over.
   */
  async mayRead(handle: string, tenant: string, limits: WaitOptions = {}): Promise<boolean> {
    const { options, works, backlog, failures } = this.#state
    await options.ledger.waitKnown(handle, limits)
    const known = works.get(handle) ?? backlog.find(handle) ?? failures.get(handle)
    if (known !== undefined) return mayRead(this.#state, handle, known.tenant, tenant)
    if (options.jobs.get(jobOfHandle(handle) ?? '') === undefined) return false
    const stored = await options.store.prepared(handle)
    if (stored !== undefined) {
      return mayRead(this.#state, handle, stored.value.tenant ?? commonTenant, tenant)
    }
    const queued = options.ledger.findQueued(handle)
    if (queued !== undefined) {
      return mayRead(this.#state, handle, queued.tenant ?? commonTenant, tenant)
    }
    const isOwn = (owner: string): boolean => mayRead(this.#state, handle, owner, tenant)
    if (findAside(this.#state, handle, isOwn) !== undefined) return true
    return this.#wasPromised(handle, tenant)
  }

  #ofWork(handle: string, index: number, caller: Asking): Promise<Answer> | undefined {
    const work = this.#state.works.get(handle)
    if (work === undefined || !mayRead(this.#state, work.handle, work.tenant, caller.tenant))
      return undefined
    checkIndex(handle, index, work.total)
    return this.#means.waiting.wait(work, index, caller, false)
  }

  async #ofStore(handle: string, index: number, caller: Asking): Promise<Answer | undefined> {
    const { store, jobs } = this.#state.options
    const served = jobs.get(jobOfHandle(handle) ?? '')
    const options = { signal: caller.disconnect, deadline: caller.deadline }
    const prepared = served === undefined ? undefined : await store.prepared(handle, options)
    if (served === undefined || prepared === undefined) return undefined
    const { total, value, tenant = commonTenant } = prepared.value
    if (!mayRead(this.#state, handle, tenant, caller.tenant)) return undefined
    checkIndex(handle, index, total)
    if (served.item === undefined)
      return { handle, index, total, result: await this.#asEncoded(value), isDone: true }
    const stored = await store.item(handle, index, options)
    if (stored !== undefined) {
      const result = await this.#asEncoded(stored.value)
      return { handle, index, total, result, isDone: true }
    }
    const failure = this.#state.failures.get(itemName(handle, index))
    if (failure !== undefined) throw failure.error
    if (this.#means.isOver()) throw draining()
    const at = this.#state.options.kernel.clock.now()
    const work =
      this.#state.works.get(handle) ??
      this.#means.start(
        new Computation({ served, handle, tenant, total, priority: 0, at }),
        caller.trace,
      )
    return this.#means.waiting.wait(work, index, caller, false)
  }

  /** A value stored before results were kept as bytes is encoded when it is read. */
  #asEncoded(value: unknown): Encoded | Promise<Encoded> {
    return isEncoded(value) ? value : encodeResult(value, this.#state.options.kernel.clock)
  }

  /** It was acknowledged, and its turn has not come. */
  #listQueued(handle: string): Listed | undefined {
    const { ledger, jobs } = this.#state.options
    const queued = ledger.findQueued(handle)
    if (queued === undefined) return undefined
    const { job, input, tenant = commonTenant } = queued
    this.#state.backlog.list(handle, findJob(jobs, job).totalOf(input), tenant)
    return this.#state.backlog.find(handle)
  }

  /** Waits until it is worked on; after `wait` it is pending. */
  async #ofBacklog(handle: string, index: number, caller: Asking): Promise<Answer | undefined> {
    const listed = this.#state.backlog.find(handle) ?? this.#listQueued(handle)
    if (listed === undefined || !mayRead(this.#state, handle, listed.tenant, caller.tenant))
      return undefined
    const { total } = listed
    checkIndex(handle, index, total)
    const { disconnect: signal, wait, deadline } = caller
    const { clock } = this.#state.options.kernel
    const since = clock.now()
    const limit = Math.min(wait, deadline)
    const isTaken =
      limit > 0 && (await this.#state.backlog.waitTaken(handle, { signal, deadline: limit }))
    if (this.#state.backlog.isClosed && this.#state.backlog.find(handle) !== undefined)
      throw draining()
    if (!isTaken) return { handle, index, total, isDone: false }
    const passed = clock.now() - since
    const rest = { wait: Math.max(0, wait - passed), deadline: Math.max(1, deadline - passed) }
    return this.read(handle, index, { ...caller, ...rest })
  }

  async #unknown(handle: string, tenant: string): Promise<never> {
    const failure = this.#state.failures.get(handle)
    if (failure !== undefined && mayRead(this.#state, handle, failure.tenant, tenant))
      throw failure.error
    const aside = findAside(this.#state, handle, (owner) =>
      mayRead(this.#state, handle, owner, tenant),
    )
    if (aside !== undefined) throw setAsideError(aside)
    // It was stored, and was evicted: submitting it again computes it again.
    if (await this.#wasPromised(handle, tenant)) throw evictedResult(handle)
    throw new HeddleError('HDL_UNKNOWN_RESULT', { handle })
  }

  async #wasPromised(handle: string, tenant: string): Promise<boolean> {
    const { ledger, jobs } = this.#state.options
    const served = jobs.get(jobOfHandle(handle) ?? '')
    if (served === undefined) return false
    const promised = this.#state.promised.get(handle)
    if (promised !== undefined) return mayRead(this.#state, handle, promised, tenant)
    return ledger.wasPromised(handle, served.isShared ? undefined : tenant)
  }
}
