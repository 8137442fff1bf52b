/**
 * Facts about the loops of a pattern that are known before anything is built: most patterns are found
 * harmless here, for a hundredth of the cost of the automaton.
 */
import type { RegExpTree } from './tree.ts'

const endlessQuantifier = /[*+]|\{\d+,\}/

/**
 * False when the source has no quantifier without an upper limit, so that the pattern cannot be slow.
 * Escaped ones count too, which is only too careful.
 */
export function mayRepeatEndlessly(source: string): boolean {
  return endlessQuantifier.test(source)
}

export function hasEndlessLoop(tree: RegExpTree): boolean {
  return hasPart(tree, (part) => part.kind === 'loop' && part.max === Infinity)
}

/**
 * One endless loop at most, and one way round it. Then a run from a fixed start is described by how often
 * it went round: no word has two ways from a state to itself, and there is no second loop that a run
 * could change to. (A search has a second loop: the one over its starts.)
 */
export function hasOneWayRound(tree: RegExpTree): boolean {
  return countLoops(tree, false) <= 1 && !hasPart(tree, ({ kind }) => kind === 'back')
}

/**
 * It matches at the start of the text only. Then a search is one attempt and a failure of a few steps
 * at every other place, so that it is as slow as a match from a fixed start is.
 */
export function isAnchored(tree: RegExpTree): boolean {
  switch (tree.kind) {
    case 'edge':
      return tree.at === 'start' && !tree.isMultiline
    case 'sequence':
      return tree.parts[0] !== undefined && isAnchored(tree.parts[0])
    case 'choice':
      return tree.choices.every(isAnchored)
    case 'group':
      return isAnchored(tree.body)
    case 'loop':
      return tree.min > 0 && isAnchored(tree.body)
    case 'look':
    case 'set':
    case 'word':
    case 'back':
      return false
  }
}

/** Endless loops; those that are not plainly one count as two. */
function countLoops(tree: RegExpTree, isRepeated: boolean): number {
  if (tree.kind === 'loop') {
    if (tree.max !== Infinity) return countLoops(tree.body, isRepeated || tree.max > 1)
    return isRepeated || !isPlain(tree.body) ? 2 : 1
  }
  return partsOf(tree).reduce((sum, part) => sum + countLoops(part, isRepeated), 0)
}

/** Sets one after the other, and nothing to choose. */
function isPlain(tree: RegExpTree): boolean {
  if (tree.kind === 'set') return true
  return (tree.kind === 'sequence' || tree.kind === 'group') && partsOf(tree).every(isPlain)
}

function hasPart(tree: RegExpTree, isWanted: (part: RegExpTree) => boolean): boolean {
  return isWanted(tree) || partsOf(tree).some((part) => hasPart(part, isWanted))
}

const none: readonly RegExpTree[] = []

function partsOf(tree: RegExpTree): readonly RegExpTree[] {
  switch (tree.kind) {
    case 'sequence':
      return tree.parts
    case 'choice':
      return tree.choices
    case 'loop':
    case 'group':
    case 'look':
      return [tree.body]
    case 'set':
    case 'edge':
    case 'word':
    case 'back':
      return none
  }
}
