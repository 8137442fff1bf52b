import { channel } from 'node:diagnostics_channel'
import { describe } from '../errors.ts'
import type { PlaceName } from '../graph/job.ts'
import type { NodeState } from './node.ts'
import type { RunResult } from './result.ts'

/** `draining` = cancelled gracefully: running jobs may finish, nothing new starts. */
export type RunState = 'idle' | 'running' | 'paused' | 'draining' | 'finished' | 'cancelled'

/** A node has changed its state. */
export interface NodeEvent {
  readonly type: 'node'
  readonly at: number
  readonly name: string
  readonly state: NodeState
  readonly attempt: number
  /** Why it failed, is retried, or was cancelled. */
  readonly error?: unknown
  /** Milliseconds until the next attempt, when retrying. */
  readonly delay?: number
  /** The failed or removed dependency, when blocked. */
  readonly blockedBy?: string
}

/** A node that has joined a run which was under way. */
export interface JoinedNode {
  readonly name: string
  readonly job: string
  readonly place: PlaceName
  readonly after: readonly string[]
}

/** An event of a run. `at` is on the clock's monotonic scale. */
export type RunEvent =
  | { readonly type: 'start'; readonly at: number; readonly nodes: number }
  | { readonly type: 'state'; readonly at: number; readonly state: RunState }
  | NodeEvent
  | {
      /** A part of a node: an element of a map, or a step of a job. */
      readonly type: 'part'
      readonly at: number
      /** The node. */
      readonly name: string
      /** `[12]` for an element, `run:pay#0` for a step. */
      readonly path: string
      readonly state: NodeState
      readonly attempt: number
      readonly error?: unknown
      readonly delay?: number
    }
  | {
      /** Nodes of a sub-graph have joined the run. */
      readonly type: 'nodes'
      readonly at: number
      /** The sub-graph. */
      readonly name: string
      readonly added: readonly JoinedNode[]
    }
  | {
      /** A job said something: ctx.log(). */
      readonly type: 'log'
      readonly at: number
      readonly name: string
      readonly attempt: number
      readonly text: string
    }
  | {
      /** How far a job has come: ctx.progress(). */
      readonly type: 'progress'
      readonly at: number
      readonly name: string
      readonly attempt: number
      /** The progress from 0 to 1. */
      readonly fraction: number
      readonly text?: string
    }
  | { readonly type: 'complete'; readonly at: number; readonly result: RunResult }

/** Called with every event, in order, on the loop. What it throws changes nothing. */
export type Observer = (event: RunEvent) => void

/** Every event of every run: `diagnostics_channel.subscribe('heddle:run', …)`. Free without subscribers. */
const runChannel = channel('heddle:run')

/** Observers that cannot disturb the run (P12): each failing one is reported once. */
export class Observers {
  /** Replaced, not changed: an observer may add or remove one while it is being notified. */
  #observers: readonly { readonly tell: Observer }[]
  readonly #reported = new WeakSet<Observer>()

  constructor(observers: readonly Observer[]) {
    this.#observers = observers.map((tell) => ({ tell }))
  }

  /** Whether there is a listener: callers make an event only then. */
  get wanted(): boolean {
    return this.#observers.length > 0 || runChannel.hasSubscribers
  }

  add(observer: Observer): Disposable {
    // An entry of its own: the same function may be added twice.
    const entry = { tell: observer }
    this.#observers = [...this.#observers, entry]
    return {
      [Symbol.dispose]: () => {
        this.#observers = this.#observers.filter((other) => other !== entry)
      },
    }
  }

  emit(event: RunEvent): void {
    const observers = this.#observers
    // Three times for each node: an iterator would cost as much as telling one of them.
    for (let index = 0; index < observers.length; index++) {
      const observer = observers[index]!.tell
      try {
        const returned: unknown = observer(event)
        if (returned instanceof Promise) returned.catch((error) => this.#report(observer, error))
      } catch (error) {
        this.#report(observer, error)
      }
    }
    if (runChannel.hasSubscribers) runChannel.publish(event)
  }

  #report(observer: Observer, error: unknown): void {
    if (this.#reported.has(observer)) return
    this.#reported.add(observer)
    process.emitWarning(`An observer of a run failed; the run continues: ${describe(error)}`, {
      type: 'HeddleWarning',
      code: 'HDL_OBSERVER_FAILED',
    })
  }
}
