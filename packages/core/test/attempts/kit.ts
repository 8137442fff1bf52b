import assert from 'node:assert/strict'
import { Attempt, type Attemptable, type AttemptLimits } from '../../src/attempts/attempt.ts'
import { AttemptRunner, type AttemptHost, type WaitingRoom } from '../../src/attempts/runner.ts'
import { HeddleError } from '../../src/errors.ts'
import { LinkedList, type ListItem } from '../../src/kernel/linked-list.ts'
import type { Random } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'

/** The entry that these tests give to the runner: its attempts end when the test says so. */
export class Entry implements Attemptable, ListItem<Entry> {
  readonly name: string
  readonly limits: AttemptLimits
  attempt = 0
  current: Attempt<Entry> | undefined
  list: object | undefined
  previous: Entry | undefined
  next: Entry | undefined
  order = 0
  /** Permits it has: 0 or 1. */
  held = 0
  end: 'succeeded' | 'failed' | 'cancelled' | undefined
  /** One for each attempt that began. */
  readonly gates: PromiseWithResolvers<unknown>[] = []
  readonly attempts: Attempt<Entry>[] = []
  readonly errors: unknown[] = []
  isRetrying = false
  isElsewhere = false

  constructor(name: string, limits: Partial<AttemptLimits> = {}) {
    this.name = name
    this.limits = { retries: limits.retries ?? 0, timeout: limits.timeout ?? Infinity }
  }

  get gate(): PromiseWithResolvers<unknown> {
    return this.gates.at(-1)!
  }
}

/** One kind of permit, first come first served. It refuses to take back permits that were not taken. */
export class FifoRoom implements WaitingRoom<Entry> {
  readonly line = new LinkedList<Entry>()
  capacity: number
  used = 0
  mostUsed = 0
  #order = 0

  constructor(capacity: number) {
    this.capacity = capacity
  }

  get size(): number {
    return this.line.size
  }

  get mayStart(): boolean {
    return this.line.size > 0 && this.used < this.capacity
  }

  enqueue(entry: Entry): void {
    entry.order = this.#order++
    this.line.push(entry)
  }

  enqueueFirst(entry: Entry): void {
    let older: Entry | undefined
    for (const other of this.line) {
      if (other.order > entry.order) break
      older = other
    }
    this.line.insertAfter(entry, older)
  }

  remove(entry: Entry): void {
    this.line.remove(entry)
  }

  pick(): Entry | undefined {
    if (!this.mayStart) return undefined
    const entry = this.line.first!
    this.#take(entry)
    return entry
  }

  tryPick(entry: Entry): boolean {
    if (this.used >= this.capacity) return false
    this.#take(entry)
    return true
  }

  giveBack(entry: Entry): void {
    assert.equal(entry.held, 1, `A3: ${entry.name} gives back what it has`)
    entry.held = 0
    this.used--
  }

  #take(entry: Entry): void {
    assert.equal(entry.held, 0, `A3: ${entry.name} takes once`)
    entry.held = 1
    this.line.remove(entry)
    this.used++
    this.mostUsed = Math.max(this.mostUsed, this.used)
  }
}

export interface KitOptions {
  readonly permits?: number
  readonly random?: Random
  readonly abortGrace?: number
  readonly retryBaseDelay?: number
}

/** A runner on virtual time that records its reports. */
export class Kit {
  readonly clock = new VirtualClock()
  readonly room: FifoRoom
  readonly runner: AttemptRunner<Entry, Attempt<Entry>>
  /** `a started`, `a retrying`, `a ended succeeded` and so on, in order. */
  readonly reports: string[] = []
  isOpen = true
  mayRetry = true
  #preparing = 0

  constructor(options: KitOptions = {}) {
    const { permits = 1, random = { next: () => 1 }, abortGrace = 100 } = options
    this.room = new FifoRoom(permits)
    this.runner = new AttemptRunner(this.room, this.#host(), {
      kernel: { clock: this.clock, random },
      retryBaseDelay: options.retryBaseDelay ?? 1_000,
      abortGrace,
    })
  }

  submit(entry: Entry): Entry {
    this.room.enqueue(entry)
    this.reports.push(`${entry.name} queued`)
    this.runner.pump()
    return entry
  }

  /** Adds work in slices that goes before the next start. */
  addPreparing(steps: number): void {
    this.#preparing += steps
  }

  async resolve(entry: Entry, value?: unknown): Promise<void> {
    entry.gate.resolve(value)
    await this.clock.settle()
  }

  async reject(entry: Entry, error: unknown = new Error('no')): Promise<void> {
    entry.gate.reject(error)
    await this.clock.settle()
  }

  #end(entry: Entry, how: NonNullable<Entry['end']>): void {
    assert.equal(entry.end, undefined, `A1: ${entry.name} ends once`)
    entry.end = how
    this.reports.push(`${entry.name} ended ${how}`)
  }

  #host(): AttemptHost<Entry, Attempt<Entry>> {
    const isOpen = (): boolean => this.isOpen
    const hasPreparing = (): boolean => this.#preparing > 0
    return {
      get isOpen() {
        return isOpen()
      },
      get hasPreparing() {
        return hasPreparing()
      },
      prepare: () => {
        while (this.#preparing > 0) {
          if (this.runner.isTurnOver(this.clock.now())) return false
          this.#preparing--
        }
        return true
      },
      begin: (entry) => {
        assert.ok(this.isOpen, 'A8: nothing starts while the host is closed')
        assert.equal(entry.current, undefined, 'A2')
        this.reports.push(`${entry.name} started`)
        return new Attempt(entry, this.runner)
      },
      call: (attempt) => {
        const gate = Promise.withResolvers<unknown>()
        attempt.entry.gates.push(gate)
        attempt.entry.attempts.push(attempt)
        return gate.promise
      },
      isElsewhere: (entry) => entry.isElsewhere,
      mayRetry: () => this.mayRetry,
      timeoutError: ({ name, limits }) =>
        new HeddleError('HDL_TIMEOUT', { what: name, limit: limits.timeout }),
      onTimedOut: ({ name }) => void this.reports.push(`${name} timed out`),
      onSucceeded: (entry) => this.#end(entry, 'succeeded'),
      onFailed: (entry, error, _now, isThrown) => {
        entry.errors.push(isThrown ? error : { made: error })
        this.#end(entry, 'failed')
      },
      onCancelled: (entry, reason) => {
        entry.errors.push(reason)
        this.#end(entry, 'cancelled')
      },
      onRetrying: (entry, error, delay) => {
        entry.errors.push(error)
        entry.isRetrying = true
        this.reports.push(`${entry.name} retrying in ${delay}`)
      },
      onBackoffOver: (entry) => {
        entry.isRetrying = false
        this.room.enqueue(entry)
        this.reports.push(`${entry.name} queued`)
      },
      onSuspended: ({ name }) => void this.reports.push(`${name} suspended`),
      onResumed: ({ name }) => void this.reports.push(`${name} resumed`),
      onLog: ({ name }, text) => void this.reports.push(`${name} log ${text}`),
      onProgress: ({ name }, fraction, text) =>
        void this.reports.push(`${name} progress ${fraction} ${text}`),
      onIdle: () => undefined,
    }
  }
}
