/**
 * What one handle names: its state, and the requests that hold it.
 *
 *   looking ── nothing stored ─▶ queued ─▶ preparing ─▶ making ─▶ done
 *      │                                                 ▲
 *      └── prepared was stored, results are missing ─────┘      any ─▶ ended: failed or abandoned
 *
 * The state is for people and for errors; what happens next is decided by ComputationRunner.run(), which takes a
 * computation from its lookup to its end.
 */
import type { AdmittedTask } from '@heddle/core/lowlevel'
import type { HeddleError } from '@heddle/core'
import type { Encoded } from './encoded.ts'
import type { LedgerEntry } from './ledger.ts'
import type { WorkSpans } from '../tracing/work-spans.ts'
import type { ServedJob } from './served-job.ts'
import { Story } from './story.ts'
import type { Family } from './supersets.ts'

export type ComputationState = 'looking' | 'queued' | 'preparing' | 'making' | 'done' | 'ended'

/** A caller that was promised a result without waiting for it. */
export interface Hold {
  readonly request: string
  /** Why it was lost before the end of the work. */
  lostBy?: HeddleError
  /** Releases the hold, with the slot and the id of its request. Absent after a restart, when it has neither. */
  release?: (lostBy: HeddleError) => void
}

export interface NewComputation {
  readonly served: ServedJob
  /** Absent when only results are made, from the stored stage. */
  readonly submitted?: Submitted | undefined
  readonly handle: string
  /** Tenant of the work: others may neither read nor cancel it, unless the job is shared; then they may read it. */
  readonly tenant: string
  readonly total: number
  readonly priority: number
  /** When it was taken, on the monotonic clock. */
  readonly at: number
  /** Waited for before the code of the job runs: it was acknowledged in an earlier life. */
  readonly begin?: (() => Promise<void>) | undefined
  readonly family?: Family | undefined
}

/** In an object, because `undefined` and null are inputs too. */
export interface Submitted {
  readonly input: unknown
}

export class Computation implements NewComputation {
  readonly served: ServedJob
  readonly handle: string
  readonly tenant: string
  readonly total: number
  readonly at: number
  readonly begin: (() => Promise<void>) | undefined
  /** Which other inputs it answers for. */
  readonly family: Family | undefined
  submitted: Submitted | undefined
  priority: number
  /** Stored results do not count: a caller has requested a new computation. */
  isForced = false
  /** It was ended because no caller wants it; its handle may have another work by now. */
  isAbandoned = false
  /** Something could not be stored: not all of it will be found again. */
  hasUnstored = false
  /** Why the store did not take something. */
  unstored: Error | undefined
  state: ComputationState = 'looking'
  /** Delivered and not stored yet (W6). */
  readonly results = new Map<number, Encoded>()
  /** Asked for by a caller, which gets the error when the work fails. */
  readonly asked = new Set<number>()
  readonly holds = new Set<Hold>()
  ledger: Promise<LedgerEntry> | undefined
  /** For acknowledged work that no caller wants any more: when its end is in the store. */
  endedInStore: Promise<void> | undefined
  /** What has happened to its stages so far. */
  readonly story = new Story()
  /** Undefined where nothing is traced. */
  spans: WorkSpans | undefined
  /** The signal of the current waiters; it aborts when the last has left. */
  watched: AbortSignal | undefined
  readonly #controller = new AbortController()
  readonly #looked = Promise.withResolvers<'stored' | 'missing'>()
  readonly #ended = Promise.withResolvers<void>()
  /** Its queued and running tasks. */
  readonly #tasks = new Set<AdmittedTask<unknown>>()
  /** Results that are wanted before the others, in the order in which they were asked for. */
  readonly #urgent = new Set<number>()
  readonly #taken = new Set<number>()
  readonly #making = new Set<number>()
  #error: unknown
  /** From here on, to the oldest, all are made that were not; none while no caller has submitted it. */
  #next: number

