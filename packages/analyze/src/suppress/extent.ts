/**
 * How far the code reaches that a comment stands above: formatters break lines where they like, so the
 * finding may be on the third line of a statement.
 *
 * A statement is covered up to its end, a loop or a condition up to the end of its head, and neither
 * into a function that it contains: a comment accepts one place, not a whole body.
 */
import type { Node } from 'oxc-parser'
import type { ParsedFile } from '../frontend/parse.ts'

const simple = new Set([
  'ExpressionStatement',
  'VariableDeclaration',
  'ReturnStatement',
  'ThrowStatement',
  'PropertyDefinition',
])

/** What stands between the brackets. */
const heads: Readonly<Record<string, readonly string[]>> = {
  IfStatement: ['test'],
  WhileStatement: ['test'],
  SwitchStatement: ['discriminant'],
  ForStatement: ['init', 'test', 'update'],
  ForOfStatement: ['left', 'right'],
  ForInStatement: ['left', 'right'],
}

/** The last line of what begins on a line; the line itself where nothing begins. */
export function lastLineOf(parsed: ParsedFile, line: number): number {
  let last = line
  const rest: unknown[] = [parsed.program]
  for (let item = rest.pop(); item !== undefined; item = rest.pop()) {
    if (Array.isArray(item)) {
      for (const one of item) if (one !== null) rest.push(one)
      continue
    }
    if (!isNode(item)) continue
    const from = parsed.lineAt(item.start).line
    // A node that ends before the line, or begins after it, contains none that begins on it.
    if (from > line || parsed.lineAt(item.end).line < line) continue
    if (from === line) last = Math.max(last, parsed.lineAt(endOf(item) ?? item.start).line)
    for (const value of Object.values(item)) {
      if (typeof value === 'object' && value !== null) rest.push(value)
    }
  }
  return last
}

function endOf(node: Node): number | undefined {
  if (simple.has(node.type)) return Math.min(node.end, bodyIn(node))
  const parts = heads[node.type]
  if (parts === undefined) return undefined
  const fields = node as unknown as Readonly<Record<string, unknown>>
  const ends = parts
    .map((name) => fields[name])
    .filter(isNode)
    .map((part) => Math.min(part.end, bodyIn(part)))
  return ends.length === 0 ? undefined : Math.max(...ends)
}

/** Where the body of the first function inside begins. */
function bodyIn(node: Node): number {
  let first = Infinity
  const rest: unknown[] = [node]
  for (let item = rest.pop(); item !== undefined; item = rest.pop()) {
    if (Array.isArray(item)) {
      for (const one of item) if (one !== null) rest.push(one)
      continue
    }
    if (!isNode(item) || item.start >= first) continue
    const { body } = item as { body?: unknown }
    if (isNode(body) && body.type === 'BlockStatement') first = Math.min(first, body.start)
    for (const value of Object.values(item)) {
      if (typeof value === 'object' && value !== null) rest.push(value)
    }
  }
  return first
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}
