/**
 * Calls whose meaning only the compiler knows.
 *
 * Linking follows names: imports, classes, fields with a declared class. The rest are methods of
 * values whose origin is not named: a parameter, a call, an element of a list. The compiler knows their
 * types. A method of the program becomes a target; one of a package, of Node or of the language
 * becomes the external symbol that models and guards know it by.
 *
 * I1. Links by name stay; a guess is replaced by the answer of the compiler.
 */
import path from 'node:path'
import type { Asked, SymbolsByFile } from '../frontend/types/types-protocol.ts'
import type { Origin, SymbolFacts } from '../frontend/types.ts'
import type { CallSite, ClassUnit, FileUnit, FunctionUnit, Program } from '../ir/program.ts'
import { callNames } from './call-names.ts'

/** A call and the position of the name it calls. */
interface OpenCall {
  readonly site: CallSite
  readonly position: number
}

/** Calls that the compiler has to be asked about, by file. */
export type OpenCalls = ReadonlyMap<FileUnit, readonly OpenCall[]>

export function openCallsOf(program: Program): OpenCalls {
  const open = new Map<FileUnit, OpenCall[]>()
  for (const file of program.files) {
    const sites = file.units.flatMap((unit) => unit.calls.filter(isOpen))
    if (sites.length === 0) continue
    const names = callNames(
      file.parsed,
      sites.map(({ end }) => end),
    )
    const found = sites.flatMap((site) => {
      const position = names.get(site.end)
      return position === undefined ? [] : [{ site, position }]
    })
    if (found.length > 0) open.set(file, found)
  }
  return open
}

function isOpen({ targets, isGuess, external, callee }: CallSite): boolean {
  return callee.kind === 'member' && external === undefined && (targets.length === 0 || isGuess)
}

export function questionsOf(open: OpenCalls): Asked {
  return new Map(
    [...open].map(([file, calls]) => [file.parsed.file, calls.map(({ position }) => position)]),
  )
}

/** Adds the links that the compiler knew. */
export function linkByTypes(program: Program, open: OpenCalls, symbols: SymbolsByFile): void {
  const linker = new TypeLinker(program)
  for (const [file, calls] of open) {
    const answers = symbols.get(file.parsed.file) ?? []
    for (const [index, { site }] of calls.entries()) linker.link(site, answers[index])
  }
}

class TypeLinker {
  readonly #files: ReadonlyMap<string, FileUnit>

  constructor(program: Program) {
    this.#files = new Map(program.files.map((file) => [path.normalize(file.parsed.file), file]))
  }

  link(site: CallSite, symbol: SymbolFacts | undefined): void {
    if (symbol === undefined) return
    if (symbol.origin.kind === 'program') this.#linkTargets(site, symbol, symbol.origin.file)
    else {
      setTargets(site, [])
      const { name, container } = symbol
      site.external = {
        module: moduleOf(symbol.origin),
        path: container === undefined ? [name] : [plainType(container), name],
      }
    }
  }

  #linkTargets(site: CallSite, symbol: SymbolFacts, declaredIn: string): void {
    const file = this.#files.get(path.normalize(declaredIn))
    const found = file === undefined ? [] : targetsIn(file, symbol)
    if (found.length > 0) setTargets(site, found)
  }
}

function setTargets(site: CallSite, targets: readonly FunctionUnit[]): void {
  for (const target of site.targets) {
    const at = target.callers.indexOf(site)
    if (at !== -1) target.callers.splice(at, 1)
  }
  site.targets = targets
  site.isGuess = false
  for (const target of targets) target.callers.push(site)
}

/** The method of the class and those that override it, or the function of that name. */
function targetsIn(file: FileUnit, { name, container }: SymbolFacts): readonly FunctionUnit[] {
  if (container === undefined) {
    return file.units.filter((unit) => unit.name === name && unit.parent?.kind === 'module')
  }
  const owner = file.classes.find((one) => one.name === container)
  return owner === undefined ? [] : methodsOf(owner, name)
}

const maximumOverrides = 8

function methodsOf(owner: ClassUnit, name: string): readonly FunctionUnit[] {
  const found: FunctionUnit[] = []
  const rest = [owner]
  for (let at = rest.pop(); at !== undefined; at = rest.pop()) {
    const unit = at.methods.get(name) ?? at.statics.get(name)
    if (unit !== undefined && found.length < maximumOverrides) found.push(unit)
    rest.push(...at.subclasses)
  }
  return found
}

/** The name that models use for the module. */
function moduleOf(origin: Exclude<Origin, { kind: 'program' }>): string {
  switch (origin.kind) {
    case 'package':
      return origin.name
    case 'node':
      return `node:${origin.module}`
    case 'language':
      return 'language'
  }
}

/** Views of a type that only the compiler distinguishes. */
function plainType(container: string): string {
  return container.replace(/^Readonly(?=Array$|Map$|Set$)/, '').replace(/^(\w+)Constructor$/, '$1')
}
