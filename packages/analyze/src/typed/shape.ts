import type { ParsedFile } from '../frontend/parse.ts'
import { walkFile, type TreeNode } from './walk-file.ts'

/**
 * The part of a file's types that other files can see: its text without the bodies of functions.
 *
 * Known limit: the result of a function without `async` and without a declared type depends on its
 * body. Its callers in other files are then asked about again only when they change themselves.
 */
export function shapeOf(parsed: ParsedFile): string {
  const bodies: TreeNode[] = []
  walkFile(parsed, (node) => {
    const body = node['body'] as TreeNode | undefined
    if (!isFunction(node) || body?.type !== 'BlockStatement') return true
    bodies.push(body)
    return false
  })
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
