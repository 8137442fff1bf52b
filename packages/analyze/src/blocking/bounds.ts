/**
 * Size checks: `if (body.length > max) throw …` before the call means that its input has a bound.
 *
 * Recognized by the comparison, not by its consequence: an author who compares a length with a limit has
 * thought of it. Comparisons with 0 and 1 ask whether there is something, and loop conditions ask
 * where the end is; both say nothing about a limit.
 */
import type { Expression, Node } from 'oxc-parser'
import { keyName, unwrap } from '../ir/nodes.ts'
import { isFunction, isLoop, pathTo } from './syntax.ts'

const sizeFields = new Set(['length', 'size', 'byteLength', 'byteSize', 'bytes'])
const sizeWord = new RegExp(`\\b(?:${[...sizeFields].join('|')})\\b`, 'g')
const comparisons = new Set(['<', '>', '<=', '>='])

type Comparison = Extract<Node, { type: 'BinaryExpression' }>

const known = new WeakMap<Node, readonly Comparison[]>()

/** In the text of the function, before `position`. `name` is `body` or `req.body`. */
export function isBoundedBefore(
  around: Node | undefined,
  name: string,
  position: number,
  text: string,
): boolean {
  if (around === undefined) return false
  let all = known.get(around)
  if (all === undefined) {
    all = comparisonsIn(around, text)
    known.set(around, all)
  }
  return all.some(({ start, left, right }) => {
    if (start >= position) return false
    const [a, b] = [left as Expression, right]
    return (isSizeOf(a, name) && isLimit(b)) || (isSizeOf(b, name) && isLimit(a))
  })
}

/**
 * Comparisons by size that a function makes itself, other than to find the end of a loop. Their words
 * are found in the text, because few functions have one and a walk would be through all of them.
 */
function comparisonsIn(around: Node, text: string): readonly Comparison[] {
  const found = new Set<Comparison>()
  for (const { index, 0: word } of text.slice(around.start, around.end).matchAll(sizeWord)) {
    const start = around.start + index
    const path = pathTo(around, { start, end: start + word.length })
    // A return of an inner function does not count: it is analysed by itself.
    if (path.some((node) => node !== around && isFunction(node))) continue
    path.forEach((node, i) => {
      if (node.type !== 'BinaryExpression' || !comparisons.has(node.operator)) return
      if (!isInLoopTest(path.slice(0, i + 1))) found.add(node)
    })
  }
  return [...found]
}

function isInLoopTest(path: readonly Node[]): boolean {
  return path.some((node, i) => isLoop(node) && 'test' in node && node.test === path[i + 1])
}

/** `body.length`, `Buffer.byteLength(body)`, `String(body).length`. */
function isSizeOf(expression: Expression, name: string): boolean {
  const node = unwrap(expression)
  if (node.type === 'MemberExpression') {
    const field = keyName(node.property, node.computed)
    return field !== undefined && sizeFields.has(field) && isAbout(node.object, name)
  }
  if (node.type === 'CallExpression') {
    const [first] = node.arguments
    const callee = unwrap(node.callee)
    const called =
      callee.type === 'MemberExpression' ? keyName(callee.property, callee.computed) : undefined
    return called === 'byteLength' && first !== undefined && isAbout(first, name)
  }
  return false
}

/** The expression is that name, or is made from it by calls on it. */
function isAbout(expression: Node, name: string): boolean {
  const node = unwrap(expression as Expression)
  if (node.type === 'Identifier') return node.name === name
  if (node.type === 'MemberExpression') {
    return textOf(node) === name || (!name.includes('.') && isAbout(node.object, name))
  }
  if (node.type === 'CallExpression') {
    const callee = unwrap(node.callee)
    if (callee.type === 'MemberExpression') return isAbout(callee.object, name)
    return node.arguments.some((argument) => isAbout(argument, name))
  }
  return false
}

function textOf(node: Node): string | undefined {
  if (node.type === 'Identifier') return node.name
  if (node.type === 'ThisExpression') return 'this'
  if (node.type !== 'MemberExpression') return undefined
  const owner = textOf(node.object)
  const field = keyName(node.property, node.computed)
  return owner === undefined || field === undefined ? undefined : `${owner}.${field}`
}

const limitName = /[Mm]ax|[Ll]imit|[Bb]udget|[Tt]hreshold|^[A-Z][A-Z\d_]+$/

/** A number of some size, or something that is called a limit. */
function isLimit(expression: Expression): boolean {
  const node = unwrap(expression)
  switch (node.type) {
    case 'Literal':
      return typeof node.value === 'number' && node.value >= 2
    case 'BinaryExpression':
      return isLimit(node.left as Expression) || isLimit(node.right)
    case 'Identifier':
      return limitName.test(node.name)
    case 'MemberExpression':
      return limitName.test(keyName(node.property, node.computed) ?? '')
    case 'LogicalExpression':
      return isLimit(node.left) || isLimit(node.right)
    default:
      return false
  }
}