  constructor(work: NewComputation) {
    const { served, submitted, handle, tenant, total, priority, at, begin, family } = work
    this.at = at
    this.begin = begin
    this.family = family
    this.served = served
    this.submitted = submitted
    this.handle = handle
    this.tenant = tenant
    this.total = total
    this.priority = priority
    this.#next = submitted === undefined ? -total : 0
  }

  /** Whether all results are made, not only the requested ones. */
  get isWhole(): boolean {
    return this.submitted !== undefined
  }

  /** A caller has submitted what only results were asked of so far. */
  complete(submitted: Submitted): void {
    if (this.submitted !== undefined) return
    this.submitted = submitted
    this.#next = 0
    this.onMore?.()
  }

  /** Why it does not run: what its job lacks, or why the place of its job has not started it. */
  get waitsFor(): string | undefined {
    for (const { waitsFor } of this.#tasks) if (waitsFor !== undefined) return waitsFor
    return undefined
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get isEnded(): boolean {
    return this.state === 'done' || this.state === 'ended'
  }

  /** Whether everything was stored before. Rejects when the work ended before that was known. */
  get looked(): Promise<'stored' | 'missing'> {
    return this.#looked.promise
  }

  /** Resolves at the end, however it ends. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  /** In which stage a request for this result is that runs out of time. */
  get stage(): 'request' | 'queue' | 'prepare' | 'item' {
    switch (this.state) {
      case 'queued':
        return 'queue'
      case 'preparing':
        return 'prepare'
      case 'making':
        return 'item'
      case 'looking':
      case 'done':
      case 'ended':
        return 'request'
    }
  }

  /** Whether this result is being made or is still to be made. A caller waits for it from now on. */
  awaits(index: number): boolean {
    this.asked.add(index)
    if (this.#making.has(index)) return true
    if (this.#taken.has(index)) return false
    this.ask(index)
    return true
  }

  /** A caller waits for this result: it is made before the others, also if it was made before. */
  ask(index: number): void {
    if (this.#making.has(index)) return
    this.#urgent.add(index)
    this.onMore?.()
  }

  /** Whether there is a result to make that is not being made yet: one that was asked for, or one of all. */
  get hasMore(): boolean {
    return this.#urgent.size > 0 || this.#next > -this.total
  }

  /** Whether a caller asked for a result that is not being made yet. */
  get isAsked(): boolean {
    return this.#urgent.size > 0
  }

  /** Called when a caller asks for more. */
  onMore: (() => void) | undefined

  /** The next result to make: requested ones first, then from the newest to the oldest. */
  take(): number | undefined {
    const [urgent] = this.#urgent
    if (urgent !== undefined) return this.#claim(urgent)
    while (this.#next > -this.total) {
      const index = this.#next--
      if (!this.#taken.has(index)) return this.#claim(index)
    }
    return undefined
  }

  /** Delivered, and stored if that was possible. */
  made(index: number): void {
    this.#making.delete(index)
    this.results.delete(index)
  }

  /** Gives queued work a higher priority (W9). */
  raise(priority: number): void {
    if (priority >= this.priority) return
    this.priority = priority
    for (const task of this.#tasks) task.move(priority)
  }

  /** Waits for something that was started for it, and moves it with the work (W9). *Cancellation*: that of the task. */
  async follow<T>(task: AdmittedTask<T>): Promise<T> {
    // It may have been raised since the seat of the task was taken.
    if (this.priority < task.priority) task.move(this.priority)
    this.#tasks.add(task)
    try {
      return await task.done
    } finally {
      this.#tasks.delete(task)
    }
  }

  sayLooked(what: 'stored' | 'missing'): void {
    this.#looked.resolve(what)
  }

  /** The signal of everything it has started. */
  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  /** Why it has ended; undefined when it is done. */
  get error(): unknown {
    return this.#error
  }

  end(state: 'done' | 'ended', error?: unknown): void {
    this.state = state
    this.#error = error
    this.#looked.promise.catch(() => undefined)
    this.#looked.reject(error)
    this.#ended.resolve()
  }

  #claim(index: number): number {
    this.#urgent.delete(index)
    this.#taken.add(index)
    this.#making.add(index)
    return index
  }
}
