/**
 * Functions that never run on the loop: jobs with another place, and files that are the entry of a
 * thread, with everything that is called from nowhere else.
 */
import type { CallSite, FileUnit, FunctionUnit, Program } from '../ir/program.ts'
import { jobPlace } from './jobs.ts'
import type { ModuleFinder } from './modules.ts'

/** The names of `worker_threads` that only the thread's side of a channel needs. */
const workerSide =
  /\{[^{}]*\b(?:parentPort|workerData)\b[^{}]*\}\s*(?:from|=\s*(?:await\s+)?(?:require|import)\s*\()\s*['"](?:node:)?worker_threads['"]/

/** The file is loaded by `new Worker()`, not by the program. */
export function isThreadEntry(file: FileUnit): boolean {
  const { text } = file.parsed
  return text.includes('worker_threads') && workerSide.test(text) && !/\bisMainThread\b/.test(text)
}

/** Entries of threads, and files that no other file imports. */
export function threadFiles(program: Program, finder: ModuleFinder): ReadonlySet<FileUnit> {
  const found = new Set(program.files.filter(isThreadEntry))
  if (found.size === 0) return found
  const importers = new Map<FileUnit, FileUnit[]>()
  for (const file of program.files) {
    for (const imported of finder.importsOf(file)) {
      const known = importers.get(imported)
      if (known === undefined) importers.set(imported, [file])
      else known.push(file)
    }
  }
  for (let isGrowing = true; isGrowing;) {
    isGrowing = false
    for (const [file, by] of importers) {
      if (found.has(file) || !by.every((one) => found.has(one))) continue
      found.add(file)
      isGrowing = true
    }
  }
  return found
}

/** `handing`: the calls of the program that are given a function. */
export function threadOnlyUnits(
  program: Program,
  finder: ModuleFinder,
  handing: readonly CallSite[],
): ReadonlySet<FunctionUnit> {
  const inThread = new Set<FunctionUnit>()
  for (const file of threadFiles(program, finder)) for (const unit of file.units) inThread.add(unit)
  for (const site of handing) {
    const place = jobPlace(site)
    if (place === 'loop' || place === undefined) continue
    for (const { unit: run } of site.callbacks) inThread.add(run)
  }
  if (inThread.size > 0) addWhatRunsThere(inThread, program)
  return inThread
}

/** A function that is called only from threads runs only in threads, and so do the functions inside it. */
function addWhatRunsThere(inThread: Set<FunctionUnit>, program: Program): void {
  const inside = new Map<FunctionUnit, FunctionUnit[]>()
  for (const unit of program.units) {
    if (unit.parent === undefined || unit.host === unit) continue
    const known = inside.get(unit.parent)
    if (known === undefined) inside.set(unit.parent, [unit])
    else known.push(unit)
  }
  // A set that grows during the walk: added functions are visited in turn.
  for (const unit of inThread) {
    for (const one of inside.get(unit) ?? []) if (one.kind !== 'module') inThread.add(one)
    for (const { targets } of unit.calls) {
      for (const target of targets) {
        if (target.kind === 'module' || inThread.has(target)) continue
        if (target.callers.every((site) => inThread.has(site.owner))) inThread.add(target)
      }
    }
  }
}
