/** Questions to the tree of a file that start from a place in its text. */
import type { Node } from 'oxc-parser'
import type { CallSite, FunctionUnit } from '../ir/program.ts'

interface Span {
  readonly start: number
  readonly end: number
}

/** Calls back with each child of a node, until one answer is true. No lists: it is asked for every call. */
function someChild(node: Node, visit: (child: Node) => boolean): boolean {
  for (const key in node) {
    const value = (node as unknown as Record<string, unknown>)[key]
    if (typeof value !== 'object' || value === null || key === 'parent') continue
    if (Array.isArray(value)) {
      for (const item of value as unknown[]) if (isNode(item) && visit(item)) return true
    } else if (isNode(value) && visit(value)) {
      return true
    }
  }
  return false
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'
}

/** From the root to the innermost node that spans the place. Goes down only where the place is. */
export function pathTo(root: Node, span: Span): readonly Node[] {
  return descend([root], span)
}

function descend(path: Node[], span: Span): readonly Node[] {
  for (;;) {
    const inner = childAt(path.at(-1) as Node, span)
    if (inner === undefined) return path
    path.push(inner)
  }
}

/** The child that spans the place. Long lists are halved: a minified file is one list of everything. */
function childAt(node: Node, { start, end }: Span): Node | undefined {
  for (const key in node) {
    const value = (node as unknown as Record<string, unknown>)[key]
    if (typeof value !== 'object' || value === null || key === 'parent') continue
    for (const item of Array.isArray(value) ? candidates(value as unknown[], start) : [value]) {
      if (isNode(item) && item.start <= start && item.end >= end) return item
    }
  }
  return undefined
}

const longList = 64

/** The part of a list of nodes in the order of the text that can span a place. */
function candidates(list: readonly unknown[], start: number): readonly unknown[] {
  if (list.length < longList) return list
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >> 1
    const item = list[middle]
    // A hole, as in `[, a]`: then the list is looked through.
    if (!isNode(item)) return list
    if (item.start <= start) low = middle + 1
    else high = middle
  }
  return list.slice(Math.max(0, low - 1), low)
}

const unitPaths = new WeakMap<FunctionUnit, readonly Node[]>()

/** From the root of its file to a call; undefined when the tree has no such call there. */
export function pathToCall(call: CallSite): readonly Node[] | undefined {
  const { owner } = call
  let around = unitPaths.get(owner)
  if (around === undefined) {
    const path = pathTo(owner.file.parsed.program, owner.node)
    const index = path.indexOf(owner.node)
    around = index < 0 ? [owner.file.parsed.program] : path.slice(0, index + 1)
    unitPaths.set(owner, around)
  }
  return exactly(descend([...around], call), call, ['CallExpression', 'NewExpression'])
}

function exactly(
  path: readonly Node[],
  { start, end }: Span,
  types: readonly Node['type'][],
): readonly Node[] | undefined {
  const index = path.findLastIndex(
    (node) => node.start === start && node.end === end && types.includes(node.type),
  )
  return index < 0 ? undefined : path.slice(0, index + 1)
}

const functionTypes: readonly string[] = [
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
]

export function isFunction(node: Node): boolean {
  return functionTypes.includes(node.type)
}

const loopTypes: readonly string[] = [
  'ForStatement',
  'ForOfStatement',
  'ForInStatement',
  'WhileStatement',
  'DoWhileStatement',
]

export function isLoop(node: Node): boolean {
  return loopTypes.includes(node.type)
}

/** Visits a node and what is inside it. Does not go into nodes that are answered with `false`. */
export function walk(root: Node, visit: (node: Node) => boolean | undefined): void {
  const stack = [root]
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (visit(node) === false) continue
    someChild(node, (child) => {
      stack.push(child)
      return false
    })
  }
}

/** The innermost function on a path that ends at a node; undefined at the top level. */
export function functionAround(path: readonly Node[]): Node | undefined {
  return path.slice(0, -1).findLast(isFunction)
}
