/**
 * The blocking rules over a program.
 *
 * Calls are asked in the order of what it costs to ask: does any model know the name, which function
 * is it, who reaches it, and only then where its input comes from.
 */
import type { UnnamedFinding } from '../baseline/fingerprint.ts'
import type { FunctionUnit, Program } from '../ir/program.ts'
import type { Catalogue } from '../models/catalogue.ts'
import { busyLoopsIn } from './busy-loops.ts'
import { blockingCallAt } from './catalogue-calls.ts'
import { makeFinding } from './make-finding.ts'
import type { Blocking } from './make-finding.ts'
import { OriginFinder } from './origin.ts'
import { mayUseRegExp, slowRegExpAt } from './regexp-uses.ts'
import { RootFinder } from './roots.ts'
import { SymbolResolver } from './symbols.ts'

/** Sorted by file and line. Fingerprints are given later. */
export function findBlocking(program: Program, catalogue: Catalogue): readonly UnnamedFinding[] {
  const symbols = new SymbolResolver(catalogue)
  const roots = new RootFinder(program)
  const origins = new OriginFinder(catalogue, symbols, roots)
  const found: Blocking[] = []
  for (const file of program.files) {
    for (const unit of file.units) {
      if (roots.isOnLoop(unit)) found.push(...inUnit(unit, catalogue, symbols, roots, origins))
    }
    found.push(...busyLoopsIn(file, roots))
  }
  return withoutRepeats(found).map(makeFinding)
}

function* inUnit(
  unit: FunctionUnit,
  catalogue: Catalogue,
  symbols: SymbolResolver,
  roots: RootFinder,
  origins: OriginFinder,
): Generator<Blocking> {
  for (const call of unit.calls) {
    const symbol =
      catalogue.mayKnow(call.name) || call.external !== undefined
        ? symbols.symbolOf(call)
        : undefined
    const entry = symbol === undefined ? undefined : catalogue.blocking(symbol)
    const one =
      entry !== undefined
        ? blockingCallAt(unit, call, entry, origins, roots)
        : mayUseRegExp(call)
          ? slowRegExpAt(unit, call, origins, roots)
          : undefined
    if (one !== undefined) yield one
  }
}

/** The same call or pattern twice in one function is one finding, at its first and worst place. */
function withoutRepeats(found: readonly Blocking[]): readonly Blocking[] {
  const first = new Map<string, Blocking>()
  for (const one of found) {
    const key = `${one.rule.id} ${one.unit.file.path} ${one.unit.namedAs} ${one.what} ${one.level}`
    if (!first.has(key)) first.set(key, one)
  }
  return [...first.values()].toSorted(
    (a, b) => a.unit.file.path.localeCompare(b.unit.file.path, 'en') || a.start - b.start,
  )
}
