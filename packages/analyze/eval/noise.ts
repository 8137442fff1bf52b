/**
 * The same program with names that say nothing.
 *
 * Every name that the program itself declares becomes a meaningless one of the same kind, everywhere and
 * in the same way, so that the program does the same as before. Names of the platform keep their meaning
 * (`close`, `then`, `Map`), as do names that come from packages: they are calls into code that is not
 * renamed. A rule that decides by what a program calls its own things gives another answer on this text.
 */
import { createHash } from 'node:crypto'
import { builtinModules, createRequire } from 'node:module'
import type { Node } from 'oxc-parser'
import { parseSource } from '../src/frontend/parse.ts'

const require = createRequire(import.meta.url)

/** Words of the language that the tree has as identifiers. */
const words =
  'undefined NaN Infinity arguments async await of get set static constructor prototype exports module require default as from type let yield this super meta target accessor __awaiter __generator __esModule __proto__ __dirname __filename'

let known: ReadonlySet<string> | undefined

/** Names that objects of the platform have. */
export function platformNames(): ReadonlySet<string> {
  if (known !== undefined) return known
  const names = new Set<string>(words.split(' '))
  const seen = new Set<unknown>()
  const visit = (value: unknown, depth: number): void => {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return
    if (depth > 3 || seen.has(value)) return
    seen.add(value)
    for (const key of Object.getOwnPropertyNames(value)) {
      names.add(key)
      const descriptor = Object.getOwnPropertyDescriptor(value, key)
      visit(descriptor?.value, depth + 1)
    }
    visit(Object.getPrototypeOf(value), depth + 1)
  }
  visit(globalThis, 0)
  for (const name of builtinModules) {
    if (name.startsWith('_') || name === 'sys' || name === 'punycode') continue
    names.add(name)
    visit(require(name), 0)
  }
  known = names
  return names
}

interface Named {
  readonly start: number
  readonly end: number
  readonly name: string
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}

function visitAll(node: Node, visit: (node: Node) => void): void {
  const stack: Node[] = [node]
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    visit(at)
    for (const [key, value] of Object.entries(at)) {
      if (key === 'parent') continue
      if (Array.isArray(value)) {
        for (const one of value) if (isNode(one)) stack.push(one)
      } else if (isNode(value)) stack.push(value)
    }
  }
}

function isOwnModule(source: unknown): boolean {
  return typeof source === 'string' && source.startsWith('.')
}

/** A call of `require` with the name of a package. */
function isPackageRequire(node: Node | null): boolean {
  if (node?.type !== 'CallExpression' || node.callee.type !== 'Identifier') return false
  const [first] = node.arguments
  return node.callee.name === 'require' && first?.type === 'Literal' && !isOwnModule(first.value)
}

interface Names {
  readonly declared: Set<string>
  readonly foreign: Set<string>
  readonly uses: Named[]
}

function collect(file: string, text: string, names: Names): void {
  const { program } = parseSource(file, text)
  const declare = (node: Node | null | undefined): void => {
    if (node === null || node === undefined) return
    switch (node.type) {
      case 'Identifier':
      case 'PrivateIdentifier':
        names.declared.add(node.name)
        break
      case 'ObjectPattern':
        for (const one of node.properties)
          declare(one.type === 'RestElement' ? one.argument : one.value)
        break
      case 'ArrayPattern':
        for (const one of node.elements) declare(one)
        break
      case 'AssignmentPattern':
        declare(node.left)
        break
      case 'RestElement':
        declare(node.argument)
        break
      case 'TSParameterProperty':
        declare(node.parameter)
        break
      default:
    }
  }
  visitAll(program, (node) => {
    switch (node.type) {
      case 'Identifier':
      case 'PrivateIdentifier': {
        const offset = node.type === 'PrivateIdentifier' ? 1 : 0
        const end = node.start + offset + node.name.length
        names.uses.push({ start: node.start + offset, end, name: node.name })
        break
      }
      case 'VariableDeclarator':
        declare(node.id)
        if (isPackageRequire(node.init) && node.id.type === 'ObjectPattern')
          for (const one of node.id.properties)
            if (one.type === 'Property' && one.key.type === 'Identifier')
              names.foreign.add(one.key.name)
        break
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        if (node.type !== 'ArrowFunctionExpression') declare(node.id)
        for (const one of node.params) declare(one)
        break
      case 'ClassDeclaration':
      case 'ClassExpression':
        declare(node.id)
        break
      case 'MethodDefinition':
      case 'PropertyDefinition':
        if (!node.computed) declare(node.key)
        break
      case 'Property':
        if (!node.computed && node.value.type !== 'Identifier') declare(node.key)
        break
      case 'AssignmentExpression':
        if (node.left.type === 'MemberExpression' && !node.left.computed)
          declare(node.left.property)
        break
      case 'ImportDeclaration':
        for (const one of node.specifiers) {
          declare(one.local)
          if (one.type === 'ImportSpecifier' && !isOwnModule(node.source.value))
            if (one.imported.type === 'Identifier') names.foreign.add(one.imported.name)
        }
        break
      default:
    }
  })
}

export interface Noise {
  /** By path. */
  readonly texts: ReadonlyMap<string, string>
  rename(name: string): string
}

function noiseFor(name: string): string {
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 6)
  // Conventions of spelling are syntax to some readers: a constructor keeps its capital.
  return /^[A-Z]/.test(name) ? `Q${digest}` : `q${digest}`
}

/** Replaces the names of a program in all of its files; lines stay where they are. */
export function replaceNames(texts: ReadonlyMap<string, string>): Noise {
  const declared = new Set<string>()
  const foreign = new Set<string>()
  const uses = new Map<string, Named[]>()
  for (const [file, source] of texts) {
    const text = source.charCodeAt(0) === 0xfeff ? source.slice(1) : source
    const own: Named[] = []
    collect(file, text, { declared, foreign, uses: own })
    uses.set(file, own)
  }
  const kept = platformNames()
  const rename = (name: string): string =>
    declared.has(name) && !foreign.has(name) && !kept.has(name) ? noiseFor(name) : name
  const renamed = new Map<string, string>()
  for (const [file, source] of texts) {
    const text = source.charCodeAt(0) === 0xfeff ? source.slice(1) : source
    const own = new Map(uses.get(file)!.map((one) => [one.start, one]))
    const parts: string[] = []
    let at = 0
    for (const one of [...own.values()].sort((a, b) => a.start - b.start)) {
      if (text.slice(one.start, one.end) !== one.name) continue
      parts.push(text.slice(at, one.start), rename(one.name))
      at = one.end
    }
    parts.push(text.slice(at))
    renamed.set(file, parts.join(''))
  }
  return { texts: renamed, rename }
}
