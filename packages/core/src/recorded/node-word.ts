import type { NodeState } from '../scheduler/node.ts'
import type { NodeRecord } from './run-record.ts'

export type NodeWord = NodeState | 'interrupted'

/** How a node stands. One that ran when its process was killed does not run any more. */
export function nodeWord({ state, attempts }: Pick<NodeRecord, 'state' | 'attempts'>): NodeWord {
  const isCut = state === 'running' && attempts.at(-1)?.outcome === 'interrupted'
  return isCut ? 'interrupted' : state
}
