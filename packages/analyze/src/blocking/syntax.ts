/** Questions to the tree of a file that start from a place in its text. */
import { visitorKeys } from 'oxc-parser'
import type { Node } from 'oxc-parser'
import type { CallSite, FunctionUnit } from '../ir/program.ts'

interface Span {
  readonly start: number
  readonly end: number
}

type Fields = Readonly<Record<string, unknown>>

const noKeys: readonly string[] = []

/** The fields that hold children, in the order of the text. Asked for every node, so no lists are made. */
function childKeys(node: Node): readonly string[] {
  return visitorKeys[node.type] ?? noKeys
}

/** From the root to the innermost node that spans the place. Goes down only where the place is. */
export function pathTo(root: Node, span: Span): readonly Node[] {
  return descend([root], span)
}

/** The same from a node on the way there: `path` leads from the root to it. */
export function pathFrom(path: readonly Node[], span: Span): readonly Node[] {
  return descend([...path], span)
}

function descend(path: Node[], { start, end }: Span): readonly Node[] {
  let node: Node | undefined = path.at(-1)
  while (node !== undefined) {
    node = childAt(node, start, end)
    if (node !== undefined) path.push(node)
  }
  return path
}

function childAt(node: Node, start: number, end: number): Node | undefined {
  for (const key of childKeys(node)) {
    const value = (node as unknown as Fields)[key] as Node | (Node | null)[] | null | undefined
    if (value === null || value === undefined) continue
    if (Array.isArray(value)) {
      const item = itemAt(value, start, end)
      if (item !== undefined) return item
    } else if (value.start <= start && value.end >= end) {
      return value
    }
  }
  return undefined
}

const longList = 16

/** Long lists are halved: a minified file is one list of everything. */
function itemAt(list: readonly (Node | null)[], start: number, end: number): Node | undefined {
  const from = list.length < longList ? 0 : lastBefore(list, start)
  for (let i = from; i < list.length; i += 1) {
    const item = list[i]
    if (item === null || item === undefined) continue
    if (item.start > start) return undefined
    if (item.end >= end) return item
  }
  return undefined
}

/** The last one in the order of the text that starts before a place. */
function lastBefore(list: readonly (Node | null)[], start: number): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >> 1
    const item = list[middle]
    // A hole, as in `[, a]`: then the list is looked through.
    if (item === null || item === undefined) return 0
    if (item.start <= start) low = middle + 1
    else high = middle
  }
  return Math.max(0, low - 1)
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
  const path = pathFrom(around, call)
  const index = path.findLastIndex(
    ({ start, end, type }) =>
      start === call.start &&
      end === call.end &&
      (type === 'CallExpression' || type === 'NewExpression'),
  )
  if (index < 0) return undefined
  return index === path.length - 1 ? path : path.slice(0, index + 1)
}

export function isFunction({ type }: Node): boolean {
  return (
    type === 'FunctionDeclaration' ||
    type === 'FunctionExpression' ||
    type === 'ArrowFunctionExpression'
  )
}

const loopTypes: ReadonlySet<string> = new Set([
  'ForStatement',
  'ForOfStatement',
  'ForInStatement',
  'WhileStatement',
  'DoWhileStatement',
])

export function isLoop({ type }: Node): boolean {
  return loopTypes.has(type)
}

/** Visits a node and the nodes inside it. Does not enter nodes that are answered with `false`. */
export function walk(root: Node, visit: (node: Node) => boolean | undefined): void {
  const stack = [root]
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (visit(node) === false) continue
    for (const key of childKeys(node)) {
      const value = (node as unknown as Fields)[key] as Node | (Node | null)[] | null | undefined
      if (value === null || value === undefined) continue
      if (Array.isArray(value)) {
        for (const item of value) if (item !== null) stack.push(item)
      } else {
        stack.push(value)
      }
    }
  }
}

/** The innermost function on a path that ends at a node; undefined at the top level. */
export function functionAround(path: readonly Node[]): Node | undefined {
  for (let i = path.length - 2; i >= 0; i -= 1) {
    const node = path[i] as Node
    if (isFunction(node)) return node
  }
  return undefined
}
