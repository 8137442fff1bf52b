import { visitorKeys } from 'oxc-parser'
import type { ParsedFile } from '../frontend/parse.ts'

type TreeNode = { readonly type: string; readonly start: number; readonly end: number } & Readonly<
  Record<string, unknown>
>

/**
 * Where the name of a called method is: `set` in `this.users.set(a, b)`. By the end of the call, which
 * no other call has: each one ends with its own parenthesis.
 */
export function callNames(parsed: ParsedFile): ReadonlyMap<number, number> {
  const names = new Map<number, number>()
  const rest: TreeNode[] = [parsed.program as unknown as TreeNode]
  for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
    if (node.type === 'CallExpression') {
      const callee = node['callee'] as TreeNode
      const property = callee['property'] as TreeNode | undefined
      if (callee.type === 'MemberExpression' && callee['computed'] === false && property) {
        names.set(node.end, property.start)
      }
    }
    for (const key of visitorKeys[node.type] ?? []) {
      const value = node[key]
      if (Array.isArray(value)) {
        for (const item of value) if (item !== null) rest.push(item as TreeNode)
      } else if (value !== null && value !== undefined) rest.push(value as TreeNode)
    }
  }
  return names
}
