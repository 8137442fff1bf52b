/**
 * All models, arranged for the question: what is known about a call of this function?
 *
 * I1  A user's entry comes before ours, and a later file before an earlier one: the first answer
 *     counts.
 * I2  An entry that names a function comes before one that matches it by `*`.
 */
import { escapePattern } from '../escape-pattern.ts'
import { isBlocking } from './model.ts'
import type {
  BlockingEntry,
  BoundEntry,
  CallPattern,
  ModelEntry,
  ModelFile,
  OffloadEntry,
  ReturnsEntry,
  SourceEntry,
} from './model.ts'

/** A function outside of the program, as a call names it. */
export interface CalledSymbol {
  /** `node:fs`, with the prefix; `global`; `language`. */
  readonly module: string
  /** The class, namespace or type it is a member of. */
  readonly type?: string | undefined
  readonly name: string
}

type CallEntry =
  | BlockingEntry
  | OffloadEntry
  | BoundEntry
  | ReturnsEntry
  | (SourceEntry & CallPattern)

interface Compiled {
  readonly entry: CallEntry
  readonly exact: ReadonlySet<string>
  readonly patterns: readonly RegExp[]
  readonly except: readonly RegExp[]
}

export class Catalogue {
  readonly #byOwner = new Map<string, Compiled[]>()
  readonly #typesByModule = new Map<string, Set<string>>()
  readonly #modules = new Set<string>()
  readonly #names = new Set<string>()
  readonly #patterns: RegExp[] = []
  /** Keyed by name: whether some entry says that a function with this name holds the loop. */
  readonly #mayBlock = new Map<string, boolean>()
  readonly #blockingPatterns: RegExp[] = []
  /** Owners of whose functions one entry says the same about all. */
  readonly #alwaysBlocking = new Set<string>()
  readonly #properties = new Map<string, SourceEntry>()
  readonly #events = new Map<string, SourceEntry>()

  /** @param files In the order of precedence: the first file wins. */
  constructor(files: readonly ModelFile[]) {
    for (const file of files) for (const entry of file.entries) this.#add(entry)
  }

  #add(entry: ModelEntry): void {
    if ('property' in entry) {
      for (const owner of entry.of) {
        for (const property of entry.property) {
          addFirst(this.#properties, `${owner}.${property}`, entry)
        }
      }
      return
    }
    if ('event' in entry) {
      for (const owner of entry.of ?? ['*']) {
        for (const event of entry.event) addFirst(this.#events, `${owner}.${event}`, entry)
      }
      return
    }
    const isPattern = (name: string): boolean => name.includes('*')
    const compiled: Compiled = {
      entry,
      exact: new Set(entry.names.filter((name) => !isPattern(name))),
      patterns: entry.names.filter(isPattern).map(wildcard),
      except: (entry.except ?? []).map(wildcard),
    }
    const key = ownerKey(entry.module, entry.type)
    const known = this.#byOwner.get(key)
    if (known === undefined) this.#byOwner.set(key, [compiled])
    else known.push(compiled)
    if (entry.type !== undefined) {
      const types = this.#typesByModule.get(entry.module) ?? new Set()
      this.#typesByModule.set(entry.module, types.add(entry.type))
    }
    this.#modules.add(entry.module)
    for (const name of compiled.exact) this.#names.add(name)
    if (entry.module !== 'language') this.#patterns.push(...compiled.patterns)
    if (isBlocking(entry)) this.#addBlocking(entry, compiled)
  }

  #addBlocking({ names, module, type }: BlockingEntry, { exact }: Compiled): void {
    for (const name of exact) this.#mayBlock.set(name, true)
    for (const name of names) {
      if (name === '*') this.#alwaysBlocking.add(ownerKey(module, type))
      else if (name.includes('*')) this.#blockingPatterns.push(wildcard(name))
    }
  }

  /** The way in which this call holds the loop. */
  blocking(symbol: CalledSymbol): BlockingEntry | undefined {
    return this.#find(symbol, isBlocking) as BlockingEntry | undefined
  }

