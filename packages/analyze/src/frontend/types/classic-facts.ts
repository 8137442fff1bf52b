/** Turns answers of TypeScript 5 and 6 into facts. */
import type { Origin, SymbolFacts, TypeFacts } from '../types.ts'
import type {
  ClassicChecker,
  ClassicModule,
  ClassicNode,
  ClassicProgram,
  ClassicSourceFile,
  ClassicSymbol,
  ClassicType,
} from './classic-api.ts'
import { isPromiseName, writtenName } from './names.ts'
import { originOf } from './origin.ts'

type TypeOnly = Omit<TypeFacts, 'symbol'>

const nothing: TypeOnly = { isThenable: false, returnsThenable: false, isUnknown: true }

export class ClassicFacts {
  readonly #module: ClassicModule
  readonly #program: ClassicProgram
  readonly #checker: ClassicChecker
  readonly #types = new Map<ClassicType, TypeOnly>()
  readonly #symbols = new Map<ClassicSymbol, SymbolFacts | undefined>()

  constructor(module: ClassicModule, program: ClassicProgram) {
    this.#module = module
    this.#program = program
    this.#checker = program.getTypeChecker()
  }

  factsAt(file: string, positions: readonly number[]): readonly (TypeFacts | undefined)[] {
    const source = this.#program.getSourceFile(file)
    if (source === undefined) return positions.map(() => undefined)
    const find = new NodeFinder(this.#module, source)
    return positions.map((position) => {
      const node = find.at(position)
      return node === undefined ? undefined : this.#ofNode(node)
    })
  }

  #ofNode(node: ClassicNode): TypeFacts {
    const facts = this.#ofType(this.#checker.getTypeAtLocation(node))
    const symbol = this.#checker.getSymbolAtLocation(node)
    const named = symbol && this.#ofSymbol(symbol)
    return named === undefined ? facts : { ...facts, symbol: named }
  }

  #ofType(type: ClassicType): TypeOnly {
    let facts = this.#types.get(type)
    if (facts === undefined) {
      facts = this.#findType(type)
      this.#types.set(type, facts)
    }
    return facts
  }

  #findType(type: ClassicType): TypeOnly {
    if (this.#isType(type, 'Any', 'Unknown')) return nothing
    const alternatives = this.#alternatives(type)
    const [only] = alternatives
    return {
      ...(alternatives.length === 1 && only !== undefined ? this.#nameOf(only) : {}),
      isThenable: alternatives.some((one) => this.#isThenable(one)),
      returnsThenable: alternatives.some((one) =>
        one.getCallSignatures().some((signature) => this.#mayBeThenable(signature.getReturnType())),
      ),
      isUnknown: false,
    }
  }

  #alternatives(type: ClassicType): readonly ClassicType[] {
    if (!this.#isType(type, 'Union')) return [type]
    return (type.types ?? []).filter((one) => !this.#isType(one, 'Undefined', 'Null', 'Void'))
  }

  #mayBeThenable(type: ClassicType): boolean {
    return (
      !this.#isType(type, 'Any', 'Unknown') &&
      this.#alternatives(type).some((one) => this.#isThenable(one))
    )
  }

  #isThenable(type: ClassicType): boolean {
    if (!this.#isType(type, 'Object', 'Intersection')) return false
    const name = type.symbol?.name
    return (name !== undefined && isPromiseName(name)) || type.getProperty('then') !== undefined
  }

  #nameOf(type: ClassicType): { readonly typeName?: string; readonly typeOrigin?: Origin } {
    const { symbol } = type
    if (symbol !== undefined && this.#isSymbol(symbol, 'Function', 'Method')) return {}
    const own = symbol && nameOf(symbol)
    const source = own === undefined ? type.aliasSymbol : symbol
    const typeName = own ?? (source && nameOf(source))
    const typeOrigin = source && originOfSymbol(source)
    if (typeName === undefined) return {}
    return typeOrigin === undefined ? { typeName } : { typeName, typeOrigin }
  }

  #ofSymbol(symbol: ClassicSymbol): SymbolFacts | undefined {
    if (!this.#symbols.has(symbol)) this.#symbols.set(symbol, this.#findSymbol(symbol))
    return this.#symbols.get(symbol)
  }

  #findSymbol(symbol: ClassicSymbol): SymbolFacts | undefined {
    const isAlias = this.#isSymbol(symbol, 'Alias')
    const meant = isAlias ? this.#checker.getAliasedSymbol(symbol) : symbol
    const origin = originOfSymbol(meant)
    const name = nameOf(meant) ?? nameOf(symbol)
    if (origin === undefined || name === undefined) return undefined
    const isVariable = this.#isSymbol(
      meant,
      'FunctionScopedVariable',
      'BlockScopedVariable',
      'TypeParameter',
    )
    const container = isVariable || meant.parent === undefined ? undefined : nameOf(meant.parent)
    return container === undefined ? { name, origin } : { name, container, origin }
  }

  #isType(type: ClassicType, ...names: readonly string[]): boolean {
    return names.some((name) => (type.flags & (this.#module.TypeFlags[name] ?? 0)) !== 0)
  }

  #isSymbol(symbol: ClassicSymbol, ...names: readonly string[]): boolean {
    return names.some((name) => (symbol.flags & (this.#module.SymbolFlags[name] ?? 0)) !== 0)
  }
}

/** `export default class Pool` has a symbol called `default`: its declaration knows better. */
function nameOf(symbol: ClassicSymbol): string | undefined {
  const declared = symbol.name === 'default' ? symbol.declarations?.[0]?.name?.text : undefined
  return declared ?? writtenName(symbol.name)
}

function originOfSymbol(symbol: ClassicSymbol): Origin | undefined {
  const declaration = symbol.declarations?.[0]
  return declaration === undefined ? undefined : originOf(declaration.getSourceFile().fileName)
}

/** The innermost node that begins at a position; asked from the start of a file to its end, mostly. */
class NodeFinder {
  readonly #module: ClassicModule
  readonly #source: ClassicSourceFile

  constructor(module: ClassicModule, source: ClassicSourceFile) {
    this.#module = module
    this.#source = source
  }

  at(position: number): ClassicNode | undefined {
    let node: ClassicNode = this.#source
    for (;;) {
      const inner: ClassicNode | undefined = this.#module.forEachChild(node, (child) =>
        child.pos <= position && position < child.end ? child : undefined,
      )
      if (inner === undefined) break
      node = inner
    }
    return node === this.#source || position < node.getStart(this.#source) ? undefined : node
  }
}
