/**
 * The work behind one handle, and who holds on to it.
 *
 *   looking ── nothing stored ─▶ queued ─▶ preparing ─▶ making ─▶ done
 *      │                                                 ▲
 *      └── prepared was stored, results are missing ─────┘      any ─▶ ended: failed or abandoned
 *
 * The state is for people and for errors; what happens next is decided by the service's one function
 * that runs a work from its start to its end.
 */
import type { AdmittedTask } from '@heddle/core/lowlevel'
import type { LedgerEntry } from './ledger.ts'
import type { ServedJob } from './served-job.ts'

export type WorkState = 'looking' | 'queued' | 'preparing' | 'making' | 'done' | 'ended'

/** Somebody who was promised a result without waiting for it. */
export interface Hold {
  readonly request: string
}

export interface NewWork {
  readonly served: ServedJob
  /** Undefined when only results are made from what is stored. */
  readonly input: unknown
  readonly handle: string
  readonly total: number
  readonly priority: number
}

export class Work implements NewWork {
  readonly served: ServedJob
  readonly input: unknown
  readonly handle: string
  readonly total: number
  priority: number
  state: WorkState = 'looking'
  /** Told and not stored yet (W6). */
  readonly results = new Map<number, unknown>()
  /** Asked for by somebody: who is told when the work fails. */
  readonly asked = new Set<number>()
  readonly holds = new Set<Hold>()
  /** The first stage while it is queued or runs. */
  task: AdmittedTask<unknown> | undefined
  ledger: Promise<LedgerEntry> | undefined
  /** The signal of those who wait now; it aborts when the last has left. */
  watched: AbortSignal | undefined
  readonly #controller = new AbortController()
  readonly #looked = Promise.withResolvers<'stored' | 'missing'>()
  readonly #ended = Promise.withResolvers<void>()
  /** Results that are wanted before the others. */
  readonly #urgent: number[] = []
  readonly #taken = new Set<number>()
  readonly #making = new Set<number>()
  /** All results are made, not only those that are asked for. */
  readonly isWhole: boolean
  #next: number

  constructor({ served, input, handle, total, priority }: NewWork, isWhole: boolean) {
    this.served = served
    this.input = input
    this.handle = handle
    this.total = total
    this.priority = priority
    this.isWhole = isWhole
    this.#next = isWhole ? 0 : -total
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

  /** Whether this result is being made or is still to be made. Somebody waits for it from now on. */
  awaits(index: number): boolean {
    this.asked.add(index)
    if (this.#making.has(index)) return true
    if (this.#taken.has(index)) return false
    this.ask(index)
    return true
  }

  /** Somebody waits for this result: it is made before the others, also if it was made before. */
  ask(index: number): void {
    if (!this.#making.has(index)) this.#urgent.push(index)
  }

  /** Whether somebody asked for a result that nobody makes yet. */
  get isAsked(): boolean {
    return this.#urgent.length > 0
  }

  /** The next result to make: those that are asked for, then from the newest to the oldest. */
  take(): number | undefined {
    for (let index = this.#urgent.shift(); index !== undefined; index = this.#urgent.shift()) {
      if (!this.#making.has(index)) return this.#claim(index)
    }
    while (this.#next > -this.total) {
      const index = this.#next--
      if (!this.#taken.has(index)) return this.#claim(index)
    }
    return undefined
  }

  /** Told, and stored if that was possible. */
  made(index: number): void {
    this.#making.delete(index)
    this.results.delete(index)
  }

  /** Gives queued work a higher priority (W9). */
  raise(priority: number): void {
    if (priority >= this.priority) return
    this.priority = priority
    this.task?.move(priority)
  }

  sayLooked(what: 'stored' | 'missing'): void {
    this.#looked.resolve(what)
  }

  /** The signal of everything it has started. */
  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  end(state: 'done' | 'ended', error?: unknown): void {
    this.state = state
    this.#looked.promise.catch(() => undefined)
    this.#looked.reject(error)
    this.#ended.resolve()
  }

  #claim(index: number): number {
    this.#taken.add(index)
    this.#making.add(index)
    return index
  }
}
