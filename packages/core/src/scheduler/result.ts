import { HeddleError, describe } from '../errors.ts'
import type { NameMap } from '../kernel/name-map.ts'
import { PieceList } from '../kernel/piece-list.ts'
import { suggest } from '../kernel/suggest.ts'
import { succeeded as succeededState, type Node, type NodeState } from './node.ts'

/**
 * How a run ended. Every node is in exactly one of the lists (law 5); lists and maps are in the
 * order in which the nodes ended.
 */
export interface RunResult {
  /** Nothing failed, nothing was blocked or cancelled, and the run itself was not cancelled. */
  readonly ok: boolean
  readonly state: 'finished' | 'cancelled'
  readonly succeeded: readonly string[]
  /** Name to the error of the last attempt. */
  readonly failed: ReadonlyMap<string, unknown>
  /** Name to the failed or removed dependency that kept it from running. */
  readonly blocked: ReadonlyMap<string, string>
  /** Never started: removed, or left over when the run was cancelled. */
  readonly skipped: readonly string[]
  /** Started, and stopped by cancellation or removal. */
  readonly cancelled: readonly string[]
  /** Declared as done when they were added: not run. */
  readonly reused: readonly string[]
  /** Name to the errors of all its attempts, also of nodes that succeeded in the end. */
  readonly errors: ReadonlyMap<string, readonly unknown[]>
  /** Milliseconds from start to end; of a run that was resumed, without the time in which no process ran it. */
  readonly duration: number
  /**
   * What the node's callback returned.
   * @throws `HDL_NO_RESULT` when it did not succeed, with the error of its last attempt as cause.
   */
  valueOf(name: string): unknown
  /** How one node ended. */
  stateOf(name: string): NodeState
}

/** Collects outcomes during the run. */
export class ResultBuilder {
  readonly succeeded = new PieceList<string>()
  readonly failed = new Map<string, unknown>()
  readonly blocked = new Map<string, string>()
  readonly skipped = new PieceList<string>()
  readonly cancelled = new PieceList<string>()
  readonly reused = new PieceList<string>()
  readonly errors = new Map<string, readonly unknown[]>()

  build(state: 'finished' | 'cancelled', duration: number, nodes: NameMap<Node>): RunResult {
    const { succeeded, failed, blocked, skipped, cancelled, reused, errors } = this
    const ok =
      state === 'finished' && failed.size === 0 && blocked.size === 0 && cancelled.size === 0
    return {
      ok,
      state,
      succeeded: succeeded.toArray(),
      failed,
      blocked,
      skipped: skipped.toArray(),
      cancelled: cancelled.toArray(),
      reused: reused.toArray(),
      errors,
      duration,
      valueOf: (name) => valueOf(find(nodes, name)),
      stateOf: (name) => find(nodes, name).stateName,
    }
  }
}

function find(nodes: NameMap<Node>, name: string): Node {
  const node = nodes.get(name)
  if (node !== undefined) return node
  throw new HeddleError('HDL_UNKNOWN_NODE', { node: name, suggestion: suggest(name, nodes.keys()) })
}

function valueOf(node: Node): unknown {
  if (node.state === succeededState) return node.value
  const cause = (node.blockedBy ?? node).errors.at(-1)
  throw new HeddleError(
    'HDL_NO_RESULT',
    {
      node: node.name,
      state:
        node.stateName === 'blocked' ? `was blocked by "${node.blockedBy?.name}"` : node.stateName,
      cause: cause === undefined ? undefined : describe(cause),
    },
    { cause },
  )
}
