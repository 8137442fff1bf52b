/**
 * The blocking rules over a program.
 *
 * Questions about a call are asked in the order of their cost: which function is it, does any model know it,
 * what reaches it, and only then where its input comes from.
 */
import type { UnnamedFinding } from '../baseline/fingerprint.ts'
import type { CallSite, FunctionUnit, Program } from '../ir/program.ts'
import type { Catalogue } from '../models/catalogue.ts'
import { busyLoopsIn } from './busy-loops.ts'
import { blockingCallAt } from './catalogue-calls.ts'
import { Evaluator } from './evaluate/evaluate.ts'
import { makeFinding } from './make-finding.ts'
import type { Blocking } from './make-finding.ts'
import { ModuleFinder } from './modules.ts'
import { OriginFinder } from './origin.ts'
import { mayUseRegExp, slowRegExpAt } from './regexp-uses.ts'
import { RootFinder } from './roots.ts'
import { SymbolResolver } from './symbols.ts'

/** The answers about a program that decide which calls hold the loop. */
export interface LoopModel {
  readonly program: Program
  readonly catalogue: Catalogue
  readonly symbols: SymbolResolver
  readonly roots: RootFinder
  readonly origins: OriginFinder
  readonly evaluator: Evaluator
  readonly finder: ModuleFinder
}

export function loopModel(program: Program, catalogue: Catalogue): LoopModel {
  const symbols = new SymbolResolver(catalogue)
  const finder = new ModuleFinder(program.files)
  const roots = new RootFinder(program, finder)
  const origins = new OriginFinder(catalogue, symbols, roots)
  return { program, catalogue, symbols, roots, origins, evaluator: new Evaluator(finder), finder }
}

/** Sorted by file and line. Fingerprints are given later. */
export function findBlocking(program: Program, catalogue: Catalogue): readonly UnnamedFinding[] {
  return blockingIn(loopModel(program, catalogue)).map(makeFinding)
}

/** The same, before it is put into the words of a finding. */
export function blockingIn(model: LoopModel): readonly Blocking[] {
  const found: Blocking[] = []
  for (const file of model.program.files) {
    for (const unit of file.units) {
      if (!model.roots.isOnLoop(unit)) continue
      for (const call of unit.calls) {
        const one = blockingAt(unit, call, model)
        if (one !== undefined) found.push(one)
      }
    }
    found.push(...busyLoopsIn(file, model.roots))
  }
  return withoutRepeats(found)
}

function blockingAt(unit: FunctionUnit, call: CallSite, model: LoopModel): Blocking | undefined {
  const { symbols, origins, roots, evaluator } = model
  const entry = symbols.blockingEntryOf(call)
  if (entry !== undefined) return blockingCallAt(unit, call, entry, origins, roots)
  return mayUseRegExp(call) ? slowRegExpAt(unit, call, origins, roots, evaluator) : undefined
}

/** The same call or pattern twice in one function is one finding, at its first place. */
function withoutRepeats(found: readonly Blocking[]): readonly Blocking[] {
  const first = new Map<string, Blocking>()
  for (const one of found) {
    const key = `${one.rule.id} ${one.unit.file.path} ${one.unit.namedAs} ${one.what} ${one.level}`
    if (!first.has(key)) first.set(key, one)
  }
  return [...first.values()].toSorted(
    (a, b) => compare(a.unit.file.path, b.unit.file.path) || a.start - b.start,
  )
}

/** Compares by code units: the same on every machine, whatever its language. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
