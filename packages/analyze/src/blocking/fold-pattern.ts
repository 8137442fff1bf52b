/**
 * Regular expressions that are put together: `new RegExp(prefix + '[a-z]+$', 'i')`.
 *
 * Texts are folded where every part is written down: literals, constants of this module or of one it
 * imports, fields of constant objects, templates, `String.raw`, `+`, `join`, `repeat`, and `.source`
 * of another expression. A part that is only known at run time makes the whole unknown.
 *
 * I1  What is folded holds if every variable it `assumes` to be a constant is one. The caller
 * looks that up when needed, because it takes longer than all the rest: most patterns are harmless anyway.
 */
import type { Expression, Node } from 'oxc-parser'
import { keyName, unwrap } from '../ir/nodes.ts'
import type { FileUnit } from '../ir/program.ts'
import { declarationOf } from './declarations.ts'
import { pathTo } from './syntax.ts'

export interface FoldedPattern {
  readonly source: string
  readonly flags: string
  /** Where it is written; absent when a module puts it together as it is loaded. */
  readonly at?: { readonly file: FileUnit; readonly start: number; readonly end: number }
  /** Variables that must be assigned once, or it means something else. */
  readonly assumes?: readonly Variable[]
}

interface Variable {
  readonly file: FileUnit
  readonly name: string
}

/** Where an expression stands: what its names mean depends on it. */
interface Placed {
  readonly file: FileUnit
  /** The nodes from the root to the expression. */
  readonly path: readonly Node[]
  /** Where assumptions are collected. */
  readonly assumed: Variable[]
}

const maxDepth = 16
const maxLength = 20_000

export function foldPattern(file: FileUnit, path: readonly Node[]): FoldedPattern | undefined {
  const assumes: Variable[] = []
  const folded = patternAt({ file, path, assumed: assumes }, 0)
  return folded === undefined ? undefined : { ...folded, assumes }
}

function patternAt(at: Placed, depth: number): FoldedPattern | undefined {
  if (depth > maxDepth) return undefined
  const node = unwrap(at.path.at(-1) as Expression)
  if (node.type === 'Literal') {
    if (!('regex' in node)) return undefined
    const { start, end } = node
    return {
      source: node.regex.pattern,
      flags: node.regex.flags,
      at: { file: at.file, start, end },
    }
  }
  if (node.type === 'NewExpression' || node.type === 'CallExpression') {
    const callee = unwrap(node.callee)
    if (callee.type !== 'Identifier' || callee.name !== 'RegExp') return undefined
    const [source, flags] = node.arguments
    if (source === undefined) return undefined
    const inner = patternAt(into(at, source), depth + 1)
    const text = inner?.source ?? foldText(into(at, source), depth + 1)
    const mode = flags === undefined ? (inner?.flags ?? '') : foldText(into(at, flags), depth + 1)
    if (text === undefined || mode === undefined) return undefined
    const { start, end } = node
    return { source: text, flags: mode, at: { file: at.file, start, end } }
  }
  const meant = definitionOf(at, node)
  return meant === undefined ? undefined : patternAt(meant, depth + 1)
}

function foldText(at: Placed, depth: number): string | undefined {
  if (depth > maxDepth) return undefined
  const node = unwrap(at.path.at(-1) as Expression)
  const inner = (child: Node): string | undefined => foldText(into(at, child), depth + 1)
  switch (node.type) {
    case 'Literal':
      return typeof node.value === 'string' || typeof node.value === 'number'
        ? String(node.value)
        : undefined
    case 'TemplateLiteral':
      return joined(
        node.quasis.map(({ value }) => value.cooked ?? undefined),
        node.expressions.map(inner),
      )
    case 'TaggedTemplateExpression': {
      const isRaw = at.file.parsed.text.slice(node.tag.start, node.tag.end) === 'String.raw'
      const { quasis, expressions } = node.quasi
      return isRaw
        ? joined(
            quasis.map(({ value }) => value.raw),
            expressions.map(inner),
          )
        : undefined
    }
    case 'BinaryExpression': {
      if (node.operator !== '+') return undefined
      const left = inner(node.left)
      const right = left === undefined ? undefined : inner(node.right)
      return left === undefined || right === undefined ? undefined : short(left + right)
    }
    case 'CallExpression':
      return foldCall(at, node, depth)
    case 'MemberExpression':
      if (keyName(node.property, node.computed) === 'source') {
        const pattern = patternAt(into(at, node.object), depth + 1)
        if (pattern !== undefined) return pattern.source
      }
      break
    default:
      break
  }
  const meant = definitionOf(at, node)
  return meant === undefined ? undefined : foldText(meant, depth + 1)
}

