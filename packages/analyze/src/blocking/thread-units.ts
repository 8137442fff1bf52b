/**
 * Functions that never run on the loop: jobs with another place, and files that are the entry of a
 * thread, with everything that is called from nowhere else.
 */
import type { FileUnit, FunctionUnit, Program } from '../ir/program.ts'
import { jobPlace } from './jobs.ts'

const workerFile = /\b(?:parentPort|workerData)\b/
const workerImport = /['"](?:node:)?worker_threads['"]/

/** The file is loaded by `new Worker()`, not by the program. */
export function isThreadEntry(file: FileUnit): boolean {
  const { text } = file.parsed
  return workerImport.test(text) && workerFile.test(text) && !/\bisMainThread\b/.test(text)
}

export function threadOnlyUnits(program: Program): ReadonlySet<FunctionUnit> {
  const inThread = new Set<FunctionUnit>()
  for (const file of program.files) {
    if (isThreadEntry(file)) for (const unit of file.units) inThread.add(unit)
    for (const unit of file.units) {
      for (const site of unit.calls) {
        const place = jobPlace(site)
        if (place === 'loop' || place === undefined) continue
        for (const { unit: run } of site.callbacks) inThread.add(run)
      }
    }
  }
  if (inThread.size === 0) return inThread
  // What is called from threads only is in threads only: repeated until nothing is added.
  for (let isGrowing = true; isGrowing;) {
    isGrowing = false
    for (const unit of program.units) {
      if (inThread.has(unit) || unit.kind === 'module') continue
      const isInside = unit.parent !== undefined && unit.host !== unit && inThread.has(unit.parent)
      const isCalledThere =
        unit.callers.length > 0 && unit.callers.every((site) => inThread.has(site.owner))
      if (!isInside && !isCalledThere) continue
      inThread.add(unit)
      isGrowing = true
    }
  }
  return inThread
}
