/** Turns answers of TypeScript 5 and 6 into facts. */
import type { Origin, SymbolFacts } from '../types.ts'
import type {
  ClassicChecker,
  ClassicModule,
  ClassicNode,
  ClassicProgram,
  ClassicSourceFile,
  ClassicSymbol,
} from './classic-api.ts'
import { writtenName } from './names.ts'
import { originOf } from './origin.ts'

export class ClassicSymbols {
  readonly #module: ClassicModule
  readonly #program: ClassicProgram
  readonly #checker: ClassicChecker
  readonly #known = new Map<ClassicSymbol, SymbolFacts | undefined>()

  constructor(module: ClassicModule, program: ClassicProgram) {
    this.#module = module
    this.#program = program
    this.#checker = program.getTypeChecker()
  }

  symbolsAt(file: string, positions: readonly number[]): readonly (SymbolFacts | undefined)[] {
    const source = this.#program.getSourceFile(file)
    if (source === undefined) return positions.map(() => undefined)
    const find = new NodeFinder(this.#module, source)
    return positions.map((position) => {
      const node = find.at(position)
      const symbol = node && this.#checker.getSymbolAtLocation(node)
      return symbol && this.#factsOf(symbol)
    })
  }

  #factsOf(symbol: ClassicSymbol): SymbolFacts | undefined {
    if (!this.#known.has(symbol)) this.#known.set(symbol, this.#find(symbol))
    return this.#known.get(symbol)
  }

  #find(symbol: ClassicSymbol): SymbolFacts | undefined {
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