/** `['a', 'b'].join('|')`, `'a'.repeat(3)`, `'a'.concat('b')`. */
function foldCall(
  at: Placed,
  node: Extract<Node, { type: 'CallExpression' }>,
  depth: number,
): string | undefined {
  const callee = unwrap(node.callee)
  if (callee.type !== 'MemberExpression') return undefined
  const name = keyName(callee.property, callee.computed)
  const [first] = node.arguments
  const argument = first === undefined ? undefined : foldText(into(at, first), depth + 1)
  if (name === 'join') {
    const list = foldList(into(at, callee.object), depth + 1)
    return list === undefined ? undefined : short(list.join(first === undefined ? ',' : argument))
  }
  const text = foldText(into(at, callee.object), depth + 1)
  if (text === undefined || argument === undefined) return undefined
  if (name === 'concat') return short(text + argument)
  const times = Number(argument)
  return name === 'repeat' && times * text.length <= maxLength ? text.repeat(times) : undefined
}

function foldList(at: Placed, depth: number): readonly string[] | undefined {
  if (depth > maxDepth) return undefined
  const node = unwrap(at.path.at(-1) as Expression)
  if (node.type === 'ArrayExpression') {
    const texts = node.elements.map((one) =>
      one === null ? undefined : foldText(into(at, one), depth + 1),
    )
    return texts.every((text) => text !== undefined) ? texts : undefined
  }
  const meant = definitionOf(at, node)
  return meant === undefined ? undefined : foldList(meant, depth + 1)
}

/** The expression that a constant name, or a field of a constant object, stands for. */
function definitionOf(at: Placed, node: Expression): Placed | undefined {
  if (node.type === 'Identifier') return constant(at, node.name)
  if (node.type !== 'MemberExpression') return undefined
  const field = keyName(node.property, node.computed)
  const object = unwrap(node.object)
  const owner = object.type === 'Identifier' ? constant(at, object.name) : undefined
  const value = owner === undefined ? undefined : unwrap(owner.path.at(-1) as Expression)
  if (owner === undefined || value?.type !== 'ObjectExpression') return undefined
  for (const property of value.properties) {
    if (property.type !== 'Property') continue
    if (keyName(property.key, property.computed) === field) return into(owner, property.value)
  }
  return undefined
}

function constant(at: Placed, name: string): Placed | undefined {
  const declaration = declarationOf(name, at.path)
  if (declaration?.kind === 'variable') {
    const { init, fields } = declaration
    if (init === null || fields.length > 0) return undefined
    if (!declaration.isConstant) at.assumed.push({ file: at.file, name })
    return { ...at, path: withEnd(pathTo(at.file.parsed.program, init), init) }
  }
  if (declaration?.kind !== 'import') return undefined
  const file = at.file.imports.get(declaration.source)
  if (file === undefined) return undefined
  const { program } = file.parsed
  const exported = declarationOf(declaration.name, [program])
  if (exported?.kind !== 'variable' || exported.init === null || !exported.isConstant)
    return undefined
  return { ...at, file, path: withEnd(pathTo(program, exported.init), exported.init) }
}

const into = (at: Placed, node: Node): Placed => ({ ...at, path: [...at.path, node] })

function withEnd(path: readonly Node[], node: Node): readonly Node[] {
  const index = path.indexOf(node)
  return index < 0 ? [...path, node] : path.slice(0, index + 1)
}

const short = (text: string): string | undefined => (text.length <= maxLength ? text : undefined)

function joined(
  fixed: readonly (string | undefined)[],
  values: readonly (string | undefined)[],
): string | undefined {
  let text = ''
  for (const [i, part] of fixed.entries()) {
    if (part === undefined) return undefined
    text += part
    if (i < values.length) {
      const value = values[i]
      if (value === undefined) return undefined
      text += value
    }
  }
  return short(text)
}
