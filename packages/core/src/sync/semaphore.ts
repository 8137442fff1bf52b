/**
 * Permits, in two pools: general ones, and on top of them reserved ones for priority 0.
 *
 *   priority 0      ──▶ general ones first, the rest out of the reserved ones
 *   priority 1 to 9 ──▶ general ones only
 *
 *  S1  Never more permits out than there are, in each pool.
 *  S2  A permit goes back to the pool it came from.
 *  S3  Lower priorities never take a reserved permit, however long they wait.
 *  S4  A waiter of priority 0 takes whatever frees first, in either pool: it is in one line, not in
 *      that of a pool. (The service that this lane comes from chose a pool on entry and then did
 *      not see a permit freed in the other one.)
 *  S5  A caller that is first in order and does not fit holds back every caller behind it, so heavy requests
 *      are not starved by light ones. One exception: when the first is of a lower priority, priority
 *      0 may pass it on reserved permits, which the first could never use.
 *  S6  A caller waits only while permits are out.
 *
 * The order is that of `kernel/rank.ts`: urgent first, with aging, so that a stream of priority 0
 * delays the others by a bounded time. It is fixed on arrival, so nothing has to be checked again
 * while time passes: only a release or a leaving waiter can let a caller in.
 */
import { HeddleError, cancelled } from '../errors.ts'
import { checkCount, type OptionNames } from '../kernel/check.ts'
import type { Clock } from '../kernel/clock.ts'
import { Permits } from '../kernel/permits.ts'
import { WaiterList, type WaitOptions, type Waiter } from '../kernel/waiters.ts'
import { basics, syncOptionNames, type SyncOptions } from './sync-options.ts'
import { Permit } from './permit.ts'
import {
  before,
  checkAging,
  checkPriority,
  firstOf,
  priorityCount,
  rankOf,
  urgentPriority,
  type AgingOptions,
  type PriorityOptions,
  type Ranked,
} from '../kernel/rank.ts'

export interface SemaphoreOptions extends SyncOptions, AgingOptions {
  /** How many permits every priority may take. */
  readonly permits: number
  /** How many there are on top of them, for priority 0 alone. None when absent. */
  readonly reserved?: number | undefined
}

export interface TryAcquireOptions extends PriorityOptions {
  /** How many permits, all or none. 1 when absent. */
  readonly weight?: number | undefined
}

export interface AcquireOptions extends WaitOptions, TryAcquireOptions {}

export interface SemaphoreStats {
  readonly permits: number
  readonly reserved: number
  /** Free general permits. */
  readonly available: number
  /** Free reserved permits. */
  readonly availableReserved: number
  readonly waiting: number
  /** Waiting callers that may use reserved permits. */
  readonly waitingUrgent: number
}

interface Request extends Ranked {
  readonly priority: number
}

const requestOf = (waiter: Waiter<Permit>): Request => waiter.tag as Request

const optionNames = {
  ...syncOptionNames,
  aging: 1,
  permits: 1,
  reserved: 1,
} satisfies OptionNames<SemaphoreOptions>

/**
 * A number of permits, taken by weight and given back.
 *
 * @example
 * const gpu = new Semaphore({ permits: 3, reserved: 1 })
 * {
 *   using permit = await gpu.acquire({ weight: 2, signal, deadline: 5000 })
 *   await infer()
 * }
 * using quick = await gpu.acquire({ priority: 0 }) // may use the reserved one
 */
export class Semaphore {
  readonly #what: string
  readonly #clock: Clock
  readonly #maxWaiters: number
  readonly #aging: number
  readonly #permits: Permits
  readonly #lines: (WaiterList<Permit> | undefined)[] = Array.from({ length: priorityCount })
  #order = 0

