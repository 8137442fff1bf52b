import { visitorKeys } from 'oxc-parser'
import type { ParsedFile } from '../frontend/parse.ts'

type TreeNode = { readonly type: string; readonly start: number; readonly end: number } & Readonly<
  Record<string, unknown>
>

/**
 * What other files can see of a file's types: its text without the bodies of functions.
 *
 * Known limit: the result of a function without `async` and without a declared type depends on its
 * body. Its callers in other files are then asked about again only when they change themselves.
 */
export function shapeOf(parsed: ParsedFile): string {
  const bodies: TreeNode[] = []
  const rest: TreeNode[] = [parsed.program as unknown as TreeNode]
  for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
    const body = node['body'] as TreeNode | undefined
    if (isFunction(node) && body?.type === 'BlockStatement') {
      bodies.push(body)
      continue
    }
    for (const key of visitorKeys[node.type] ?? []) {
      const value = node[key]
      if (Array.isArray(value)) {
        for (const item of value) if (item !== null) rest.push(item as TreeNode)
      } else if (value !== null && value !== undefined) rest.push(value as TreeNode)
    }
  }
  bodies.sort((a, b) => a.start - b.start)
  let shape = ''
  let from = 0
  for (const body of bodies) {
    shape += parsed.text.slice(from, body.start)
    from = body.end
  }
  return shape + parsed.text.slice(from)
}

function isFunction({ type }: TreeNode): boolean {
  return (
    type === 'FunctionDeclaration' ||
    type === 'FunctionExpression' ||
    type === 'ArrowFunctionExpression'
  )
}
