/** Computations as operators and their tenants see them: what there is, and why it waits; cancelled, retried or deleted by handle. */
import { HeddleError } from '@heddle/core'
import { waitFor, type WaitOptions } from '@heddle/core/lowlevel'
import type { Computation as ComputationView } from '../client/contract/jobs.ts'
import { commonTenant } from '../http/caller.ts'
import { jobOfHandle } from './handle.ts'
import { findAside, setAsideError, type ServiceState } from './service-state.ts'
import type { Computation } from './computation.ts'

export class Computations {
  readonly #state: ServiceState
  readonly #leave: (work: Computation) => void

  /** @param leave Takes a computation from its handle (W1). */
  constructor(state: ServiceState, leave: (work: Computation) => void) {
    this.#state = state
    this.#leave = leave
  }

  /** Queued and running computations, oldest first, then those that wait for a seat, then those that were set aside. */
  list(tenant: string | undefined): ComputationView[] {
    const isShown = (owner: string): boolean => tenant === undefined || owner === tenant
    const found: ComputationView[] = []
    const now = this.#state.options.kernel.clock.now()
    for (const work of this.#state.works.values()) {
      const { handle, served, tenant: owner, state, priority, total, holds } = work
      if (!isShown(owner) || state === 'done' || state === 'ended') continue
      const waiting = this.#state.registry.active(handle)
      found.push({
        handle,
        job: served.name,
        tenant: owner,
        state,
        priority,
        total,
        waiting,
        held: holds.size > 0,
        age_ms: Math.round(now - work.at),
        ...waitsFor(work.waitsFor ?? (state === 'queued' ? 'its turn' : undefined)),
      })
    }
    const common = { priority: 1, waiting: 0, held: true }
    for (const [handle, { total, tenant: owner }] of this.#state.backlog.handles()) {
      const job = jobOfHandle(handle) ?? ''
      if (!isShown(owner)) continue
      const waits_for = 'a seat: it was acknowledged before the last stop'
      found.push({ ...common, handle, job, tenant: owner, state: 'waiting', total, waits_for })
    }
    const { ledger } = this.#state.options
    for (const { handle, job, tenant: owner = commonTenant, reason } of ledger.queued()) {
      // A caller that asked for it meanwhile has put it into the backlog.
      if (!isShown(owner) || this.#state.backlog.find(handle) !== undefined) continue
      found.push({ ...common, handle, job, tenant: owner, state: 'waiting', waits_for: reason })
    }
    for (const aside of ledger.setAside()) {
      const { handle, job, tenant: owner = commonTenant, state, reason } = aside
      if (!isShown(owner)) continue
      found.push({ ...common, handle, job, tenant: owner, state, waits_for: reason })
    }
    return found
  }

  /**
   * Ends a computation for all its callers. One of another tenant is unknown, also when its job is shared. What was acknowledged
   * has its end in the store when this resolves.
   *
   * *Cancellation*: the signal and the deadline end the wait for the store; the computation is cancelled all the same.
   * @param tenant Undefined for any.
   * @throws `HDL_UNKNOWN_RESULT`; `HDL_NOT_OWNER`, `HDL_OWNERSHIP_LOST` when another server has it now.
   */
  async cancel(
    handle: string,
    tenant: string | undefined,
    by: string,
    options: WaitOptions = {},
  ): Promise<'cancelled' | 'already_done'> {
    await this.#state.options.ledger.waitKnown(handle, options)
    const isOwn = (owner: string): boolean => tenant === undefined || owner === tenant
    const error = new HeddleError('HDL_CANCELLED', { what: handle, source: 'user', by })
    const work = this.#state.works.get(handle)
    if (work !== undefined && isOwn(work.tenant)) {
      for (const hold of work.holds) {
        if (hold.release === undefined) work.holds.delete(hold)
        else hold.release(error)
      }
      this.#state.registry.cancelAllForHandle(handle, error)
      this.#leave(work)
      work.isAbandoned = true
      work.abort(error)
      await this.#endInStore(handle, options)
      return 'cancelled'
    }
    const waiting =
      this.#state.backlog.find(handle) ?? this.#state.options.ledger.findQueued(handle)
    const { tenant: owner = commonTenant } = waiting ?? {}
    if (waiting !== undefined && isOwn(owner)) {
      this.#state.failures.set(handle, { tenant: owner, error })
      const ended = this.#endInStore(handle, options)
      this.#state.backlog.take(handle)
      await ended
      return 'cancelled'
    }
    const aside = findAside(this.#state, handle, isOwn)
    if (aside !== undefined) {
      await this.#state.options.ledger.endSetAside(handle)
      this.#state.failures.set(handle, { tenant: aside.tenant ?? commonTenant, error })
      return 'cancelled'
    }
    const served = this.#state.options.jobs.get(jobOfHandle(handle) ?? '')
    const stored =
      served === undefined ? undefined : await this.#state.options.store.prepared(handle)
    if (stored !== undefined && isOwn(stored.value.tenant ?? commonTenant)) return 'already_done'
    throw new HeddleError('HDL_UNKNOWN_RESULT', { handle })
  }

  async #endInStore(handle: string, options: WaitOptions): Promise<void> {
    const { ledger, kernel } = this.#state.options
    await waitFor(ledger.cancel(handle), 'The store', kernel.clock, options)
  }

  /**
   * Runs a computation that was set aside again, as if it had never been interrupted.
   *
   * *Cancellation*: the signal and the deadline end the wait for the open jobs after a take-over; the write is waited for.
   * @param tenant Undefined for any.
   * @throws `HDL_UNKNOWN_RESULT` when nothing of this handle was set aside; `HDL_GONE` when no job here has its
   * version.
   */
  async retry(
    handle: string,
    tenant: string | undefined,
    options: WaitOptions = {},
  ): Promise<void> {
    await this.#state.options.ledger.waitKnown(handle, options)
    const aside = findAside(
      this.#state,
      handle,
      (owner) => tenant === undefined || owner === tenant,
    )
    if (aside === undefined) throw new HeddleError('HDL_UNKNOWN_RESULT', { handle })
    if (aside.state === 'waiting') throw setAsideError(aside)
    this.#state.failures.delete(handle)
    await this.#state.options.ledger.retry(handle)
  }

  /**
   * Deletes the stored results of a handle; a computation under way is not touched. False when there are none, or when they
   * are those of another tenant.
   *
   * *Cancellation*: none.
   * @param tenant Absent: any.
   */
  async forget(handle: string, tenant?: string): Promise<boolean> {
    const isOwn = (owner: string): boolean => tenant === undefined || owner === tenant
    const failure = this.#state.failures.get(handle)
    if (failure !== undefined && isOwn(failure.tenant)) this.#state.failures.delete(handle)
    const { store } = this.#state.options
    if (tenant !== undefined) {
      const stored = await store.prepared(handle)
      if (stored === undefined || !isOwn(stored.value.tenant ?? commonTenant)) return false
    }
    return store.delete(handle)
  }
}

function waitsFor(why: string | undefined): { readonly waits_for?: string } {
  return why === undefined ? {} : { waits_for: why }
}
