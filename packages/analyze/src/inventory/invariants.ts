/**
 * Conditions that must hold while the program runs. Not opinions: each line is something the code relies on
 * and no code checks.
 */
import { compare } from '../blocking/find-blocking.ts'
import type { LoopModel } from '../blocking/find-blocking.ts'
import { isThreadEntry } from '../blocking/thread-units.ts'
import { escapePattern } from '../escape-pattern.ts'
import type { Location } from '../ir/locations.ts'
import type { Invariant } from './inventory.ts'
import type { WorkFinder } from './work-finder.ts'

export function invariantsOf(model: LoopModel, finder: WorkFinder): readonly Invariant[] {
  return [...threads(model), ...pool(model, finder), ...processState(model)]
}

function* threads({ program }: LoopModel): Generator<Invariant> {
  const entries = program.files.filter(isThreadEntry).map(({ path }) => path)
  if (entries.length === 0) return
  yield {
    text: 'Entries of threads, which may block: nothing on the loop may import them',
    at: entries.toSorted(compare).map((file) => ({ file, line: 1 })),
  }
}

function* pool({ program, roots }: LoopModel, finder: WorkFinder): Generator<Invariant> {
  const users = program.units.filter(
    (unit) => roots.isOnLoop(unit) && finder.ownWork(unit).some(({ tag }) => tag === 'THREAD:uv'),
  ).length
  if (users === 0) return
  yield {
    text:
      `The pool of libuv is shared by ${users} ${users === 1 ? 'function' : 'functions'}: four of their calls run at a time, ` +
      'unless UV_THREADPOOL_SIZE is set before the process starts, and the others wait',
    at: [],
  }
}

/** State that lives in one process: a second process would have its own. */
function* processState({ program, roots }: LoopModel): Generator<Invariant> {
  const written = new Set<Location>()
  for (const unit of program.units) {
    if (unit.graph === undefined || !roots.isOnLoop(unit)) continue
    for (const block of unit.graph.blocks) {
      for (const event of block.events) {
        if (event.op !== 'write' || event.isInitial || event.owner.kind === 'module') continue
        const location = rootOf(event.location.canonical)
        if (location.scope === 'module') written.add(location)
      }
    }
  }
  if (written.size === 0) return
  const at = [...written].map((location) => {
    const { file, name } = location
    const { line } = file.parsed.lineAt(declaredAt(location))
    return { name, file: file.path, line }
  })
  yield {
    text: 'State of one process, which a second process would have a second time',
    at: at.toSorted(
      (a, b) => compare(a.file, b.file) || a.line - b.line || compare(a.name, b.name),
    ),
  }
}

function rootOf(location: Location): Location {
  let at = location
  while (at.parent !== undefined) at = at.parent
  return at
}

/** Where the name is written first. */
function declaredAt({ file, field }: Location): number {
  const declared = new RegExp(`\\b(?:const|let|var)\\s+${escapePattern(field)}\\b`)
  return Math.max(0, file.parsed.text.search(declared))
}