  /** Where this call moves its work to. */
  offload(symbol: CalledSymbol): OffloadEntry | undefined {
    return this.#find(symbol, ({ kind }) => kind === 'offload') as OffloadEntry | undefined
  }

  /** The source of this call's result. */
  source(symbol: CalledSymbol): SourceEntry | undefined {
    return this.#find(symbol, ({ kind }) => kind === 'source') as SourceEntry | undefined
  }

  /** The type of this call's result. */
  returns(symbol: CalledSymbol): { readonly module: string; readonly type: string } | undefined {
    const found = this.#find(symbol, ({ kind }) => kind === 'returns') as ReturnsEntry | undefined
    return found === undefined
      ? undefined
      : { module: found.from ?? found.module, type: found.returns }
  }

  isBound(symbol: CalledSymbol): boolean {
    return this.#find(symbol, ({ kind }) => kind === 'bound') !== undefined
  }

  /** The source that reading `owner.property` gives: `req`, `body`. */
  sourceProperty(owner: string, property: string): SourceEntry | undefined {
    return this.#properties.get(`${owner}.${property}`)
  }

  /** The argument that a listener of `owner` gets for an event: `socket`, `message`. */
  sourceEvent(event: string, owner: string): SourceEntry | undefined {
    return this.#events.get(`${owner}.${event}`) ?? this.#events.get(`*.${event}`)
  }

  hasModule(module: string): boolean {
    return this.#modules.has(module)
  }

  hasType(module: string, type: string): boolean {
    return this.#typesByModule.get(module)?.has(type) === true
  }

  /** Whether any entry could be about a call of this name: the cheap question asked first. */
  mayKnow(name: string): boolean {
    return this.#names.has(name) || this.#patterns.some((pattern) => pattern.test(name))
  }

  /** Whether {@link blocking} may know a function by this name, wherever it is from. */
  mayBlock(name: string): boolean {
    let answer = this.#mayBlock.get(name)
    if (answer === undefined) {
      answer = this.#blockingPatterns.some((pattern) => pattern.test(name))
      this.#mayBlock.set(name, answer)
    }
    return answer
  }

  /** Whether {@link blocking} may know any function of this owner, whatever its name. */
  blocksAlways(module: string, type: string | undefined): boolean {
    return this.#alwaysBlocking.has(ownerKey(module, type))
  }

  #find(
    { module, type, name }: CalledSymbol,
    isWanted: (entry: CallEntry) => boolean,
  ): CallEntry | undefined {
    const candidates = (this.#byOwner.get(ownerKey(module, type)) ?? []).filter(
      ({ entry, except }) => isWanted(entry) && !except.some((pattern) => pattern.test(name)),
    )
    const exact = candidates.find((candidate) => candidate.exact.has(name))
    const found = exact ?? candidates.find(({ patterns }) => patterns.some((one) => one.test(name)))
    return found?.entry
  }
}

/** `node:fs` for `fs`: both name the same module. */
export function moduleName(specifier: string): string {
  return nodeModules.has(specifier) ? `node:${specifier}` : specifier
}

const nodeModules = new Set(
  (
    'assert async_hooks buffer child_process cluster console crypto dgram dns dns/promises events fs ' +
    'fs/promises http http2 https inspector module net os path path/posix perf_hooks process querystring ' +
    'readline readline/promises stream stream/consumers stream/promises string_decoder timers ' +
    'timers/promises tls tty url util v8 vm worker_threads zlib'
  ).split(' '),
)

const ownerKey = (module: string, type: string | undefined): string => `${module}#${type ?? ''}`

function wildcard(name: string): RegExp {
  const escaped = name.split('*').map((part) => escapePattern(part))
  return new RegExp(`^${escaped.join('.*')}$`)
}

function addFirst<K, V>(map: Map<K, V>, key: K, value: V): void {
  if (!map.has(key)) map.set(key, value)
}
