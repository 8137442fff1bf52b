/** Questions to the tree of a file that start from a place in its text. */
import type { Node } from 'oxc-parser'

interface Span {
  readonly start: number
  readonly end: number
}

/** The children of a node, in no particular order. */
export function* childrenOf(node: Node): Generator<Node> {
  for (const [key, value] of Object.entries(node)) {
    if (key === 'parent') continue
    if (Array.isArray(value)) {
      for (const item of value) if (isNode(item)) yield item
    } else if (isNode(value)) {
      yield value
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'
}

/** From the root to the innermost node that spans the place. Goes down only where the place is. */
export function pathTo(root: Node, { start, end }: Span): readonly Node[] {
  const path: Node[] = [root]
  for (;;) {
    let inner: Node | undefined
    for (const child of childrenOf(path.at(-1) as Node)) {
      if (child.start <= start && child.end >= end) {
        inner = child
        break
      }
    }
    if (inner === undefined) return path
    path.push(inner)
  }
}

/** The path to the node of one of these types that is exactly there. */
export function pathToExact(
  root: Node,
  span: Span,
  types: readonly Node['type'][],
): readonly Node[] | undefined {
  const path = pathTo(root, span)
  const index = path.findLastIndex(
    (node) => node.start === span.start && node.end === span.end && types.includes(node.type),
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

/** Visits what is inside, the functions in it only when asked. Stops going down where told `false`. */
export function walk(root: Node, visit: (node: Node) => boolean | undefined): void {
  const stack = [root]
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (visit(node) === false) continue
    for (const child of childrenOf(node)) stack.push(child)
  }
}

/** The innermost function on a path that ends at a node; undefined at the top level. */
export function functionAround(path: readonly Node[]): Node | undefined {
  return path.slice(0, -1).findLast(isFunction)
}
