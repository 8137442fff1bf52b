/**
 * Turns answers of TypeScript 7 into facts.
 *
 * Every question is a round trip to another process of about 0.1 ms, so they are asked by the
 * hundred, and what follows from a type or a symbol is found out once for each. A position costs the
 * compiler 0.08 ms whatever is asked about it, so it is asked for its symbol only, and the type is
 * that of the symbol: without narrowing, which no fact here depends on. See docs/decisions/0323.
 */
import type { Origin, SymbolFacts, TypeFacts } from '../types.ts'
import { isPromiseName, writtenName } from './names.ts'
import type { NativeChecker, NativeModule, NativeSymbol, NativeType } from './native-api.ts'
import { originOf } from './origin.ts'

type TypeOnly = Omit<TypeFacts, 'symbol'>

const nothing: TypeOnly = { isThenable: false, returnsThenable: false, isUnknown: true }

/** Overloads beyond these are not looked at. */
const maximumSignatures = 4

/** Facts of one project, valid until its next snapshot. */
export class NativeFacts {
  readonly #checker: NativeChecker
  readonly #flags: Flags
  /** Paths of the compiler may be in lower case: as the program writes them. */
  readonly #spelling: ReadonlyMap<string, string>
  readonly #typeOf = new Map<number, NativeType | undefined>()
  readonly #types = new Map<number, TypeOnly>()
  readonly #facts = new Map<number, TypeFacts>()
  readonly #thenables = new Map<number, boolean>()
  readonly #callables = new Map<number, boolean>()

  constructor(checker: NativeChecker, flags: Flags, spelling: ReadonlyMap<string, string>) {
    this.#checker = checker
    this.#flags = flags
    this.#spelling = spelling
  }

  factsAt(file: string, positions: readonly number[]): readonly (TypeFacts | undefined)[] {
    const symbols = this.#checker.getSymbolAtPosition(file, positions)
    this.#askTypes(symbols)
    const unnamed = positions.filter((_, index) => symbols[index] === undefined)
    const types = this.#typesAt(file, unnamed)
    return positions.map((position, index) => {
      const symbol = symbols[index]
      const type = symbol === undefined ? types.get(position) : this.#typeOf.get(symbol.id)
      if (type === undefined && symbol === undefined) return undefined
      const facts = type === undefined ? nothing : this.#ofType(type)
      return symbol === undefined ? facts : this.#together(symbol, facts)
    })
  }

