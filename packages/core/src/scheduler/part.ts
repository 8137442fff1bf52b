/**
 * Parts of nodes: elements of maps and steps of jobs (docs/design/growing.md).
 *
 *   start() ─▶ ready ─▶ running ◀─▶ suspended
 *                ▲         ├─▶ succeeded | failed | cancelled
 *                │         └─▶ retrying ─┐
 *                └───────────────────────┘       ready, retrying ─▶ skipped, when it is stopped or the run drains
 *
 * A part is an entry of the attempt runner like a node, but it is in no list of nodes: nothing is left of it when it has
 * ended. Its end is reported once, to `onEnd`.
 */
import type { AttemptLimits } from '../attempts/attempt.ts'
import { joinPath } from '../attempts/part-path.ts'
import type { AttemptRunner } from '../attempts/runner.ts'
import type { Lane } from '../capacity/lane.ts'
import type { PlacePermits } from '../capacity/lane-table.ts'
import type { Lanes } from '../capacity/lanes.ts'
import type { Needs } from '../graph/job.ts'
import { soon } from '../kernel/clock.ts'
import { Roster } from '../kernel/roster.ts'
import type { NodeAttempt } from './node-attempt.ts'
import { Node, cancelled, failed, move, ready, retrying, skipped, succeeded } from './node.ts'

/** How a part ended. */
export type PartEnd =
  | { readonly state: 'succeeded'; readonly value: unknown }
  | { readonly state: 'failed' | 'cancelled' | 'skipped'; readonly error: unknown }

export interface PartOptions {
  /** `[12]`, `run:pay#0`: see docs/design/growing.md. */
  readonly path: string
  readonly needs?: Needs | undefined
  readonly place?: PlacePermits | undefined
  readonly priority?: number | undefined
  readonly retries?: number | undefined
  readonly retryBaseDelay?: number | undefined
  readonly timeout?: number | undefined
  readonly kind: 'element' | 'step'
  /** Its record from an earlier process. The scheduler does not read it: its owner finds it here again. */
  readonly past?: readonly unknown[] | undefined
  call(attempt: NodeAttempt): unknown
  /** An attempt of it has failed, and it waits for the next one. */
  onRetrying?(): void
  /** `now`: as the scheduler dates it. */
  onEnd(end: PartEnd, now: number): void
}

export class Part extends Node {
  /** The attempt that has started it. */
  readonly starter: NodeAttempt
  /** The node that it is a part of, also where that is a part of a part. Kept: steps may be nested thousands deep. */
  readonly root: Node
  /** The node or the element that a step belongs to, also a step of a step. An element is its own owner. */
  readonly owner: Node
  readonly options: PartOptions
  readyAt = 0
  /** Its index among the nodes that have not ended. */
  rosterIndex = -1

  constructor(starter: NodeAttempt, options: PartOptions, lane: Lane<Node>, limits: AttemptLimits) {
    const { entry: parent } = starter
    const root = parent instanceof Part ? parent.root : parent
    // No place in the columns of the nodes.
    super(-1, joinPath(root.name, options.path, ' '), lane, limits)
    this.starter = starter
    this.root = root
    this.owner = options.kind === 'element' ? this : ownerOf(parent)
    this.options = options
    this.depth = parent.depth
  }

  /** Whether it starts while the run drains: a step of a job that runs does, an element of a map does not. */
  get drains(): boolean {
    return this.options.kind === 'step'
  }
}

/** The node or the element that an entry belongs to: itself, unless it is a step. */
export function ownerOf(entry: Node): Node {
  return entry instanceof Part ? entry.owner : entry
}

/** What parts need of their scheduler. */
export interface PartsHost {
  readonly lanes: Lanes<Node>
  readonly attempts: AttemptRunner<Node, NodeAttempt>
  readonly limits: AttemptLimits
  /** The run ends when as many have ended as were started. */
  count(by: 1 | -1): void
  /** Why nothing starts any more; undefined while it may. */
  refusal(part: Part): unknown
  report(part: Part, at: number, more?: { readonly error?: unknown }): void
  pumpSoon(): void
}

