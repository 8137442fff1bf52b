/**
 * Which function outside of the program a call means.
 *
 * The linker knows the imports. Methods need the type of the object: it is taken from the class
 * the object was constructed with, from the field it is stored in, or from the call that returned it
 * (models give the type of a call's result).
 */
import type { CallSite, NameInScope } from '../ir/program.ts'
import type { Value } from '../ir/values.ts'
import { moduleName } from '../models/catalogue.ts'
import type { CalledSymbol, Catalogue } from '../models/catalogue.ts'
import type { BlockingEntry } from '../models/model.ts'

interface OwnerType {
  readonly module: string
  readonly type: string
}

const maxDepth = 4
const languageMethods = new Set(['sort', 'toSorted', 'push', 'unshift'])
/** The type that an object is assumed to have by its use, when its type is not known. */
const request = { module: 'global', type: 'Request' } as const
const list = { module: 'language', type: 'Array' } as const
const guessedOwners = [request, list]

/** The object has no type here, but it is usually called so. */
const requestRead = /(?:[\w$]+\.)?(?:req|request)\s*\.\s*\w+\s*\(/y

export class SymbolResolver {
  readonly #catalogue: Catalogue
  /** Keyed by module, type and name: there are far more calls than functions. */
  readonly #entries = new Map<string, BlockingEntry | undefined>()

  constructor(catalogue: Catalogue) {
    this.#catalogue = catalogue
  }

  /** The model's entry for the call: how it holds the loop. */
  blockingEntryOf(call: CallSite): BlockingEntry | undefined {
    if (call.external === undefined && !this.#mayBlock(call)) return undefined
    const symbol = this.symbolOf(call)
    if (symbol === undefined || !isModelled(symbol, this.#catalogue)) return undefined
    const key = `${symbol.module} ${symbol.type ?? ''} ${symbol.name}`
    let entry = this.#entries.get(key)
    if (entry === undefined && !this.#entries.has(key)) {
      entry = this.#catalogue.blocking(symbol)
      this.#entries.set(key, entry)
    }
    return entry
  }

  /**
   * Decides by the name first, because few names are known. For types whose methods all hold the
   * loop, the type is checked too.
   */
  #mayBlock(call: CallSite): boolean {
    if (call.callee.kind !== 'member') return false
    if (this.#catalogue.mayBlock(call.name)) return true
    const owner = this.#ownerOf(call.callee.receiver, 0)
    if (owner !== undefined) return this.#catalogue.blocksAlways(owner.module, owner.type)
    return guessedOwners.some(({ module, type }) => this.#catalogue.blocksAlways(module, type))
  }

  symbolOf(call: CallSite, depth = 0): CalledSymbol | undefined {
    if (call.external !== undefined) return fromImport(call.external.module, call.external.path)
    const { callee } = call
    if (callee.kind !== 'member' || callee.name === '') return undefined
    const owner = this.#ownerOf(callee.receiver, depth)
    if (owner !== undefined) return { ...owner, name: callee.name }
    if (isReadOfRequest(call)) return { ...request, name: callee.name }
    return call.targets.length === 0 && languageMethods.has(callee.name)
      ? { ...list, name: callee.name }
      : undefined
  }

  #ownerOf(receiver: Value, depth: number): OwnerType | undefined {
    if (depth > maxDepth) return undefined
    if (receiver.constructed !== undefined) return fromName(receiver.constructed)
    const made = receiver.calls?.length === 1 ? receiver.calls[0] : undefined
    if (made !== undefined) {
      const symbol = this.symbolOf(made, depth + 1)
      const returned = symbol === undefined ? undefined : this.#catalogue.returns(symbol)
      if (returned !== undefined) return returned
    }
    const { location } = receiver
    if (location?.scope === 'instance' && location.depth === 1) {
      const constructed = location.class?.fieldClasses.get(location.field)
      if (constructed !== undefined) return fromName(constructed)
    }
    return undefined
  }
}

/** Whether models say anything about the module or the type: asked first, because few are known. */
export function isModelled({ module, type }: CalledSymbol, catalogue: Catalogue): boolean {
  return type === undefined ? catalogue.hasModule(module) : catalogue.hasType(module, type)
}

function isReadOfRequest({ owner, start, end }: CallSite): boolean {
  requestRead.lastIndex = start
  return requestRead.test(owner.file.parsed.text) && requestRead.lastIndex <= end
}

function fromImport(specifier: string, path: readonly string[]): CalledSymbol {
  const module = moduleName(specifier)
  // `fs.promises.readFile` is a function of `node:fs/promises`.
  if (path[0] === 'promises' && path.length > 1) {
    return fromImport(`${module}/promises`, path.slice(1))
  }
  const own = module === 'global' && path[0] === 'globalThis' ? path.slice(1) : path
  return { module, type: own.at(-2), name: own.at(-1) ?? 'default' }
}

/** The module that a name of a class was imported from. */
function fromName({ name, scope }: NameInScope): OwnerType | undefined {
  const [root = '', ...path] = name.split('.')
  const binding = scope.find(root)
  if (binding === undefined) return { module: 'global', type: name }
  const source = binding.import?.source ?? binding.module
  if (source === undefined) return undefined
  const type = path.at(-1) ?? binding.import?.name ?? 'default'
  return { module: moduleName(source), type }
}