  /** One object for a symbol, however often it is used: it is sent to another thread. */
  #together(symbol: NativeSymbol, facts: TypeOnly): TypeFacts {
    return remember(this.#facts, symbol.id, () => {
      const named = this.#findSymbol(symbol)
      return named === undefined ? facts : { ...facts, symbol: named }
    })
  }

  /** The types of symbols that were not met before. */
  #askTypes(symbols: readonly (NativeSymbol | undefined)[]): void {
    const fresh = new Map<number, NativeSymbol>()
    for (const symbol of symbols) {
      if (symbol !== undefined && !this.#typeOf.has(symbol.id)) fresh.set(symbol.id, symbol)
    }
    if (fresh.size === 0) return
    const asked = [...fresh.values()]
    const types = this.#checker.getTypeOfSymbol(asked)
    for (const [index, symbol] of asked.entries()) this.#typeOf.set(symbol.id, types[index])
  }

  #typesAt(
    file: string,
    positions: readonly number[],
  ): ReadonlyMap<number, NativeType | undefined> {
    if (positions.length === 0) return new Map()
    const types = this.#checker.getTypeAtPosition(file, positions)
    return new Map(positions.map((position, index) => [position, types[index]]))
  }

  #ofType(type: NativeType): TypeOnly {
    let facts = this.#types.get(type.id)
    if (facts === undefined) {
      facts = this.#findType(type)
      this.#types.set(type.id, facts)
    }
    return facts
  }

  #findType(type: NativeType): TypeOnly {
    if (this.#flags.has(type, 'anyOrUnknown')) return nothing
    const alternatives = this.#alternatives(type)
    const [only] = alternatives
    const name = alternatives.length === 1 && only !== undefined ? this.#nameOf(only) : {}
    return {
      ...name,
      isThenable: alternatives.some((one) => this.#isThenable(one)),
      returnsThenable: alternatives.some((one) => this.#returnsThenable(one)),
      isUnknown: false,
    }
  }

  /** The members of a union without undefined and null; a type that is none is its own. */
  #alternatives(type: NativeType): readonly NativeType[] {
    if (!this.#flags.has(type, 'union')) return [type]
    return (type.getTypes() ?? []).filter((one) => !this.#flags.has(one, 'nullish'))
  }

  #nameOf(type: NativeType): { readonly typeName?: string; readonly typeOrigin?: Origin } {
    const symbol = type.getSymbol()
    if (symbol !== undefined && this.#flags.isFunction(symbol)) return {}
    const own = symbol && writtenName(symbol.name)
    const source = own === undefined ? type.getAliasSymbol() : symbol
    // `export default class Pool` is called `default`: only the printed type has its name.
    const isDefault = symbol?.name === 'default'
    const printed = isDefault ? /^\w+/.exec(this.#checker.typeToString(type))?.[0] : undefined
    const typeName = printed ?? own ?? (source && writtenName(source.name))
    const typeOrigin = this.#originOf(isDefault ? symbol : source)
    if (typeName === undefined) return {}
    return typeOrigin === undefined ? { typeName } : { typeName, typeOrigin }
  }

  #isThenable(type: NativeType): boolean {
    if (this.#flags.has(type, 'intersection')) {
      return (type.getTypes() ?? []).some((one) => this.#isThenable(one))
    }
    if (!this.#flags.has(type, 'object')) return false
    const symbol = type.getSymbol()
    if (symbol === undefined) return false
    if (isPromiseName(symbol.name)) return true
    if (this.#flags.isFunction(symbol) || this.#originOf(symbol)?.kind === 'language') return false
    return remember(
      this.#thenables,
      this.#sharedBy(symbol, type),
      () => this.#checker.getPropertyOfType(type, 'then') !== undefined,
    )
  }

  #returnsThenable(type: NativeType): boolean {
    if (!this.#flags.has(type, 'object')) return false
    const symbol = type.getSymbol()
    if (symbol === undefined || !this.#flags.mayBeCallable(symbol)) return false
    return remember(this.#callables, this.#sharedBy(symbol, type), () =>
      this.#checker
        .getSignaturesOfType(type, this.#flags.callSignature)
        .slice(0, maximumSignatures)
        .some((signature) => {
          const result = this.#checker.getReturnTypeOfSignature(signature)
          return (
            result !== undefined &&
            !this.#flags.has(result, 'anyOrUnknown') &&
            this.#alternatives(result).some((one) => this.#isThenable(one))
          )
        }),
    )
  }

  /** Instances of a generic class differ as types, not in what they can do. */
  #sharedBy(symbol: NativeSymbol, type: NativeType): number {
    return this.#flags.isNominal(symbol) ? -symbol.id : type.id
  }

  #findSymbol(symbol: NativeSymbol): SymbolFacts | undefined {
    const meant = this.#flags.isAlias(symbol) ? this.#checker.getAliasedSymbol(symbol) : symbol
    const origin = meant && this.#originOf(meant)
    if (meant === undefined || origin === undefined) return undefined
    const name = writtenName(meant.name) ?? writtenName(symbol.name)
    if (name === undefined) return undefined
    const parent = this.#flags.isMember(meant) ? meant.getParent() : undefined
    const container = parent && writtenName(parent.name)
    return container === undefined ? { name, origin } : { name, container, origin }
  }

  #originOf(symbol: NativeSymbol | undefined): Origin | undefined {
    const path = symbol?.declarations[0]?.path
    return path === undefined ? undefined : originOf(this.#spelling.get(path) ?? path)
  }
}

function remember<K, V>(known: Map<K, V>, key: K, find: () => V): V {
  let value = known.get(key)
  if (value === undefined) {
    value = find()
    known.set(key, value)
  }
  return value
}

type TypeKind = 'anyOrUnknown' | 'union' | 'intersection' | 'object' | 'nullish'

/** The numbers of flags differ between versions: they are taken from the compiler. */
export class Flags {
  readonly callSignature: number
  readonly #types: Readonly<Record<TypeKind, number>>
  readonly #function: number
  readonly #nominal: number
  readonly #plainData: number
  readonly #alias: number
  readonly #variable: number

  constructor({ SymbolFlags: symbol, TypeFlags: type, SignatureKind: signature }: NativeModule) {
    const any = (flags: Readonly<Record<string, number>>, ...names: readonly string[]): number =>
      names.reduce((all, name) => all | (flags[name] ?? 0), 0)
    this.callSignature = signature['Call'] ?? 0
    this.#types = {
      anyOrUnknown: any(type, 'Any', 'Unknown'),
      union: any(type, 'Union'),
      intersection: any(type, 'Intersection'),
      object: any(type, 'Object'),
      nullish: any(type, 'Undefined', 'Null', 'Void'),
    }
    this.#function = any(symbol, 'Function', 'Method')
    this.#nominal = any(symbol, 'Class', 'Interface')
    this.#plainData = any(symbol, 'ObjectLiteral', 'RegularEnum', 'ConstEnum', 'Class')
    this.#alias = any(symbol, 'Alias')
    this.#variable = any(symbol, 'FunctionScopedVariable', 'BlockScopedVariable', 'TypeParameter')
  }

  has(type: NativeType, kind: TypeKind): boolean {
    return (type.flags & this.#types[kind]) !== 0
  }

  isFunction(symbol: NativeSymbol): boolean {
    return (symbol.flags & this.#function) !== 0
  }

  isNominal(symbol: NativeSymbol): boolean {
    return (symbol.flags & this.#nominal) !== 0
  }

  mayBeCallable(symbol: NativeSymbol): boolean {
    return (symbol.flags & this.#plainData) === 0 || this.isFunction(symbol)
  }

  isAlias(symbol: NativeSymbol): boolean {
    return (symbol.flags & this.#alias) !== 0
  }

  /** Whether a class, interface or namespace may hold it. */
  isMember(symbol: NativeSymbol): boolean {
    return (symbol.flags & this.#variable) === 0
  }
}
