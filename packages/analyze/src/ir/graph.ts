/**
 * The control flow graph of a host, cut at suspensions.
 *
 * A block is a run of events without a branch. A suspension is always the last event of its block, so
 * a maximal set of blocks that are connected without leaving a suspending block is an *atomic region*:
 * no other task runs while a task is in it.
 *
 * Continuations are part of the graph. A callback that runs later is entered from every place where
 * the region that hands it over can end (it cannot run before that), and its first event is a
 * suspension. So "checked here, written in the callback" is an ordinary path.
 *
 * I1. A suspension is the last event of its block.
 * I2. Every `return` has its own exit block, so an early return leads nowhere else.
 * I3. A block that can throw has an edge to its handler.
 */
import type { Location } from './locations.ts'
import type { CallSite, FunctionUnit, Suspension } from './program.ts'
import type { Value } from './values.ts'

/**
 * What a write does to a location:
 * `set` a value · `fill` an entry of a container · `rmw` from its own old value · `reset` to empty ·
 * `null` to absent · `drop` an entry · `append` to a list.
 */
export type WriteKind = 'set' | 'fill' | 'rmw' | 'reset' | 'null' | 'drop' | 'append'

/** A branch that a read decides. */
export interface Check {
  readonly branch: Branch
  /** Where control continues when the location is present; absent when the condition does not say. */
  readonly whenPresent: Block | undefined
  readonly whenAbsent: Block | undefined
  /** For a call: where control continues when the answer is true, and when it is not. */
  readonly whenTrue?: Block
  readonly whenFalse?: Block
  /** Compared with another value of the program: an identity or generation check. */
  readonly isIdentity: boolean
  readonly start: number
  readonly end: number
}

/** A condition with its two outcomes; `a && b` has one branch and several checks. */
export interface Branch {
  readonly whenTrue: Block
  readonly whenFalse: Block
  /** Blocks that belong to the evaluation of the condition. Changed by `addToBranch` only. */
  blocks: readonly Block[]
  readonly isLoop: boolean
  readonly start: number
  readonly end: number
}

export interface Access {
  readonly op: 'read' | 'write'
  readonly location: Location
  readonly owner: FunctionUnit
  readonly start: number
  readonly end: number
  readonly kind: WriteKind | undefined
  /** The written value. */
  readonly value: Value | undefined
  /** The branches a read decides. Changed by `addCheck` only, as the condition is met. */
  checks: readonly Check[]
  /** In a constructor, a field initialiser or at the top of a module: no other task is there yet. */
  readonly isInitial: boolean
  /** Read to call something on it (`this.socket.write()`), which uses its value. */
  use: CallSite | undefined
  /** Written with `x!`. */
  isAsserted: boolean
}

/** Shared by all reads and calls that decide nothing: most do not. */
export const noChecks: readonly Check[] = []

export function addCheck(to: { checks: readonly Check[] }, check: Check): void {
  // An array that is pushed to would have room for seventeen.
  to.checks = to.checks.length === 0 ? [check] : [...to.checks, check]
}

/** A guard is taken or given back. */
export interface GuardEvent {
  readonly op: 'acquire' | 'release'
  /** Two guards with the same text are the same guard. */
  readonly guard: string
  /** The key of the guard where there is one: `lock.acquire(key, …)`. */
  readonly key: string | undefined
  readonly owner: FunctionUnit
  readonly start: number
  readonly end: number
  /** Released by the callee itself, whatever happens. */
  readonly isScoped: boolean
}

export type Event = Access | Suspension | CallSite | GuardEvent

/** Shared by all that have none: most have none. */
export const noBlocks: readonly Block[] = []
const noEvents: readonly Event[] = []

export class Block {
  readonly id: number
  /** Changed by `add` and `dropLast` only, and taken back by who keeps the file. */
  events: readonly Event[] = noEvents
  /** Changed by `linkTo` only. */
  next: readonly Block[] = noBlocks
  /** Inside a `finally` or `catch`: 0 none, 1 catch, 2 finally. */
  readonly cleanup: 0 | 1 | 2
  readonly isLoopBody: boolean
  /** Whether it ends with a `throw`. */
  isThrowing = false
  branch: Branch | undefined
  /** For the entry of a later callback: the block that hands it over. */
  handedOverBy: Block | undefined
  /** Later callbacks that are handed over at the end of this block. */
  handsOver: readonly Block[] = noBlocks

  constructor(id: number, cleanup: 0 | 1 | 2, isLoopBody: boolean) {
    this.id = id
    this.cleanup = cleanup
    this.isLoopBody = isLoopBody
  }

  add(event: Event): void {
    if (this.events === noEvents) this.events = [event]
    else (this.events as Event[]).push(event)
  }

  dropLast(): void {
    this.events = this.events.slice(0, -1)
  }

  /** Gives back the room that its events have grown into: graphs outlive everything else. */
  trim(): void {
    if (this.events.length > 1) this.events = this.events.slice()
  }

  /** Most blocks have one or two successors: an array that is pushed to would have room for seventeen. */
  linkTo(to: Block): void {
    const [first, second] = this.next
    if (first === undefined) this.next = [to]
    else if (second === undefined) {
      if (first !== to) this.next = [first, to]
    } else if (!this.next.includes(to)) this.next = [...this.next, to]
  }
}

/** The condition of a branch is (also) evaluated in this block. */
export function addToBranch(branch: Branch, block: Block): void {
  branch.blocks = branch.blocks.length === 0 ? [block] : [...branch.blocks, block]
}

/** A callback that is entered once the region around `from` has ended. */
export interface Fork {
  readonly from: Block
  readonly to: Block
}

export interface Graph {
  readonly entry: Block
  /** Changed by `splice.ts` only, and taken back by who keeps the file. */
  blocks: readonly Block[]
  /** Some path of it (callbacks included) suspends. Settled when it is summarised. */
  suspends: boolean
  /** Whether it was cut short because it is too large or nested too deeply. */
  readonly isTruncated: boolean
}

const maxForkWalk = 2_000

/** Joins later callbacks to the ends of the regions that hand them over. */
export function connectForks(blocks: readonly Block[], forks: readonly Fork[]): void {
  if (forks.length === 0) return
  const extra: [Block, Block][] = []
  const seen = new Uint32Array(blocks.length)
  let mark = 0
  for (const fork of forks) {
    fork.to.handedOverBy = fork.from
    fork.from.handsOver = [...fork.from.handsOver, fork.to]
    mark++
    const stack: Block[] = [fork.from]
    seen[fork.from.id] = mark
    let steps = 0
    while (stack.length > 0 && steps++ < maxForkWalk) {
      const block = stack.pop()!
      const last = block.events.at(-1)
      if (last?.op === 'suspend' || block.next.length === 0) {
        extra.push([block, fork.to])
        continue
      }
      for (const next of block.next) {
        if (seen[next.id] === mark) continue
        seen[next.id] = mark
        stack.push(next)
      }
    }
  }
  for (const [from, to] of extra) from.linkTo(to)
}
