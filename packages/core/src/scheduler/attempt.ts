import { HeddleError } from '../errors.ts'
import type { Due } from '../kernel/deadlines.ts'
import type { ListItem } from '../kernel/linked-list.ts'
import type { Node } from './node.ts'

/** What the callback of {@link Scheduler.run} is given besides the name. */
export interface NodeContext {
  readonly name: string
  /** Counts from 0, as in the back-off formula. */
  readonly attempt: number
  /** Aborts at the attempt's timeout, on hard cancel, and when the node is removed. Made on first use. */
  readonly signal: AbortSignal
  /** Whether the signal has aborted, without the cost of making one. */
  readonly cancelled: boolean
  /**
   * What a dependency's callback returned.
   * @throws `HDL_NOT_A_DEPENDENCY`.
   */
  readonly resultOf: (name: string) => unknown
  /** Tells observers something about this attempt. */
  readonly log: (text: string) => void
}

/**
 * The context as the parts of Heddle see it that run jobs for the scheduler.
 * Not for callbacks: a callback must not be able to make itself unstoppable.
 */
export interface RunnerContext extends NodeContext {
  /**
   * From here on neither a timeout nor a cancel ends the attempt, only its own promise does: for the
   * moment in which the outcome of finished work is recorded. False when it has been aborted already.
   */
  shield(): boolean
  /** The work waits for something that is not its own, such as a thread: its timeout stops. */
  queued(): void
  /** It runs now: its timeout starts. */
  started(): void
}

/** What attempts ask of the scheduler. */
export interface AttemptHost {
  log(attempt: Attempt, text: string): void
  dependenciesOf(node: Node): ReadonlyMap<string, Node>
  stopTimeout(attempt: Attempt): void
  startTimeout(attempt: Attempt): void
}

/**
 * One call of the user's function for one node.
 *
 * It is context, list entry and deadline entry in one object: a run of a million short nodes then
 * allocates one object per attempt here, and an AbortController only for those who ask.
 */
export class Attempt implements RunnerContext, ListItem<Attempt>, Due {
  readonly node: Node
  readonly attempt: number
  readonly #host: AttemptHost
  #dependencies: ReadonlyMap<string, Node> | undefined
  #controller: AbortController | undefined
  #reason: unknown
  #aborted = false
  #shielded = false
  /** Ended by something else than its own promise: what that promise does later is ignored. */
  abandoned = false
  // In the list of running attempts.
  list: object | undefined
  previous: Attempt | undefined
  next: Attempt | undefined
  // In the deadlines, once it has outlived the turn in which it began.
  armed = false
  heapIndex = -1
  dueAt = 0

  constructor(node: Node, host: AttemptHost) {
    this.node = node
    this.attempt = node.attempt
    this.#host = host
  }

  get name(): string {
    return this.node.name
  }

  get cancelled(): boolean {
    return this.#aborted
  }

  get shielded(): boolean {
    return this.#shielded
  }

  get reason(): unknown {
    return this.#reason
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  // The next two can be taken out of the context (`{ log }`), like functions. Getters, because two
  // closures per attempt would cost more than the rest of it.
  get resultOf(): (name: string) => unknown {
    return (name) => this.#resultOf(name)
  }

  get log(): (text: string) => void {
    return (text) => this.#host.log(this, text)
  }

  #resultOf(name: string): unknown {
    // Once per attempt: a node that collects 10,000 results asks 10,000 times.
    this.#dependencies ??= this.#host.dependenciesOf(this.node)
    const dependency = this.#dependencies.get(name)
    if (dependency === undefined) {
      throw new HeddleError('HDL_NOT_A_DEPENDENCY', { node: this.name, dependency: name })
    }
    return dependency.value
  }

  shield(): boolean {
    this.#shielded = !this.#aborted
    return this.#shielded
  }

  queued(): void {
    this.#host.stopTimeout(this)
  }

  started(): void {
    this.#host.startTimeout(this)
  }

  /** The first reason stays: a job cancelled after its timeout has timed out. */
  abort(reason: unknown): void {
    if (this.#aborted) return
    this.#aborted = true
    this.#reason = reason
    this.#controller?.abort(reason)
  }
}
