/**
 * Turns answers of TypeScript 7 into facts.
 *
 * Every question is a round trip to another process of about 0.05 ms, so positions are asked by the
 * hundred, and the facts about a symbol are found once for each. Only symbols are asked for: see
 * docs/decisions/0323.
 */
import type { Origin, SymbolFacts } from '../types.ts'
import { writtenName } from './names.ts'
import type { NativeChecker, NativeModule, NativeSymbol } from './native-api.ts'
import { originOf } from './origin.ts'

/** Symbols of one project, valid until its next snapshot. */
export class NativeSymbols {
  readonly #checker: NativeChecker
  readonly #flags: Flags
  /** Paths of the compiler may be in lower case: as the program writes them. */
  readonly #spelling: ReadonlyMap<string, string>
  readonly #known = new Map<number, SymbolFacts | undefined>()

  constructor(checker: NativeChecker, flags: Flags, spelling: ReadonlyMap<string, string>) {
    this.#checker = checker
    this.#flags = flags
    this.#spelling = spelling
  }

  symbolsAt(file: string, positions: readonly number[]): readonly (SymbolFacts | undefined)[] {
    const symbols = this.#checker.getSymbolAtPosition(file, positions)
    return symbols.map((symbol) => symbol && this.#factsOf(symbol))
  }

  /** One object for a symbol, however often it is used: it is sent to another thread. */
  #factsOf(symbol: NativeSymbol): SymbolFacts | undefined {
    if (!this.#known.has(symbol.id)) this.#known.set(symbol.id, this.#find(symbol))
    return this.#known.get(symbol.id)
  }

  #find(symbol: NativeSymbol): SymbolFacts | undefined {
    const meant = this.#flags.isAlias(symbol) ? this.#checker.getAliasedSymbol(symbol) : symbol
    const origin = meant && this.#originOf(meant)
    if (meant === undefined || origin === undefined) return undefined
    const name = writtenName(meant.name) ?? writtenName(symbol.name)
    if (name === undefined) return undefined
    const parent = this.#flags.isMember(meant) ? meant.getParent() : undefined
    const container = parent && writtenName(parent.name)
    return container === undefined ? { name, origin } : { name, container, origin }
  }

  #originOf(symbol: NativeSymbol): Origin | undefined {
    const path = symbol.declarations[0]?.path
    return path === undefined ? undefined : originOf(this.#spelling.get(path) ?? path)
  }
}

/** The numbers of flags differ between versions: they are taken from the compiler. */
export class Flags {
  readonly #alias: number
  readonly #variable: number

  constructor({ SymbolFlags: flags }: NativeModule) {
    const any = (...names: readonly string[]): number =>
      names.reduce((all, name) => all | (flags[name] ?? 0), 0)
    this.#alias = any('Alias')
    this.#variable = any('FunctionScopedVariable', 'BlockScopedVariable', 'TypeParameter')
  }

  isAlias(symbol: NativeSymbol): boolean {
    return (symbol.flags & this.#alias) !== 0
  }

  /** Whether a class, interface or namespace may hold it. */
  isMember(symbol: NativeSymbol): boolean {
    return (symbol.flags & this.#variable) === 0
  }
}
