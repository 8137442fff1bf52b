import type { ParsedFile } from '../frontend/parse.ts'
import { walkFile, type TreeNode } from './walk-file.ts'

/**
 * Where the names of called methods are: `set` in `this.users.set(a, b)`. By the end of the call, which
 * no other call has: each one ends with its own parenthesis. Only for the ends that are asked for:
 * what holds none of them is not walked through.
 */
export function callNames(
  parsed: ParsedFile,
  ends: readonly number[],
): ReadonlyMap<number, number> {
  const wanted = Int32Array.from(ends).sort()
  const names = new Map<number, number>()
  walkFile(parsed, (node) => {
    const next = firstAfter(wanted, node.start)
    if (next === undefined || next > node.end) return false
    if (node.type === 'CallExpression') {
      const callee = node['callee'] as TreeNode
      if (callee.type === 'MemberExpression' && callee['computed'] === false) {
        names.set(node.end, (callee['property'] as TreeNode).start)
      }
    }
    return true
  })
  return names
}

/** The smallest of sorted numbers that is larger than a limit. */
function firstAfter(sorted: Int32Array, limit: number): number | undefined {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle]! > limit) high = middle
    else low = middle + 1
  }
  return sorted[low]
}
