/**
 * Facts about a pattern that are known as soon as it is parsed. Kept because the same pattern is queried
 * for every place that uses it, and judged for several sorts of input.
 */
import { hasEndlessLoop, hasOneWayRound, isAnchored } from './loops.ts'
import { parsePattern, UnsupportedPattern } from './tree.ts'
import type { ParsedPattern } from './tree.ts'

export interface PatternShape {
  readonly pattern: ParsedPattern
  readonly isEndless: boolean
  /** From a fixed start it is linear. */
  readonly isOneWay: boolean
  /** A search is as slow as a match from a fixed start is. */
  readonly isOneAttempt: boolean
}

const shapes = new Map<string, PatternShape | UnsupportedPattern>()
const maxKept = 10_000

/** Gives back why, when it is a pattern that is not modelled. */
export function shapeOf(source: string, flags: string): PatternShape | UnsupportedPattern {
  const key = `/${source}/${flags}`
  let shape = shapes.get(key)
  if (shape === undefined) {
    shape = findShape(source, flags)
    if (shapes.size >= maxKept) shapes.clear()
    shapes.set(key, shape)
  }
  return shape
}

/**
 * Whatever it is given: it is linear by its loops, or nothing can be said about it. Asked before it is
 * found out where the input comes from, which takes longer.
 */
export function isNeverSlow(source: string, flags: string): boolean {
  const shape = shapeOf(source, flags)
  if (shape instanceof UnsupportedPattern) return true
  return !shape.isEndless || (shape.isOneWay && shape.isOneAttempt)
}

function findShape(source: string, flags: string): PatternShape | UnsupportedPattern {
  try {
    const pattern = parsePattern(source, flags)
    const { tree, isSticky } = pattern
    return {
      pattern,
      isEndless: hasEndlessLoop(tree),
      isOneWay: hasOneWayRound(tree),
      isOneAttempt: isSticky || isAnchored(tree),
    }
  } catch (error) {
    if (error instanceof UnsupportedPattern) return error
    throw error
  }
}
