/**
 * Who makes a function run, and by which calls: from that follows who waits while it holds the loop.
 *
 * Reach is asked backwards, from the function to the nearest root, because a report needs the way as
 * well as the answer.
 *
 * I1  A root of a worse kind wins over a nearer one: one request handler is enough.
 * I2  What only runs in a thread or in another process is not on the loop, and is never reported.
 */
import type { CallSite, FileUnit, FunctionUnit, Program } from '../ir/program.ts'
import { isAsyncLike } from './async-like.ts'
import { jobPlace } from './jobs.ts'
import type { ModuleFinder } from './modules.ts'
import { threadOnlyUnits } from './thread-units.ts'

/** Worst first. */
export const rootKinds = [
  'request',
  'job',
  'timer',
  'event',
  'exported-async',
  'exported',
  'command',
  'start-up',
  'process-end',
] as const

export type RootKind = (typeof rootKinds)[number]

/** The loop serves others while such a root runs, so others wait. */
export function isServing(kind: RootKind): boolean {
  return kind === 'request' || kind === 'job' || kind === 'timer' || kind === 'event'
}

/** One person waits who would wait anyway. */
export function isCold(kind: RootKind): boolean {
  return kind === 'command' || kind === 'start-up' || kind === 'process-end'
}

export interface Route {
  readonly kind: RootKind
  readonly root: FunctionUnit
  /** `app.post() in start runs it`. */
  readonly why: string
  /** From the root to the function asked about. Each is in the text of the function before it. */
  readonly calls: readonly CallSite[]
}

const maxVisited = 400
const cliPath =
  /(?:^|\/)(?:bin|cli|scripts?|tools?|tasks?|examples?|demos?|bench(?:mark)?s?|tests?|__tests__|fixtures|build|config)(?:\/|\.[cm]?[jt]s$)|\.config\.[cm]?[jt]s$|\.(?:test|spec|bench)\.[cm]?[jt]sx?$|(?:^|\/)(?:cli|bin|gulpfile|gruntfile)\.[cm]?[jt]s$/i
const testPath =
  /(?:^|\/)(?:tests?|__tests__|examples?|bench(?:mark)?s?|fixtures)\/|\.(?:test|spec|bench)\./
const endEvents = new Set([
  'exit',
  'beforeExit',
  'uncaughtException',
  'SIGINT',
  'SIGTERM',
  'SIGHUP',
])

interface Entry {
  readonly kind: RootKind
  readonly why: string
}

export class RootFinder {
  readonly #program: Program
  readonly #entries = new Map<FunctionUnit, Entry[]>()
  /** Functions that are given to a call: the first such call. */
  readonly #handedTo = new Map<FunctionUnit, CallSite>()
  readonly #routes = new Map<FunctionUnit, Route | undefined>()
  readonly #threadOnly: ReadonlySet<FunctionUnit>
  readonly #public: ReadonlySet<FileUnit>

  constructor(program: Program, finder: ModuleFinder) {
    this.#program = program
    this.#public = publicFiles(program, finder)
    this.#threadOnly = threadOnlyUnits(program, finder)
    for (const unit of program.units) this.#addHandlers(unit)
    for (const unit of program.units) this.#addOwn(unit)
  }

