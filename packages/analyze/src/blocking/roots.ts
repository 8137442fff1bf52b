/**
 * What makes a function run, and through which calls. What waits while it holds the loop follows from that.
 *
 * Reach is asked backwards, from the function to the nearest root, because a report needs the way as
 * well as the answer.
 *
 * I1  A root of a worse kind wins over a nearer one: one request handler is enough.
 * I2  What only runs in a thread or in another process is not on the loop, and is never reported.
 */
import type { CallbackRole, CallSite, FileUnit, FunctionUnit, Program } from '../ir/program.ts'
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
  /** Made up when it is shown: most entries never are. */
  readonly why: () => string
}

/** A call that a function is given to, and how it runs it. */
interface Handed {
  readonly site: CallSite
  readonly role: CallbackRole
}

export class RootFinder {
  readonly #program: Program
  /** Functions that are given to calls. */
  readonly #handed = new Map<FunctionUnit, Handed[]>()
  /** Found when they are first asked for. */
  readonly #entries = new Map<FunctionUnit, readonly Entry[]>()
  readonly #commands = new Map<FileUnit, boolean>()
  readonly #routes = new Map<FunctionUnit, Route | undefined>()
  readonly #threadOnly: ReadonlySet<FunctionUnit>
  readonly #public: ReadonlySet<FileUnit>

  constructor(program: Program, finder: ModuleFinder) {
    this.#program = program
    this.#public = publicFiles(program, finder)
    const handing = callsWithCallbacks(program)
    this.#threadOnly = threadOnlyUnits(program, finder, handing)
    for (const site of handing) {
      for (const { unit, role } of site.callbacks) {
        const known = this.#handed.get(unit)
        if (known === undefined) this.#handed.set(unit, [{ site, role }])
        else known.push({ site, role })
      }
    }
  }

  /** Every user of the program may call it with anything. An underscore says that it is not meant for them. */
  isPublic(unit: FunctionUnit): boolean {
    if (unit.name.startsWith('_') || unit.name.includes('._')) return false
    const isOut =
      unit.isExported ||
      (unit.class?.isExported === true &&
        (unit.visibility === 'public' || unit.kind === 'constructor'))
    if (isOut && this.#public.has(unit.file)) return true
    // `exports.tools.check = function …`: no code calls it here, so other code does elsewhere.
    const isTop = unit.parent === undefined || unit.parent.kind === 'module'
    return (
      isTop && unit.callers.length === 0 && unit.reach.has('exported') && unit.kind !== 'callback'
    )
  }

  isOnLoop(unit: FunctionUnit): boolean {
    return !this.#threadOnly.has(unit)
  }

  /** The worst way it is reached; undefined when no code calls it. */
  routeTo(unit: FunctionUnit): Route | undefined {
    if (!this.#routes.has(unit)) {
      const route = this.#find(unit, false) ?? this.#find(unit, true) ?? routeByReach(unit)
      this.#routes.set(unit, route)
    }
    return this.#routes.get(unit)
  }

  #entriesOf(unit: FunctionUnit): readonly Entry[] {
    let entries = this.#entries.get(unit)
    if (entries === undefined) {
      const found: Entry[] = []
      this.#addHandlers(unit, found)
      this.#addOwn(unit, found)
      entries = found
      this.#entries.set(unit, entries)
    }
    return entries
  }

