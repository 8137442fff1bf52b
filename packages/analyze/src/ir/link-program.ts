/**
 * From files to a program: resolves imports and calls, and finds which fields are the same.
 *
 * Calls are resolved by the text about the object: its class, the class it was constructed
 * from, the declared type of its field. A method name that only one class has is a guess, and marked.
 */
import { addCallback } from './calls.ts'
import { canonicalise } from './canonical.ts'
import { isKnownRole, roleOf } from './callbacks.ts'
import { LocationTable } from './locations.ts'
import type { Location } from './locations.ts'
import type { Lowered } from './lower.ts'
import type {
  Callee,
  CallSite,
  ClassUnit,
  Exported,
  ExternalSymbol,
  FileUnit,
  FunctionUnit,
  NameInScope,
  Program,
} from './program.ts'
import { assignReach } from './reach.ts'
import { keptBy } from './returned.ts'
import type { Scope } from './scope.ts'
import type { Value } from './values.ts'

/** Absolute path of the file that an import means; undefined when it is outside of the program. */
export type ResolveImport = (fromFile: string, specifier: string) => string | undefined

export interface LinkOptions {
  readonly root: string
  readonly lowered: readonly Lowered[]
  readonly resolve: ResolveImport
  /** The number of the first unit. */
  readonly firstUnit: number
}

export function link(options: LinkOptions): Program {
  const linker = new Linker(options)
  return linker.run()
}

type Thing = {
  readonly unit?: FunctionUnit
  readonly class?: ClassUnit
  /** An object of this class. */
  readonly instance?: ClassUnit
}

/** Names that many unrelated classes have: finding one of them says nothing. */
const commonNames = new Set(
  (
    'get set has add delete remove clear push pop close open start stop run init end write read ' +
    'send connect destroy then catch finally on once off emit call apply bind next return throw ' +
    'map filter forEach find some every keys values entries toString toJSON valueOf log error ' +
    'warn info debug update create load save reset resolve reject parse format exec test query ' +
    'request fetch post put listen done cancel abort flush ref unref pause resume pipe use handle ' +
    'process execute join match replace split trim slice concat dispose release acquire lock ' +
    'unlock wait notify subscribe unsubscribe dispatch register unregister peek shift unshift ' +
    'validate check build render name size length count insert select commit rollback begin ' +
    'transaction'
  ).split(' '),
)

/** Names that lead to names, in a circle or not: a reader does not follow more either. */
const farthest = 12

class Linker {
  readonly #options: LinkOptions
  readonly #table: LocationTable
  readonly #files = new Map<string, Lowered>()
  readonly #scopes = new Map<FileUnit, Scope>()
  readonly #classesByName = new Map<string, ClassUnit[]>()
  readonly #methodsByName = new Map<string, FunctionUnit[]>()

  constructor(options: LinkOptions) {
    this.#options = options
    this.#table = LocationTable.ofProgram(options.lowered)
    for (const one of options.lowered) {
      this.#files.set(one.file.parsed.file, one)
      this.#scopes.set(one.file, one.scope)
    }
  }

  run(): Program {
    const { lowered, root, firstUnit } = this.#options
    const files = lowered.map((one) => one.file)
    this.#indexClasses(files)
    for (const file of files) this.#markExports(file)
    for (const file of files) for (const one of file.classes) this.#linkClass(one)
    const units = files.flatMap((file) => file.units)
    const classes = files.flatMap((file) => file.classes)
    for (let at = 0; at < units.length; at++) units[at]!.id = firstUnit + at
    const settleAnswers = canonicalise(
      this.#table,
      (location) => this.#typeOf(location),
      (location) => this.#variableOf(location),
    )
    for (const unit of units) for (const site of unit.calls) this.#linkCall(site)
    settleAnswers(keptBy)
    assignReach(units, classes)
    return { root, files, units, classes, locations: this.#table.all }
  }

  #indexClasses(files: readonly FileUnit[]): void {
    for (const file of files) {
      for (const one of file.classes) {
        push(this.#classesByName, one.name, one)
        for (const [name, unit] of one.methods) push(this.#methodsByName, name, unit)
      }
    }
  }

  // ---- modules

  #import(from: FileUnit, specifier: string): FileUnit | undefined {
    if (from.imports.has(specifier)) return from.imports.get(specifier)
    const path = this.#options.resolve(from.parsed.file, specifier)
    const file = path === undefined ? undefined : this.#files.get(path)?.file
    from.imports.set(specifier, file)
    return file
  }

  #export(file: FileUnit, name: string, depth = 0): Thing | undefined {
    if (depth > farthest) return undefined
    const found = file.exports.get(name)
    if (found !== undefined) return this.#thing(file, found, depth)
    for (const source of file.exportAll) {
      const next = this.#import(file, source)
      const thing = next === undefined ? undefined : this.#export(next, name, depth + 1)
      if (thing !== undefined) return thing
    }
    return undefined
  }