  /** Anyone who uses the program may call it with anything. An underscore says that nobody should. */
  isPublic(unit: FunctionUnit): boolean {
    if (/(?:^|\.)_/.test(unit.name)) return false
    const isOut =
      unit.isExported ||
      (unit.class?.isExported === true &&
        (unit.visibility === 'public' || unit.kind === 'constructor'))
    if (isOut && this.#public.has(unit.file)) return true
    // `exports.tools.check = function …`: nobody calls it here, so somebody does elsewhere.
    const isTop = unit.parent === undefined || unit.parent.kind === 'module'
    return (
      isTop && unit.callers.length === 0 && unit.reach.has('exported') && unit.kind !== 'callback'
    )
  }

  isOnLoop(unit: FunctionUnit): boolean {
    return !this.#threadOnly.has(unit)
  }

  /** The worst way it is reached; undefined when nobody calls it. */
  routeTo(unit: FunctionUnit): Route | undefined {
    if (!this.#routes.has(unit)) {
      const route = this.#find(unit, false) ?? this.#find(unit, true) ?? routeByReach(unit)
      this.#routes.set(unit, route)
    }
    return this.#routes.get(unit)
  }

  #addHandlers(unit: FunctionUnit): void {
    const isCli = isCommand(unit.file)
    for (const site of unit.calls) {
      for (const { unit: callback, role } of site.callbacks) {
        if (!this.#handedTo.has(callback)) this.#handedTo.set(callback, site)
        const why = `${calleeText(site)} in ${unit.namedAs} runs it`
        if (role === 'request') {
          this.#add(callback, 'request', why)
        } else if (role === 'timer' || role === 'interval') {
          this.#add(callback, isCli ? 'command' : 'timer', why)
        } else if (role === 'event' && !site.isNew) {
          // A name that is not written down is a signal, mostly.
          const isEnd =
            endEvents.has(firstText(site) ?? 'exit') && /\bprocess\b/.test(calleeText(site))
          this.#add(callback, isEnd ? 'process-end' : isCli ? 'command' : 'event', why)
        } else if (jobPlace(site) !== undefined) {
          this.#add(callback, 'job', `it is a job, defined in ${unit.namedAs}`)
        }
      }
    }
  }

  #addOwn(unit: FunctionUnit): void {
    if (unit.kind === 'module') this.#add(unit, 'start-up', `${unit.file.path} is loaded`)
    if (isHandler(unit)) {
      this.#add(unit, 'request', `it takes (${unit.params.join(', ')}), as handlers of requests do`)
    }
    const isCli = isCommand(unit.file)
    if (this.isPublic(unit)) {
      const kind = isCli ? 'command' : isAsyncLike(unit) ? 'exported-async' : 'exported'
      this.#add(unit, kind, unit.isExported ? `${unit.name} is exported` : `${unit.name} is public`)
    }
  }

  #add(unit: FunctionUnit, kind: RootKind, why: string): void {
    const known = this.#entries.get(unit)
    if (known === undefined) this.#entries.set(unit, [{ kind, why }])
    else known.push({ kind, why })
  }

  /** Breadth first through the callers, so that each root is met by its shortest way. */
  #find(start: FunctionUnit, withGuesses: boolean): Route | undefined {
    const cameBy = new Map<FunctionUnit, CallSite | undefined>([[start, undefined]])
    const towards = new Map<FunctionUnit, FunctionUnit>()
    const queue = [start]
    let best: Route | undefined
    for (const unit of queue) {
      for (const { kind, why } of this.#entries.get(unit) ?? []) {
        if (best !== undefined && rootKinds.indexOf(kind) >= rootKinds.indexOf(best.kind)) continue
        best = { kind, why, root: unit, calls: callsBetween(unit, start, towards, cameBy) }
      }
      if (queue.length > maxVisited) break
      const visit = (next: FunctionUnit, by: CallSite | undefined): void => {
        if (cameBy.has(next) || !this.isOnLoop(next)) return
        cameBy.set(next, by)
        towards.set(next, unit)
        queue.push(next)
      }
      for (const site of unit.callers) {
        if (withGuesses || !site.isGuess) visit(site.owner, site)
      }
      if (unit.parent !== undefined && this.#runsWithParent(unit)) visit(unit.parent, undefined)
    }
    return best
  }

  /**
   * A function that is written inside another one and is no handler runs because the other did; but
   * one that is handed to a function of the program may be kept there for another day.
   */
  #runsWithParent(unit: FunctionUnit): boolean {
    if (unit.kind !== 'callback' || this.#entries.has(unit)) return false
    const site = this.#handedTo.get(unit)
    return unit.role !== 'later' || site === undefined || site.targets.length === 0
  }

  /** For matrices and lists: every root there is. */
  *roots(): Generator<{
    readonly unit: FunctionUnit
    readonly kind: RootKind
    readonly why: string
  }> {
    for (const unit of this.#program.units) {
      const [worst] = (this.#entries.get(unit) ?? []).toSorted(
        (a, b) => rootKinds.indexOf(a.kind) - rootKinds.indexOf(b.kind),
      )
      if (worst !== undefined) yield { unit, ...worst }
    }
  }
}

