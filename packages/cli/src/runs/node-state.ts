import { type NodeWord } from '@heddle/core/lowlevel'
import type { Style } from '../text/line.ts'
import { stateStyles, type Symbols } from '../text/symbols.ts'

export function nodeSymbol(word: NodeWord, { states, warning }: Symbols): string {
  return word === 'interrupted' ? warning : states[word]
}

export function nodeStyle(word: NodeWord): Style {
  return word === 'interrupted' ? 'yellow' : stateStyles[word]
}
