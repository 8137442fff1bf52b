import type { NodeState } from '@heddle/core'
import type { Style } from '../view/line.ts'
import { stateStyles, type Symbols } from '../view/symbols.ts'
import type { NodeRecord } from './record.ts'

export type NodeWord = NodeState | 'interrupted'

/** How a node stands. One that ran when its process was killed does not run any more. */
export function nodeWord({ state, attempts }: Pick<NodeRecord, 'state' | 'attempts'>): NodeWord {
  const isCut = state === 'running' && attempts.at(-1)?.outcome === 'interrupted'
  return isCut ? 'interrupted' : state
}

export function nodeSymbol(word: NodeWord, { states, warning }: Symbols): string {
  return word === 'interrupted' ? warning : states[word]
}

export function nodeStyle(word: NodeWord): Style {
  return word === 'interrupted' ? 'yellow' : stateStyles[word]
}
