/** What is assigned to names and to fields of `this` inside a node. One walk for all questions about it. */
import type { Node } from 'oxc-parser'
import { keyName } from '../ir/nodes.ts'
import { walk } from './syntax.ts'

export interface Assigned {
  /** The assignment or call. */
  readonly node: Node
  readonly value: Node
  /** It is more of it: `body += value`, `list.push(value)`. */
  readonly isMore: boolean
}

const known = new WeakMap<Node, ReadonlyMap<string, readonly Assigned[]>>()

/** `name` is `body` or `this.body`. In the order of the text, as far as that is known. */
export function assignedIn(root: Node, name: string): readonly Assigned[] {
  let all = known.get(root)
  if (all === undefined) {
    all = collect(root)
    known.set(root, all)
  }
  return all.get(name) ?? []
}

function collect(root: Node): ReadonlyMap<string, readonly Assigned[]> {
  const found = new Map<string, Assigned[]>()
  walk(root, (node) => {
    const one = assigned(node)
    if (one === undefined) return undefined
    const [name, rest] = one
    const list = found.get(name)
    if (list === undefined) found.set(name, [rest])
    else list.push(rest)
    return undefined
  })
  for (const list of found.values()) list.sort((a, b) => a.node.start - b.node.start)
  return found
}

function assigned(node: Node): readonly [string, Assigned] | undefined {
  if (node.type === 'AssignmentExpression') {
    const name = targetName(node.left)
    const isMore = node.operator === '+='
    return name === undefined ? undefined : [name, { node, value: node.right, isMore }]
  }
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return undefined
  const { object, property, computed } = node.callee
  const [value] = node.arguments
  if (value === undefined || keyName(property, computed) !== 'push') return undefined
  const name = targetName(object)
  return name === undefined ? undefined : [name, { node, value, isMore: true }]
}

function targetName(node: Node): string | undefined {
  if (node.type === 'Identifier') return node.name
  if (node.type !== 'MemberExpression' || node.object.type !== 'ThisExpression') return undefined
  const field = keyName(node.property, node.computed)
  return field === undefined ? undefined : `this.${field}`
}
