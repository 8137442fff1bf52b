/**
 * Where the data of an expression comes from, as far as its size is concerned.
 *
 * Walks backwards from the expression: through variables, fields, awaits and functions that keep the
 * size, up to a source that a model names, to a parameter of a public function, or to something that
 * is known to be small. Parameters of other functions are followed to the arguments of their callers.
 *
 * I1  Of several possibilities the worst is given: source, input, unknown, bounded.
 * I2  It ends: the walk is bounded in depth and in the number of callers it asks.
 * I3  An expression is asked once for each depth: the paths to a source meet, and the part below them
 * would be walked again for each path that leads there.
 */
import type { Expression, Node } from 'oxc-parser'
import { keyName, unwrap } from '../ir/nodes.ts'
import type { CallSite, FileUnit, FunctionUnit } from '../ir/program.ts'
import type { Catalogue } from '../models/catalogue.ts'
import type { SourceEntry } from '../models/model.ts'
import { declarationOf } from './declarations.ts'
import type { Declaration } from './declarations.ts'
import type { RootFinder } from './roots.ts'
import { isModelled } from './symbols.ts'
import type { SymbolResolver } from './symbols.ts'
import { functionAround, pathFrom, pathTo, pathToCall } from './syntax.ts'
import { assignedIn } from './assignments.ts'
import { isBoundedBefore } from './bounds.ts'
import { bounded, found, isWorst, nameOf, unknown, worse } from './origin-kinds.ts'
import type { Origin } from './origin-kinds.ts'

const maxDepth = 12
const maxCallers = 6
const maxAssignments = 4

/** Their result is small, or no larger than a number says. */
const boundingMethods = new Set(['substr', 'at', 'charAt', 'indexOf', 'digest', 'charCodeAt'])
const slicing = new Set(['slice', 'substring', 'subarray'])
const smallFields = new Set(['length', 'size', 'byteLength', 'status', 'statusCode'])
const smallGlobals = new Set(['Number', 'parseInt', 'parseFloat', 'Boolean', 'isNaN', 'Symbol'])
const smallNamespaces = new Set(['Math', 'Date', 'process', 'performance', 'path', 'os', 'Number'])

export class OriginFinder {
  readonly #catalogue: Catalogue
  readonly #symbols: SymbolResolver
  readonly #roots: RootFinder
  /** Keyed by start: the first function of a file may start where the file does. */
  readonly #units = new Map<FileUnit, Map<number, FunctionUnit>>()
  /** Indexed by depth: it decides how far the walk still goes, and so the answer. */
  readonly #known = Array.from({ length: maxDepth + 1 }, () => new Map<Node, Origin>())

  constructor(catalogue: Catalogue, symbols: SymbolResolver, roots: RootFinder) {
    this.#catalogue = catalogue
    this.#symbols = symbols
    this.#roots = roots
  }

  /** The source that a call reads by itself: `request.json()`. */
  readBy(file: FileUnit, call: CallSite): Origin | undefined {
    const symbol = this.#symbols.symbolOf(call)
    const entry = symbol === undefined ? undefined : this.#catalogue.source(symbol)
    return entry === undefined ? undefined : found(entry, file, call)
  }

  /** `path` leads from the root of the file to the expression. */
  originOf(file: FileUnit, path: readonly Node[], depth = 0): Origin {
    if (depth > maxDepth) return unknown
    const known = this.#known[depth] as Map<Node, Origin>
    const last = path.at(-1) as Expression
    let origin = known.get(last)
    if (origin === undefined) {
      origin = this.#find(file, unwrap(last), path, depth)
      known.set(last, origin)
    }
    return origin
  }