/** No way was found, but the linker knows of one: a method that is only called through its base. */
function routeByReach(unit: FunctionUnit): Route | undefined {
  const kinds = [
    ['request', 'request'],
    ['timer', 'timer'],
    ['event', 'event'],
    ['parallel', 'exported-async'],
    ['exported', isAsyncLike(unit) ? 'exported-async' : 'exported'],
    ['start-up', 'start-up'],
  ] as const
  for (const [reach, kind] of kinds) {
    const reason = unit.reachWhy.get(reach)
    if (reason !== undefined) return { kind, root: unit, why: reason.text, calls: [] }
  }
  return undefined
}

/** By the names that every framework uses: `(req, res, next)`, `(ctx, next)`, `(request, reply)`. */
function isHandler({ params, kind }: FunctionUnit): boolean {
  if (kind === 'constructor' || kind === 'setter') return false
  const [first = '', second = ''] = params
  if (/^(?:req|request)$/.test(first)) return /^(?:res|response|reply)$/.test(second)
  return first === 'ctx' && second === 'next'
}

function callsBetween(
  root: FunctionUnit,
  end: FunctionUnit,
  towards: ReadonlyMap<FunctionUnit, FunctionUnit>,
  cameBy: ReadonlyMap<FunctionUnit, CallSite | undefined>,
): readonly CallSite[] {
  const calls: CallSite[] = []
  for (let unit: FunctionUnit | undefined = root; unit !== undefined && unit !== end;) {
    const site = cameBy.get(unit)
    if (site !== undefined) calls.push(site)
    unit = towards.get(unit)
  }
  return calls
}

/** Runs once, for one person, who waits anyway. */
function isCommand(file: FileUnit): boolean {
  return file.parsed.program.hashbang !== null || cliPath.test(file.path)
}

/** Files whose exports users can get at: those that no other file imports, and what they pass on. */
function publicFiles({ files }: Program, finder: ModuleFinder): ReadonlySet<FileUnit> {
  const imported = new Set<FileUnit>()
  for (const file of files) {
    if (!testPath.test(file.path)) for (const one of finder.importsOf(file)) imported.add(one)
  }
  const found = new Set<FileUnit>()
  const work = files.filter((file) => !imported.has(file))
  // In a circle of imports nobody is first.
  if (work.length === 0) work.push(...files)
  for (let file = work.pop(); file !== undefined; file = work.pop()) {
    if (found.has(file)) continue
    found.add(file)
    work.push(...finder.passedOnBy(file))
  }
  return found
}

/** `fs.readFileSync()`; of a chain only the last part: `….all()`. */
export function calleeText({ owner, start, end, name }: CallSite): string {
  const text = owner.file.parsed.text.slice(start, end)
  const open = text.indexOf('(')
  const callee = (open < 0 ? text : text.slice(0, open))
    .trim()
    .replace(/\s+(?!\w)|(?<!new)\s+/g, '')
  if (name !== '' && !callee.endsWith(name)) return `….${name}()`
  return `${callee.length > 40 ? `…${callee.slice(-39)}` : callee}()`
}

function firstText({ owner, start, end }: CallSite): string | undefined {
  const text = owner.file.parsed.text.slice(start, end)
  return /^[^(]*\(\s*['"]([^'"]*)['"]/.exec(text)?.[1]
}