  #thing(file: FileUnit, found: Exported, depth: number): Thing | undefined {
    switch (found.kind) {
      case 'unit':
        return { unit: found.unit }
      case 'class':
        return { class: found.class }
      case 'from': {
        const next = this.#import(file, found.source)
        return next === undefined ? undefined : this.#export(next, found.name, depth + 1)
      }
      case 'local':
        return this.#named(found.name, this.#scopes.get(file), depth + 1)
    }
  }

  /** The meaning of a name: a function, a class, or an import. */
  #named(name: string, scope: Scope | undefined, depth = 0): Thing | undefined {
    const binding = scope?.find(name)
    if (binding === undefined || depth > farthest) return undefined
    if (binding.class !== undefined) return { class: binding.class }
    if (binding.function !== undefined) return { unit: binding.function }
    if (binding.value.unit !== undefined) return { unit: binding.value.unit }
    const { constructed, instanceOf } = binding.value
    const instance =
      instanceOf ??
      (constructed === undefined ? undefined : this.#classOfName(constructed, depth + 1))
    if (instance !== undefined) return { instance }
    const source = binding.import?.source ?? binding.module
    if (source === undefined) return undefined
    const file = this.#import(binding.unit.file, source)
    if (file === undefined) return undefined
    return binding.import === undefined
      ? this.#export(file, 'default', depth + 1)
      : this.#export(file, binding.import.name, depth + 1)
  }

  #markExports(file: FileUnit): void {
    for (const name of file.exports.keys()) {
      const found = file.exports.get(name)!
      if (found.kind === 'from') continue
      const thing = this.#thing(file, found, 0)
      if (thing?.unit !== undefined) thing.unit.isExported = true
      if (thing?.class !== undefined) thing.class.isExported = true
    }
  }

  /** The variable that an imported name stands for, through re-exports. */
  #variableOf(location: Location, depth = 0): Location | undefined {
    const { imported, file } = location
    const from = imported === undefined ? undefined : this.#import(file, imported.source)
    if (imported === undefined || from === undefined || depth > farthest) return undefined
    const found = from.exports.get(imported.name)
    const table = this.#table
    if (found?.kind === 'from')
      return this.#variableOf(table.imported(from, found.source, found.name), depth + 1)
    if (found?.kind !== 'local') return undefined
    const binding = this.#scopes.get(from)?.own(found.name)
    if (binding === undefined || binding.function !== undefined) return undefined
    return table.variable(from, from.module, binding.name, binding.id)
  }

  // ---- classes

  #linkClass(one: ClassUnit): void {
    if (one.superName === undefined) return
    const base = this.#named(one.superName, one.superScope)?.class
    if (base === undefined || base === one) return
    for (let at: ClassUnit | undefined = base; at !== undefined; at = at.superClass)
      if (at === one) return
    one.superClass = base
    base.subclasses.push(one)
  }

  #classOfName(found: NameInScope, depth = 0): ClassUnit | undefined {
    const [root, ...path] = found.name.split('.')
    if (root === undefined) return undefined
    if (path.length === 0) return this.#named(root, found.scope, depth + 1)?.class
    const binding = found.scope.find(root)
    const source = binding?.module ?? binding?.import?.source
    const file =
      source === undefined || binding === undefined
        ? undefined
        : this.#import(binding.unit.file, source)
    return file === undefined ? undefined : this.#export(file, path.at(-1)!, depth + 1)?.class
  }

  #uniqueClass(name: string): ClassUnit | undefined {
    const all = this.#classesByName.get(name)
    return all?.length === 1 ? all[0] : undefined
  }

  /** The class of the value stored at a location. */
  #typeOf(location: Location): ClassUnit | undefined {
    if (location.scope === 'parameter' && location.depth === 0)
      return location.typeName === undefined ? undefined : this.#uniqueClass(location.typeName)
    if (location.scope !== 'instance' || location.depth !== 1) return undefined
    for (let at = location.class; at !== undefined; at = at.superClass) {
      const constructed = at.fieldClasses.get(location.field)
      const byName = constructed === undefined ? undefined : this.#classOfName(constructed)
      if (byName !== undefined) return byName
      const declared = at.fieldTypes.get(location.field)
      if (declared !== undefined) return this.#uniqueClass(declared)
    }
    return undefined
  }

  #method(owner: ClassUnit, name: string, isSuper: boolean): FunctionUnit[] {
    const found: FunctionUnit[] = []
    for (let at = isSuper ? owner.superClass : owner; at !== undefined; at = at.superClass) {
      const unit = at.methods.get(name) ?? at.statics.get(name)
      if (unit === undefined) continue
      found.push(unit)
      break
    }
    if (!isSuper) {
      const stack = [...owner.subclasses]
      for (let at = stack.pop(); at !== undefined && found.length < 8; at = stack.pop()) {
        const unit = at.methods.get(name)
        if (unit !== undefined) found.push(unit)
        stack.push(...at.subclasses)
      }
    }
    return found
  }

  // ---- calls

  #linkCall(site: CallSite): void {
    const targets = this.#targets(site)
    site.targets = targets
    for (const target of targets) target.callers.push(site)
    this.#linkReferences(site)
  }

  #targets(site: CallSite): readonly FunctionUnit[] {
    const { callee } = site
    switch (callee.kind) {
      case 'unit':
        return [callee.unit]
      case 'name':
        return this.#byName(site, callee)
      case 'method':
        return this.#method(callee.class, callee.path[0]!, callee.isSuper)
      case 'member':
        return this.#byReceiver(site, callee.receiver, callee.name)
      case 'unknown':
        return []
    }
  }

  #byName(site: CallSite, callee: Extract<Callee, { kind: 'name' }>): readonly FunctionUnit[] {
    const binding = callee.scope.find(callee.name)
    const source = binding?.import?.source ?? binding?.module
    if (binding === undefined) {
      site.external = { module: 'global', path: [callee.name, ...callee.path] }
      return []
    }
    const file = source === undefined ? undefined : this.#import(binding.unit.file, source)
    if (source !== undefined && file === undefined) {
      site.external = external(source, binding.import?.name, callee.path)
      return []
    }
    if (file !== undefined && binding.import === undefined && callee.path.length > 0) {
      const path = callee.path[0] === 'default' ? callee.path.slice(1) : callee.path
      const thing = this.#export(file, path[0] ?? 'default') ?? this.#export(file, 'default')
      return this.#member(thing, path.slice(path.length > 1 ? 1 : 0), site)
    }
    return this.#member(this.#named(callee.name, callee.scope), callee.path, site)
  }

  #member(
    thing: Thing | undefined,
    path: readonly string[],
    site: CallSite,
  ): readonly FunctionUnit[] {
    if (thing === undefined) return []
    if (thing.unit !== undefined) return path.length <= 1 ? [thing.unit] : []
    const last = path.at(-1)
    if (thing.instance !== undefined)
      return last === undefined || path.length > 1 ? [] : this.#method(thing.instance, last, false)
    const owner = thing.class
    if (owner === undefined) return []
    const name = path.at(-1)
    if (site.isNew || name === undefined) {
      for (let at: ClassUnit | undefined = owner; at !== undefined; at = at.superClass) {
        const unit = at.methods.get('constructor')
        if (unit !== undefined) return [unit]
      }
      return []
    }
    const unit = owner.statics.get(name) ?? owner.methods.get(name)
    return unit === undefined ? [] : [unit]
  }

  #byReceiver(site: CallSite, receiver: Value, name: string): readonly FunctionUnit[] {
    if (receiver.unit !== undefined && name === '') return [receiver.unit]
    const owner =
      (receiver.constructed === undefined ? undefined : this.#classOfName(receiver.constructed)) ??
      receiver.instanceOf ??
      (receiver.location === undefined ? undefined : this.#typeOf(receiver.location.canonical))
    if (owner !== undefined) return this.#method(owner, name, false)
    if (name.length < 5 || commonNames.has(name) || isKnownRole(name)) return []
    const candidates = this.#methodsByName.get(name) ?? []
    if (candidates.length !== 1) return []
    site.isGuess = true
    return candidates
  }

  /** Functions that are handed over by name: `on('close', this.onClose)`. */
  #linkReferences(site: CallSite): void {
    for (let index = 0; index < site.args.length; index++) {
      const value = site.args[index]!
      const { location } = value
      const unit =
        value.unit ??
        (location?.scope === 'instance' && location.depth === 1 && location.class !== undefined
          ? this.#method(location.class, location.field, false)[0]
          : undefined)
      if (unit === undefined) continue
      if (unit.kind === 'getter' || site.callbacks.some((use) => use.unit === unit)) continue
      const { text } = site.owner.file.parsed
      const receiver = text
        .slice(site.start, site.end)
        .split('(')[0]!
        .replace(/\.\w+$/, '')
      const role = roleOf(site.name, receiver, site.args[0]?.literal === 'string')
      addCallback(site, { index, unit, role })
    }
  }
}

function external(
  module: string,
  imported: string | undefined,
  path: readonly string[],
): ExternalSymbol {
  const all = imported === undefined || imported === 'default' ? [...path] : [imported, ...path]
  return { module, path: all[0] === 'default' ? all.slice(1) : all }
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}