  #find(file: FileUnit, node: Expression, path: readonly Node[], depth: number): Origin {
    switch (node.type) {
      case 'Literal':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
      case 'UnaryExpression':
      case 'ClassExpression':
        return bounded
      case 'TemplateLiteral':
        return this.#worstOf(file, node.expressions, path, depth)
      case 'ArrayExpression':
        return this.#worstOf(file, node.elements, path, depth)
      case 'ObjectExpression':
        return this.#worstOf(
          file,
          node.properties.map((one) => (one.type === 'Property' ? one.value : one.argument)),
          path,
          depth,
        )
      case 'BinaryExpression':
        return node.operator === '+'
          ? this.#worstOf(file, [node.left, node.right], path, depth)
          : bounded
      case 'LogicalExpression':
        return this.#worstOf(file, [node.left, node.right], path, depth)
      case 'ConditionalExpression':
        return this.#worstOf(file, [node.consequent, node.alternate], path, depth)
      case 'AwaitExpression':
        return this.#inside(file, node.argument, path, depth)
      case 'AssignmentExpression':
        return this.#inside(file, node.right, path, depth)
      case 'SequenceExpression':
        return this.#inside(file, node.expressions.at(-1) as Node, path, depth)
      case 'Identifier':
        return this.#name(file, node.name, path, depth)
      case 'MemberExpression':
        return this.#member(file, node, path, depth)
      case 'CallExpression':
      case 'NewExpression':
        return this.#call(file, node, path, depth)
      default:
        return node.type === ('SpreadElement' as string)
          ? this.#inside(file, (node as unknown as { argument: Node }).argument, path, depth)
          : unknown
    }
  }

  #inside(file: FileUnit, child: Node, path: readonly Node[], depth: number): Origin {
    return this.originOf(file, [...path, child], depth + 1)
  }

  /** Holes of a list are nothing. */
  #worstOf(
    file: FileUnit,
    parts: readonly (Node | null)[],
    path: readonly Node[],
    depth: number,
  ): Origin {
    let origin = bounded
    for (const part of parts) {
      if (part !== null) origin = worse(origin, this.#inside(file, part, path, depth))
      if (isWorst(origin)) break
    }
    return origin
  }

  #name(file: FileUnit, name: string, path: readonly Node[], depth: number): Origin {
    const declaration = declarationOf(name, path)
    if (declaration === undefined) return unknown
    const call = path.at(-1) as Node
    if (isBoundedBefore(functionAround(path), name, call.start, file.parsed.text)) return bounded
    switch (declaration.kind) {
      case 'parameter':
        return this.#parameter(file, declaration, name, depth)
      case 'variable':
        return this.#variable(file, declaration, name, path, depth)
      case 'element':
        return this.originOf(file, pathTo(file.parsed.program, declaration.of), depth + 1)
      case 'import':
      case 'other':
        return unknown
    }
  }

  #variable(
    file: FileUnit,
    { init, fields, isModuleLevel, around }: Extract<Declaration, { kind: 'variable' }>,
    name: string,
    path: readonly Node[],
    depth: number,
  ): Origin {
    let origin: Origin | undefined
    if (init !== null) {
      const owner = fields.length === 1 ? nameOf(init) : undefined
      const source =
        owner === undefined ? undefined : this.#catalogue.sourceProperty(owner, fields[0] as string)
      origin =
        source === undefined
          ? this.#within(file, around, init, path, depth + 1)
          : found(source, file, init)
    }
    if (!isModuleLevel) origin = this.#assigned(file, around, name, path, depth + 2, origin)
    return origin ?? unknown
  }

  #parameter(
    file: FileUnit,
    { function: node, index, fields }: Extract<Declaration, { kind: 'parameter' }>,
    name: string,
    depth: number,
  ): Origin {
    const unit = this.#unitOf(file, node)
    if (unit === undefined) return unknown
    const byField =
      fields.length === 1 ? this.#handlerField(unit, index, fields[0] as string) : undefined
    if (byField !== undefined) return found(byField, file, node)
    const heard = this.#heard(unit)
    if (heard !== undefined) return index === 0 ? found(heard, file, node) : unknown
    if (this.#roots.isPublic(unit)) return { kind: 'input', unit, name }
    if (unit.role === 'sync' && index === 0) {
      const element = this.#elementOf(file, unit, depth)
      if (element !== undefined) return element
    }
    if (depth + 2 > maxDepth) return unknown
    let worstYet: Origin | undefined
    for (const site of unit.callers.slice(0, maxCallers)) {
      const path = pathToCall(site)
      const call = path?.at(-1)
      if (path === undefined || (call?.type !== 'CallExpression' && call?.type !== 'NewExpression'))
        continue
      const argument = call.arguments[index]
      if (argument === undefined) continue
      const origin = this.originOf(site.owner.file, [...path, argument], depth + 2)
      worstYet = worse(worstYet ?? bounded, origin)
      if (isWorst(worstYet)) break
    }
    return worstYet ?? unknown
  }

  /** `items.map((item) => …)`: the parameter is a part of the object. */
  #elementOf(file: FileUnit, unit: FunctionUnit, depth: number): Origin | undefined {
    const site = unit.parent?.calls.find(({ callbacks }) =>
      callbacks.some((use) => use.unit === unit),
    )
    const path = site === undefined ? undefined : pathToCall(site)
    const call = path?.at(-1)
    if (path === undefined || call?.type !== 'CallExpression') return undefined
    const callee = unwrap(call.callee)
    if (callee.type !== 'MemberExpression') return undefined
    return this.originOf(file, [...path, callee, callee.object], depth + 1)
  }

  /** The worst of the values assigned to a name inside `around` and of its value `before`. */
  #assigned(
    file: FileUnit,
    around: Node,
    name: string,
    path: readonly Node[],
    depth: number,
    before?: Origin,
  ): Origin | undefined {
    if (before !== undefined && isWorst(before)) return before
    let worstYet = before
    let asked = 0
    for (const { node, value, isMore } of assignedIn(around, name, file.parsed.text)) {
      if (path.includes(node)) continue
      const origin = this.#within(file, around, value, path, depth)
      // A value put together from chunks has no limit, though each chunk has one.
      const all = isMore && origin.kind === 'source' ? { ...origin, limit: undefined } : origin
      worstYet = worse(worstYet ?? bounded, all)
      asked += 1
      if (asked === maxAssignments || isWorst(worstYet)) break
    }
    return worstYet
  }

  /** The values that the class stores in one of its fields. */
  #field(file: FileUnit, field: string, path: readonly Node[], depth: number): Origin {
    const owner = path.findLast(({ type }) => type === 'ClassBody')
    if (owner === undefined || depth > maxDepth - 3) return unknown
    return this.#assigned(file, owner, `this.${field}`, path, depth + 3) ?? unknown
  }

  /** The body of a request, taken out of the first parameter of its handler. */
  #handlerField(unit: FunctionUnit, index: number, field: string): SourceEntry | undefined {
    return index === 0 && unit.role === 'request'
      ? this.#catalogue.sourceProperty('req', field)
      : undefined
  }

  /** The argument of a listener: `socket.on('message', (data) => …)`. */
  #heard(unit: FunctionUnit): SourceEntry | undefined {
    if (unit.role !== 'event' || unit.parent === undefined) return undefined
    const site = unit.parent.calls.find(({ callbacks }) =>
      callbacks.some((use) => use.unit === unit),
    )
    if (site === undefined) return undefined
    const text = site.owner.file.parsed.text.slice(site.start, unit.start)
    const [, object, event] = /([\w$]+)\s*\??\.\s*\w+\(\s*['"]([\w-]+)['"]\s*,\s*$/.exec(text) ?? []
    if (object === undefined || event === undefined) return undefined
    const isChild = isForked(site.owner.file.parsed.text, object)
    return this.#catalogue.sourceEvent(event, isChild ? 'ChildProcess' : object)
  }

  #member(
    file: FileUnit,
    node: Extract<Expression, { type: 'MemberExpression' }>,
    path: readonly Node[],
    depth: number,
  ): Origin {
    const field = keyName(node.property, node.computed)
    if (field !== undefined && smallFields.has(field)) return bounded
    const owner = nameOf(node.object)
    if (owner !== undefined && field !== undefined) {
      const source = this.#catalogue.sourceProperty(owner, field)
      if (source !== undefined) {
        const text = file.parsed.text.slice(node.start, node.end)
        return isBoundedBefore(functionAround(path), text, node.start, file.parsed.text)
          ? bounded
          : found(source, file, node)
      }
      const declaration =
        node.object.type === 'Identifier' ? declarationOf(node.object.name, path) : undefined
      if (declaration?.kind === 'parameter') {
        const unit = this.#unitOf(file, declaration.function)
        const byField =
          unit === undefined ? undefined : this.#handlerField(unit, declaration.index, field)
        if (byField !== undefined) return found(byField, file, node)
      }
    }
    const text = file.parsed.text.slice(node.start, node.end)
    if (isBoundedBefore(functionAround(path), text, node.start, file.parsed.text)) return bounded
    if (node.object.type === 'ThisExpression') {
      return field === undefined ? unknown : this.#field(file, field, path, depth)
    }
    return this.originOf(file, [...path, node.object], depth + 1)
  }

  #call(
    file: FileUnit,
    node: Extract<Expression, { type: 'CallExpression' | 'NewExpression' }>,
    path: readonly Node[],
    depth: number,
  ): Origin {
    const site = this.#siteAt(file, node, path)
    const symbol = site === undefined ? undefined : this.#symbols.symbolOf(site)
    if (symbol !== undefined) {
      const isKnown = isModelled(symbol, this.#catalogue)
      const source = isKnown ? this.#catalogue.source(symbol) : undefined
      if (source !== undefined) {
        const text = file.parsed.text.slice(node.start, node.end)
        return /\b(?:limit|maxBuffer|maxSize|maxLength)\b/.test(text)
          ? bounded
          : found(source, file, node)
      }
      if (isKnown && this.#catalogue.isBound(symbol)) return bounded
      if (symbol.module === 'global' && smallGlobals.has(symbol.name)) return bounded
      if (symbol.type !== undefined && smallNamespaces.has(symbol.type)) return bounded
    }
    if (site !== undefined && site.targets.length > 0) return unknown
    const callee = unwrap(node.callee)
    const [first] = node.arguments
    if (callee.type === 'MemberExpression') {
      const name = keyName(callee.property, callee.computed) ?? ''
      if (boundingMethods.has(name)) return bounded
      if (slicing.has(name) && node.arguments.length > 1) return bounded
      // For a call on a namespace (`Object.keys(x)`, `JSON.parse(x)`) the argument counts, for a
      // method of a value the value.
      const isNamespace = callee.object.type === 'Identifier' && /^[A-Z]/.test(callee.object.name)
      if (!isNamespace) return this.originOf(file, [...path, callee, callee.object], depth + 1)
    }
    return first === undefined ? unknown : this.originOf(file, [...path, first], depth + 1)
  }

  /** Handles a node inside `around`, which is on the path. */
  #within(file: FileUnit, around: Node, node: Node, path: readonly Node[], depth: number): Origin {
    if (depth > maxDepth) return unknown
    const to = pathFrom(path.slice(0, path.lastIndexOf(around) + 1), node)
    const index = to.indexOf(node)
    return this.originOf(file, index < 0 ? [...to, node] : to.slice(0, index + 1), depth)
  }

  #unitOf(file: FileUnit, node: Node): FunctionUnit | undefined {
    let units = this.#units.get(file)
    if (units === undefined) {
      units = new Map()
      for (const unit of file.units) units.set(unit.start, unit)
      this.#units.set(file, units)
    }
    const unit = units.get(node.start)
    return unit?.node === node ? unit : file.units.findLast((other) => other.node === node)
  }

  /** The call as the program knows it, mostly among those of the function around it. */
  #siteAt(file: FileUnit, node: Node, path: readonly Node[]): CallSite | undefined {
    const around = this.#unitOf(file, functionAround(path) ?? file.parsed.program)
    const site = around === undefined ? undefined : callIn(around, node)
    if (site !== undefined) return site
    for (let i = file.units.length - 1; i >= 0; i -= 1) {
      const unit = file.units[i] as FunctionUnit
      const other = mayHave(unit, node) ? callIn(unit, node) : undefined
      if (other !== undefined) return other
    }
    return undefined
  }
}

/** Its calls are in its text; but a constructor also has those of the fields of its class. */
function mayHave({ start, end, class: owner }: FunctionUnit, node: Node): boolean {
  if (start <= node.start && end >= node.end) return true
  return owner !== undefined && owner.start <= node.start && owner.end >= node.end
}

function callIn({ calls }: FunctionUnit, { start, end }: Node): CallSite | undefined {
  return calls.findLast((site) => site.start === start && site.end === end)
}

/** `this.child = fork(…)`, found in the text of the file: it is written down once. */
function isForked(text: string, name: string): boolean {
  const plain = name.replaceAll('$', '\\$')
  return new RegExp(`(?<![\\w$])${plain}\\s*=\\s*[^;\\n]*\\bfork\\)?\\(`).test(text)
}
