/**
 * What is assigned to names and to fields of `this` inside a node.
 *
 * Places are found in the text and then checked in the tree: a walk through everything around a
 * variable would be for a handful of assignments. (So a name with an escape in it is not found, and
 * neither is one with a comment before its `=`.)
 */
import type { Node } from 'oxc-parser'
import { keyName } from '../ir/nodes.ts'
import { pathTo } from './syntax.ts'

export interface Assigned {
  /** The assignment or call. */
  readonly node: Node
  readonly value: Node
  /** The assigned value adds to the old one: `body += value`, `list.push(value)`. */
  readonly isMore: boolean
}

/** Data about one node: where the text may assign to a word, and the checked assignments. */
interface Places {
  readonly byWord: ReadonlyMap<string, readonly number[]>
  readonly found: Map<string, readonly Assigned[]>
}

const known = new WeakMap<Node, Places>()

/** `name` is `body` or `this.body`. In the order of the text. */
export function assignedIn(root: Node, name: string, text: string): readonly Assigned[] {
  let places = known.get(root)
  if (places === undefined) {
    places = { byWord: wordsAssigned(text, root), found: new Map() }
    known.set(root, places)
  }
  let found = places.found.get(name)
  if (found === undefined) {
    const word = name.replace(/^this\.#?/, '')
    found = (places.byWord.get(word) ?? []).flatMap(
      (start) => assignedAt(root, name, { start, end: start + word.length }) ?? [],
    )
    places.found.set(name, found)
  }
  return found
}

/** The word is the target, or its last part: the assignment is at most a few nodes around it. */
function assignedAt(
  root: Node,
  name: string,
  word: { readonly start: number; readonly end: number },
): Assigned | undefined {
  for (const node of pathTo(root, word).slice(-4).toReversed()) {
    const one = assigned(node)
    if (one === undefined) continue
    const isTarget = one.target.start <= word.start && one.target.end >= word.end
    if (isTarget && targetName(one.target) === name) return one
  }
  return undefined
}

function assigned(node: Node): (Assigned & { readonly target: Node }) | undefined {
  if (node.type === 'AssignmentExpression') {
    return { node, value: node.right, isMore: node.operator === '+=', target: node.left }
  }
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return undefined
  const { object, property, computed } = node.callee
  const [value] = node.arguments
  if (value === undefined || keyName(property, computed) !== 'push') return undefined
  return { node, value, isMore: true, target: object }
}

function targetName(node: Node): string | undefined {
  if (node.type === 'Identifier') return node.name
  if (node.type !== 'MemberExpression' || node.object.type !== 'ThisExpression') return undefined
  const field = keyName(node.property, node.computed)
  return field === undefined ? undefined : `this.${field}`
}

/** Words before `=` and before `push`: where each starts, in order. Declarations are among them. */
function wordsAssigned(text: string, { start, end }: Node): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>()
  for (let at = text.indexOf('=', start); at >= 0 && at < end; at = text.indexOf('=', at + 1)) {
    const before = text[at - 1]
    const after = text[at + 1]
    const isComparison = before === '=' || before === '!' || after === '='
    if (!isComparison && after !== '>') addWordBefore(at, text, places)
  }
  for (
    let at = text.indexOf('push', start);
    at >= 0 && at < end;
    at = text.indexOf('push', at + 1)
  ) {
    addWordBefore(at, text, places)
  }
  for (const list of places.values()) list.sort((a, b) => a - b)
  return places
}

/** Skips the text in between: operators, and the end of an expression, as in `(x) +=`, `this['x'] =`. */
function addWordBefore(position: number, text: string, places: Map<string, number[]>): void {
  let end = position
  while (end > 0 && !isOfWord(text.charCodeAt(end - 1))) end -= 1
  let start = end
  while (start > 0 && isOfWord(text.charCodeAt(start - 1))) start -= 1
  const word = text.slice(start, end)
  const list = places.get(word)
  if (list === undefined) places.set(word, [start])
  else list.push(start)
}

const ofWords = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(/[\w$]/.test(String.fromCharCode(code))),
)

function isOfWord(code: number): boolean {
  return code > 127 || ofWords[code] === 1
}
