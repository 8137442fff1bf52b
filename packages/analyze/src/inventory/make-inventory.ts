/** From a program to its inventory. */
import { blockingIn, compare, loopModel } from '../blocking/find-blocking.ts'
import type { LoopModel } from '../blocking/find-blocking.ts'
import { makeFinding } from '../blocking/make-finding.ts'
import type { Blocking } from '../blocking/make-finding.ts'
import { isCold, isServing } from '../blocking/roots.ts'
import { threadFiles } from '../blocking/thread-units.ts'
import type { FileUnit, Program } from '../ir/program.ts'
import type { Catalogue } from '../models/catalogue.ts'
import type { Tag } from '../models/model.ts'
import { namedRoots } from './entry-points.ts'
import type { NamedRoot } from './entry-points.ts'
import { invariantsOf } from './invariants.ts'
import type {
  EntryPoint,
  FileSection,
  HotSpot,
  Inventory,
  InventorySummary,
  Risk,
} from './inventory.ts'
import { matrixOf } from './matrix.ts'
import { WorkFinder } from './work-finder.ts'

/** The inventory. Deterministic: the same files give the same one. */
export function makeInventory(program: Program, catalogue: Catalogue): Inventory {
  const model = loopModel(program, catalogue)
  const finder = new WorkFinder(model)
  const roots = namedRoots(model)
  const blocking = blockingIn(model)
  const inThread = threadFiles(program, model.finder)
  const files = program.files.toSorted((a, b) => compare(a.path, b.path))
  const sections = files.flatMap((file) => sectionOf(file, roots, blocking, finder, inThread) ?? [])
  return {
    version: 1,
    matrix: matrixOf(files, roots, finder),
    sections,
    hotSpots: blocking.map(hotSpotOf).toSorted(byReach),
    summary: summaryOf(model, sections, finder, inThread),
    invariants: invariantsOf(model, finder),
  }
}

/** Undefined when there is nothing to say about a file. */
function sectionOf(
  file: FileUnit,
  roots: readonly NamedRoot[],
  blocking: readonly Blocking[],
  finder: WorkFinder,
  inThread: ReadonlySet<FileUnit>,
): FileSection | undefined {
  const entryPoints: EntryPoint[] = []
  const light: string[] = []
  for (const { unit, kind, tag, name } of roots) {
    if (unit.file !== file) continue
    const work = finder.workOf(unit)
    if (work.length > 0 || kind === 'request' || kind === 'job') {
      const { line } = file.parsed.lineAt(unit.start)
      entryPoints.push({ tag, kind, name, line, work })
    } else if (kind !== 'start-up' && (unit.isAsync || isServing(kind) || kind === 'process-end')) {
      light.push(name)
    }
  }
  const risk = blocking.filter(({ unit }) => unit.file === file).map(riskOf)
  if (entryPoints.length + light.length + risk.length === 0) return undefined
  return {
    file: file.path,
    runsIn: inThread.has(file) ? 'thread' : 'loop',
    entryPoints,
    light: [...new Set(light)],
    risk,
  }
}

function riskOf(one: Blocking): Risk {
  const { level, rule, line, message } = makeFinding(one)
  return { level, rule, line, message }
}

function hotSpotOf(one: Blocking): HotSpot {
  const { unit, start, route, rule, level, what, alternative } = one
  const kind = route?.kind ?? 'exported'
  const way = [...new Set([...(route?.calls ?? []).map(({ owner }) => owner.name), unit.name])]
  return {
    reach: isServing(kind) ? 'serving' : isCold(kind) ? 'start-up' : 'callers-wait',
    rule: rule.id,
    level,
    name: what,
    file: unit.file.path,
    line: unit.file.parsed.lineAt(start).line,
    way,
    ...(alternative !== undefined && { instead: alternative }),
  }
}

const reaches: readonly HotSpot['reach'][] = ['serving', 'callers-wait', 'start-up']

function byReach(a: HotSpot, b: HotSpot): number {
  return (
    reaches.indexOf(a.reach) - reaches.indexOf(b.reach) ||
    compare(a.file, b.file) ||
    a.line - b.line
  )
}

function summaryOf(
  { program, roots }: LoopModel,
  sections: readonly FileSection[],
  finder: WorkFinder,
  inThread: ReadonlySet<FileUnit>,
): InventorySummary {
  const callsByTag: Partial<Record<Tag, number>> = {}
  let poolUsers = 0
  for (const unit of program.units) {
    const work = finder.ownWork(unit)
    for (const { tag } of work) callsByTag[tag] = (callsByTag[tag] ?? 0) + 1
    if (roots.isOnLoop(unit) && work.some(({ tag }) => tag === 'THREAD:uv')) poolUsers += 1
  }
  return {
    files: program.files.length,
    entryPoints: sections.reduce((sum, one) => sum + one.entryPoints.length + one.light.length, 0),
    callsByTag,
    poolUsers,
    threadFiles: [...inThread].map(({ path }) => path).toSorted(compare),
  }
}
