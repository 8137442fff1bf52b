import type { Attemptable, AttemptLimits } from '../attempts/attempt.ts'
import type { Entry, Lane } from '../capacity/lane.ts'
import { HeddleError } from '../errors.ts'
import type { NodeAttempt } from './node-attempt.ts'

/**
 * The life of a node.
 *
 *             ┌────────── retrying ◀─┐
 *             ▼                      │
 *  waiting ─▶ ready ─▶ running ──────┤   running ◀─▶ suspended, which can end as running can
 *     │         │                    ├─▶ succeeded
 *     │         │                    ├─▶ failed
 *     │         │                    └─▶ cancelled   its signal was aborted
 *     │         └──────────────────────▶ skipped     removed, or the run was cancelled
 *     └────────────────────────────────▶ blocked     a dependency failed
 *
 * Two short cuts lead from waiting to an end: succeeded, for a node that was declared as done, and
 * failed, for a member of a cycle.
 */
export const nodeStates = [
  'waiting',
  'ready',
  'running',
  'retrying',
  'suspended',
  'succeeded',
  'failed',
  'blocked',
  'skipped',
  'cancelled',
] as const

export type NodeState = (typeof nodeStates)[number]

// Numbers, because the state of every node is compared several times and a mask makes the check of a
// move one instruction.
export const waiting = 0
export const ready = 1
export const running = 2
export const retrying = 3
export const suspended = 4
export const succeeded = 5
export const failed = 6
export const blocked = 7
export const skipped = 8
export const cancelled = 9

const to = (...states: number[]): number => states.reduce((mask, state) => mask | (1 << state), 0)

const legalMoves: readonly number[] = [
  /* waiting   */ to(ready, succeeded, failed, blocked, skipped),
  /* ready     */ to(running, skipped),
  /* running   */ to(retrying, suspended, succeeded, failed, cancelled),
  /* retrying  */ to(ready, cancelled),
  /* suspended */ to(running, retrying, succeeded, failed, cancelled),
  /* succeeded */ 0,
  /* failed    */ 0,
  /* blocked   */ 0,
  /* skipped   */ 0,
  /* cancelled */ 0,
]

/** Details of a node that did not go well. Most nodes have none. */
export interface Trouble {
  /** What its attempts threw, in order. */
  readonly errors: unknown[]
  /** The failed or removed node that keeps this one from running. */
  blockedBy: Node | undefined
  /** Removed while it ran: it ends with this attempt, whatever the outcome. */
  removed: boolean
  /** Taken out before it ran: it passes on to its dependents what its dependencies come to. */
  relays: boolean
}

const noErrors: readonly unknown[] = []

export class Node implements Attemptable, Entry<Node> {
  /** Position in order of addition: index into the columns. */
  readonly index: number
  readonly name: string
  lane: Lane<Node>
  readonly limits: AttemptLimits
  state: number = waiting
  attempt = 0
  current: NodeAttempt | undefined
  value: unknown
  #trouble: Trouble | undefined
  /** Order of becoming ready: what FIFO across lanes goes by. */
  readyOrder = 0
  /** Longest path from a root, from the moment in which it is ready. */
  depth = 0
  // The links in its lane while it is ready.
  list: object | undefined
  previous: Node | undefined
  next: Node | undefined

  constructor(index: number, name: string, lane: Lane<Node>, limits: AttemptLimits) {
    this.index = index
    this.name = name
    this.lane = lane
    this.limits = limits
  }

  get stateName(): NodeState {
    return nodeStates[this.state]!
  }

  get ended(): boolean {
    return this.state >= succeeded
  }

  get errors(): readonly unknown[] {
    return this.#trouble?.errors ?? noErrors
  }

  get blockedBy(): Node | undefined {
    return this.#trouble?.blockedBy
  }

  get removed(): boolean {
    return this.#trouble?.removed ?? false
  }

  get relays(): boolean {
    return this.#trouble?.relays ?? false
  }

  /** The details of a failure; made on first use. */
  get trouble(): Trouble {
    return (this.#trouble ??= { errors: [], blockedBy: undefined, removed: false, relays: false })
  }
}

/**
 * The only place where a node changes its state.
 * A second completion is not a legal move: it throws instead of counting twice.
 */
export function move(node: Node, state: number): void {
  if ((legalMoves[node.state]! & (1 << state)) === 0) {
    const from = node.stateName
    throw new HeddleError('HDL_ILLEGAL_TRANSITION', {
      node: node.name,
      from,
      to: nodeStates[state]!,
    })
  }
  node.state = state
}