  #addHandlers(unit: FunctionUnit, entries: Entry[]): void {
    for (const { site, role } of this.#handed.get(unit) ?? []) {
      const { owner } = site
      const why = (): string => `${calleeText(site)} in ${owner.namedAs} runs it`
      if (role === 'request') {
        entries.push({ kind: 'request', why })
      } else if (role === 'timer' || role === 'interval') {
        entries.push({ kind: this.#isCommand(owner.file) ? 'command' : 'timer', why })
      } else if (role === 'event' && !site.isNew) {
        const kind = this.#isCommand(owner.file) ? 'command' : 'event'
        entries.push({ kind: isEndOfProcess(site) ? 'process-end' : kind, why })
      } else if (jobPlace(site) !== undefined) {
        entries.push({ kind: 'job', why: () => `it is a job, defined in ${owner.namedAs}` })
      }
    }
  }

  /** Entries that follow from the kind of the function: a module, a handler, an export. */
  #addOwn(unit: FunctionUnit, entries: Entry[]): void {
    if (unit.kind === 'module') {
      entries.push({ kind: 'start-up', why: () => `${unit.file.path} is loaded` })
    }
    if (isHandler(unit)) {
      const why = (): string => `it takes (${unit.params.join(', ')}), as handlers of requests do`
      entries.push({ kind: 'request', why })
    }
    if (this.isPublic(unit)) {
      const why = (): string => `${unit.name} is ${unit.isExported ? 'exported' : 'public'}`
      entries.push({ kind: this.#publicKind(unit), why })
    }
  }

  #publicKind(unit: FunctionUnit): RootKind {
    if (this.#isCommand(unit.file)) return 'command'
    return isAsyncLike(unit) ? 'exported-async' : 'exported'
  }

  #isCommand(file: FileUnit): boolean {
    let answer = this.#commands.get(file)
    if (answer === undefined) this.#commands.set(file, (answer = isCommand(file)))
    return answer
  }

  /** Breadth first through the callers, so that each root is met by its shortest way. */
  #find(start: FunctionUnit, withGuesses: boolean): Route | undefined {
    const cameBy = new Map<FunctionUnit, CallSite | undefined>([[start, undefined]])
    const towards = new Map<FunctionUnit, FunctionUnit>()
    const queue = [start]
    let best: { readonly entry: Entry; readonly root: FunctionUnit } | undefined
    for (const unit of queue) {
      for (const entry of this.#entriesOf(unit)) {
        if (best !== undefined && !isWorse(entry, best.entry)) continue
        best = { entry, root: unit }
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
    if (best === undefined) return undefined
    const { entry, root } = best
    const calls = callsBetween(root, start, towards, cameBy)
    return { kind: entry.kind, why: entry.why(), root, calls }
  }

  /**
   * A function that is written inside another one and is not a handler runs because the other did; but
   * one that is handed to a function of the program may be kept there for another day.
   */
  #runsWithParent(unit: FunctionUnit): boolean {
    if (unit.kind !== 'callback' || this.#entriesOf(unit).length > 0) return false
    const first = this.#handed.get(unit)?.[0]
    return unit.role !== 'later' || first === undefined || first.site.targets.length === 0
  }

  /** For matrices and lists: every root there is. */
  *roots(): Generator<{
    readonly unit: FunctionUnit
    readonly kind: RootKind
    readonly why: string
  }> {
    for (const unit of this.#program.units) {
      const [first, ...others] = this.#entriesOf(unit)
      if (first === undefined) continue
      const { kind, why } = others.reduce((a, b) => (isWorse(b, a) ? b : a), first)
      yield { unit, kind, why: why() }
    }
  }
}

function isWorse(a: Entry, b: Entry): boolean {
  return rootKinds.indexOf(a.kind) < rootKinds.indexOf(b.kind)
}

function callsWithCallbacks({ units }: Program): readonly CallSite[] {
  const found: CallSite[] = []
  for (const unit of units) {
    for (const site of unit.calls) if (site.callbacks.length > 0) found.push(site)
  }
  return found
}

/** A listener of `process`. A name that is not written down is a signal, mostly. */
function isEndOfProcess(site: CallSite): boolean {
  return endEvents.has(firstText(site) ?? 'exit') && /\bprocess\b/.test(calleeText(site))
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
    const reason = unit.reach.get(reach)
    if (reason !== undefined) return { kind, root: unit, why: reason.text, calls: [] }
  }
  return undefined
}

/**
 * Recognizes handlers by the parameter names that every framework uses: `(req, res, next)`, `(ctx,
 * next)`, `(request, reply)`.
 */
function isHandler({ params, kind }: FunctionUnit): boolean {
  if (kind === 'constructor' || kind === 'setter') return false
  const [first = '', second = ''] = params
  if (first === 'req' || first === 'request') return /^(?:res|response|reply)$/.test(second)
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

/** Runs once, for one person, who would wait anyway. */
function isCommand(file: FileUnit): boolean {
  return file.parsed.program.hashbang !== null || cliPath.test(file.path)
}

/** Files whose exports users can import: those that no other file imports, and the files they re-export. */
function publicFiles({ files }: Program, finder: ModuleFinder): ReadonlySet<FileUnit> {
  const imported = new Set<FileUnit>()
  for (const file of files) {
    if (!testPath.test(file.path)) for (const one of finder.importsOf(file)) imported.add(one)
  }
  const found = new Set<FileUnit>()
  const work = files.filter((file) => !imported.has(file))
  // In a circle of imports no module is first.
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
