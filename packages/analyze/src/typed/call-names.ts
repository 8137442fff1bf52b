import type { ParsedFile } from '../frontend/parse.ts'
import { walkFile, type TreeNode } from './walk.ts'

/**
 * Where the name of a called method is: `set` in `this.users.set(a, b)`. By the end of the call, which
 * no other call has: each one ends with its own parenthesis.
 */
export function callNames(parsed: ParsedFile): ReadonlyMap<number, number> {
  const names = new Map<number, number>()
  walkFile(parsed, (node) => {
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