  constructor(options: SemaphoreOptions) {
    const { what, kernel, maxWaiters } = basics('Semaphore', options, optionNames)
    this.#what = what
    this.#clock = kernel.clock
    this.#maxWaiters = maxWaiters
    this.#aging = checkAging(options.aging)
    this.#permits = new Permits(
      checkCount('permits', options.permits),
      checkCount('reserved', options.reserved ?? 0, 0),
    )
  }

  /**
   * Waits until the permits are free.
   *
   * *Cancellation*: an aborted or late caller loses its place, and callers that it held back go in at
   * once. Permits given before the abort are kept and must be released.
   * *Fairness*: priority 0 first, with aging; inside a priority first come, first served.
   *
   * @throws `HDL_WOULD_DEADLOCK` when there could never be enough permits.
   */
  async acquire(options: AcquireOptions = {}): Promise<Permit> {
    const { signal } = options
    const { weight, priority } = this.#check(options)
    if (signal?.aborted) throw cancelled(this.#what, signal.reason)
    const request = this.#request(priority)
    const permit = this.#claim(weight, request)
    if (permit !== undefined) return permit
    if (this.#waiting() >= this.#maxWaiters) {
      throw new HeddleError('HDL_TOO_MANY_WAITERS', { what: this.#what, limit: this.#maxWaiters })
    }
    return this.#line(priority).wait(this.#what, options, weight, request)
  }

  /**
   * Takes the permits when they are free and no other caller is before this one; undefined otherwise.
   *
   * @throws `HDL_WOULD_DEADLOCK` when there could never be enough permits.
   */
  tryAcquire(options: TryAcquireOptions = {}): Permit | undefined {
    const { weight, priority } = this.#check(options)
    return this.#claim(weight, this.#request(priority))
  }

  stats(): SemaphoreStats {
    return {
      permits: this.#permits.capacity,
      reserved: this.#permits.reserved,
      available: this.#permits.free,
      availableReserved: this.#permits.freeReserved,
      waiting: this.#waiting(),
      waitingUrgent: this.#lines[urgentPriority]?.size ?? 0,
    }
  }

  #check(options: TryAcquireOptions): { weight: number; priority: number } {
    const weight = checkCount('weight', options.weight ?? 1)
    const priority = checkPriority(options.priority)
    const urgent = priority === urgentPriority
    if (!this.#permits.canEverHave(weight, urgent)) {
      const capacity = this.#permits.capacity + (urgent ? this.#permits.reserved : 0)
      throw new HeddleError('HDL_WOULD_DEADLOCK', { what: this.#what, needed: weight, capacity })
    }
    return { weight, priority }
  }

  #request(priority: number): Request {
    const rank = rankOf(priority, this.#clock.now(), this.#aging)
    return { priority, rank, order: this.#order++ }
  }

  /** Claims for a caller that comes now, behind the waiting ones. */
  #claim(weight: number, request: Request): Permit | undefined {
    const head = firstOf(this.#lines, requestOf)
    if (head === undefined || before(request, requestOf(head))) {
      return this.#take(weight, request.priority)
    }
    const mayPass = request.priority === urgentPriority && !this.#lines[urgentPriority]?.size
    return mayPass ? this.#takeReserved(weight) : undefined
  }

  #take(weight: number, priority: number): Permit | undefined {
    const urgent = priority === urgentPriority
    if (!this.#permits.hasRoom(weight, urgent)) return undefined
    return new Permit(this.#giveBack, weight, this.#permits.take(weight, urgent))
  }

  #takeReserved(weight: number): Permit | undefined {
    if (!this.#permits.hasReservedRoom(weight)) return undefined
    return new Permit(this.#giveBack, weight, this.#permits.take(weight, true, true))
  }

  /** Serves every caller that can be served now. */
  #serve(): void {
    for (let head = firstOf(this.#lines, requestOf); head; head = firstOf(this.#lines, requestOf)) {
      let served = head
      let permit = this.#take(head.weight, requestOf(head).priority)
      if (permit === undefined) {
        const urgent = this.#lines[urgentPriority]?.first
        if (urgent === undefined || urgent === head) return
        served = urgent
        permit = this.#takeReserved(urgent.weight)
        if (permit === undefined) return
      }
      if (!served.wake(permit)) this.#putBack(permit)
    }
  }

  #putBack(permit: Permit): void {
    this.#permits.giveBack(permit.weight, permit.reserved)
  }

  readonly #giveBack = (permit: Permit): void => {
    this.#putBack(permit)
    this.#serve()
  }

  #line(priority: number): WaiterList<Permit> {
    let line = this.#lines[priority]
    if (line === undefined) {
      line = new WaiterList(this.#clock)
      line.onLeave = () => this.#serve()
      this.#lines[priority] = line
    }
    return line
  }

  #waiting(): number {
    let count = 0
    for (const line of this.#lines) count += line?.size ?? 0
    return count
  }
}
