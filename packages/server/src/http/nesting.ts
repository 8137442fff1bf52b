/** How deeply a value may be nested that came with a request. */
import { HeddleError } from '@heddle/core'

/** Levels: what orders, clones or stores a value may follow it with its stack. */
export const deepest = 1_000

/** @throws `HDL_BAD_INPUT`. */
export function checkNesting(what: string, value: unknown): void {
  if (!isTooDeep(value)) return
  const problem = `it is nested deeper than ${deepest} levels.`
  throw new HeddleError('HDL_BAD_INPUT', { what, problem })
}

/** Level by level, because recursion would use up the stack. */
function isTooDeep(value: unknown): boolean {
  let level = [value].filter(isObject)
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= deepest) return true
    level = level.flatMap((one) => Object.values(one).filter(isObject))
  }
  return false
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