export class Parts {
  readonly #host: PartsHost
  /** Those that have not ended: no more than the windows of the maps and the steps under way. */
  readonly #live = new Roster<Part>()
  /** Parts that are still to be stopped. */
  readonly #toStop: { readonly part: Part; readonly reason: unknown }[] = []
  #isStopping = false

  constructor(host: PartsHost) {
    this.#host = host
  }

  /**
   * Starts a part as soon as its permits are free.
   * @throws the refusal of a wrong limit or need.
   */
  start(parent: NodeAttempt, options: PartOptions): Part {
    const { lanes, limits, attempts } = this.#host
    const { needs, priority, place, retries, timeout, retryBaseDelay } = options
    const lane = lanes.laneForOnce(needs, priority, place)
    const own =
      retries === undefined && timeout === undefined && retryBaseDelay === undefined
        ? limits
        : {
            retries: retries ?? limits.retries,
            timeout: timeout ?? limits.timeout,
            ...(retryBaseDelay !== undefined && { retryBaseDelay }),
          }
    const part = new Part(parent, options, lane, own)
    this.#host.count(1)
    part.rosterIndex = this.#live.add(part)
    const refusal = this.#host.refusal(part)
    if (refusal === undefined) this.enqueue(part, attempts.now())
    // Skipped in a later step: the caller does not know the part yet.
    else soon(() => this.#skip(part, refusal))
    this.#host.pumpSoon()
    return part
  }

  /**
   * Stops a part: skipped when it does not run, aborted when it does. An aborted step stops the steps that it waits for: they are
   * stopped one after the other and not inside one another, because steps may be nested deeper than the stack is.
   */
  stop(part: Part, reason: unknown): void {
    this.#toStop.push({ part, reason })
    if (this.#isStopping) return
    this.#isStopping = true
    try {
      for (let next = this.#toStop.pop(); next !== undefined; next = this.#toStop.pop()) {
        this.#stopOne(next.part, next.reason)
      }
    } finally {
      this.#isStopping = false
    }
    this.#host.pumpSoon()
  }

  #stopOne(part: Part, reason: unknown): void {
    if (part.ended) return
    if (part.current === undefined) this.#skip(part, reason)
    else this.#host.attempts.abort(part.current, reason)
  }

  /** Skips what does not run and may not start any more. */
  skipRefused(): void {
    for (const part of this.#live) {
      if (part.current !== undefined) continue
      const refusal = this.#host.refusal(part)
      if (refusal !== undefined) this.#skip(part, refusal)
    }
  }

  enqueue(part: Part, now: number): void {
    move(part, ready)
    part.readyAt = now
    this.#host.lanes.enqueue(part)
    this.#host.report(part, now)
  }

  onSucceeded(part: Part, value: unknown, now: number): void {
    this.#end(part, succeeded, now, { state: 'succeeded', value })
  }

  onFailed(part: Part, error: unknown, now: number): void {
    this.#end(part, failed, now, { state: 'failed', error })
  }

  onCancelled(part: Part, error: unknown, now: number): void {
    this.#end(part, cancelled, now, { state: 'cancelled', error })
  }

  #skip(part: Part, error: unknown): void {
    if (part.ended) return
    const now = this.#host.attempts.now()
    if (part.state === ready) this.#host.lanes.remove(part)
    if (part.state === retrying) {
      this.#host.attempts.withdrawBackoff(part)
      this.#end(part, cancelled, now, { state: 'cancelled', error })
    } else this.#end(part, skipped, now, { state: 'skipped', error })
  }

  #end(part: Part, state: number, now: number, end: PartEnd): void {
    move(part, state)
    this.#live.remove(part.rosterIndex)
    this.#host.report(part, now, end.state === 'succeeded' ? undefined : { error: end.error })
    part.options.onEnd(end, now)
    // Afterwards: the owner may start the next one, and the run must not end in between.
    this.#host.count(-1)
    this.#host.pumpSoon()
  }
}
