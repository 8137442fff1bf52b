import type { ParsedFile } from '../parse.ts'

type TreeNode = { readonly type: string } & Readonly<Record<string, unknown>>

/** Every name that a function or a class of a file may be called by, without its qualifiers. */
export function functionNames(parsed: ParsedFile): ReadonlySet<string> {
  const names = new Set<string>()
  const rest: unknown[] = [parsed.program]
  while (rest.length > 0) {
    const node = rest.pop()
    if (Array.isArray(node)) for (const item of node) rest.push(item)
    else if (isNode(node)) {
      addName(node, names)
      for (const value of Object.values(node)) {
        if (typeof value === 'object' && value !== null) rest.push(value)
      }
    }
  }
  return names
}

function isNode(value: unknown): value is TreeNode {
  return typeof value === 'object' && value !== null && 'type' in value
}

function addName(node: TreeNode, names: Set<string>): void {
  const named = node['id'] ?? node['key'] ?? node['left']
  const name = isNode(named) ? nameOf(named) : undefined
  if (name !== undefined) names.add(name)
}

function nameOf(node: TreeNode): string | undefined {
  if (node.type === 'Identifier') return String(node['name'])
  if (node.type === 'PrivateIdentifier') return `#${String(node['name'])}`
  if (node.type === 'Literal') return String(node['value'])
  const { property } = node
  return node.type === 'MemberExpression' && isNode(property) ? nameOf(property) : undefined
}
