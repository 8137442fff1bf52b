/**
 * H101 check-then-act: a location is checked, a suspension follows, and then it is written as if the
 * check still held. Two tasks that both pass the check both act.
 *
 * Not reported: state taken before the suspension (a reservation), state checked again after it,
 * state that a lock, a promise chain or a serial caller protects, and functions that only run at start-up.
 */
import { levels } from '../finding.ts'
import type { Level } from '../finding.ts'
import type { Access, Block, Branch, Event, Graph } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit, Suspension } from '../ir/program.ts'
import { originalOf, ownerIn } from '../ir/splice.ts'
import { isMade, isRunning } from '../meaning/lifecycle.ts'
import type { Value } from '../ir/values.ts'
import { unseenTargetsOf } from '../summaries/call-order.ts'
import { ask, found, reaches, stop } from '../summaries/paths.ts'
import { isStore } from '../summaries/effects.ts'
import type { Draft, Place, Step } from './draft.ts'
import { textOf } from './draft.ts'
import { mutex, recheck, reserveFirst, singleFlight } from './fixes.ts'
import { GuardedStores } from './guarded-stores.ts'
import { isCheck } from './host.ts'
import type { Host, Located } from './host.ts'
import { InnerEffects } from './inner-effects.ts'
import { hasStrongReach, overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isComponentState } from './shared.ts'
import { isCalledInTurn, isIdentityCheck } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export interface Window {
  readonly check: Located
  /** Where in the host the act is: the write itself, or the call that leads to it. */
  readonly act: Access | CallSite | Suspension
  readonly actBlock: Block
  /** The write, wherever it is. */
  readonly write: Access
  readonly suspensions: readonly Suspension[]
  readonly branch: Branch
  /** Blocks from the check to the act. */
  readonly way: readonly Block[]
}

const fresh = 0
const stale = 1

export function checkThenAct(model: Model): Draft[] {
  const drafts: Draft[] = []
  const guarded = new GuardedStores(model)
  for (const host of model.hosts.suspending) {
    const own: Draft[] = []
    const inner = new InnerEffects(model, host)
    for (const group of host.checked) {
      const { location } = group
      if (!group.isSharedIn(host.unit) || location.scope === 'external') continue
      if (!group.isStored && !inner.store(location)) continue
      const accesses = group.accessesOfMany(host.unit)
      const window = closest(windowsOf(model, guarded, host, location, accesses))
      if (window === undefined) continue
      if (
        model.guardOver(host.unit, window.suspensions[0], window.check, guardEnd(window)) !==
        undefined
      )
        continue
      if (isSharedAnswer(model, window.write) || isPutBack(location, window)) continue
      const draft = describe(model, host.unit, location, window)
      if (draft !== undefined) own.push(draft)
    }
    if (own.length > 0) drafts.push(...merged(own))
  }
  return drafts
}

/** An error handler stores again the value that was removed before: the check has found it, not missed it. */
function isPutBack(location: Location, { write, actBlock }: Window): boolean {
  if (actBlock.cleanup !== 1) return false
  const { value } = write
  return (
    value?.location?.canonical === location ||
    value?.reads?.some((read) => read.location.canonical === location) === true
  )
}

/** The written value is the answer of one run that all callers share: each writes the same. */
function isSharedAnswer(model: Model, { value }: Access): boolean {
  const sources = [...(value?.calls ?? []), ...(value?.from ?? [])]
  return sources.some((site) => site.targets.some((target) => model.isSingleFlight(target)))
}

/** Several locations that are written by the same act are one finding. */
function merged(drafts: readonly Draft[]): Draft[] {
  const byAct = new Map<string, Draft>()
  for (const draft of drafts) {
    const key = `${draft.act.start}:${draft.suspensions[0]?.start}`
    const known = byAct.get(key)
    if (known === undefined) byAct.set(key, draft)
    else {
      const [main, other] = rank(draft) > rank(known) ? [draft, known] : [known, draft]
      byAct.set(key, { ...main, locations: [...main.locations, ...other.locations] })
    }
  }
  return [...byAct.values()]
}

function rank(draft: Draft): number {
  return levels.indexOf(draft.level)
}

function guardEnd(window: Window): { block: Block; event: Access | Suspension } {
  const event = window.act.op === 'call' ? window.suspensions[0]! : window.act
  return { block: window.actBlock, event }
}

/** If several checks precede the same write, the last one is what people read. */
function closest(windows: readonly Window[]): Window | undefined {
  let best: Window | undefined
  for (const window of windows) {
    if (best === undefined) best = window
    else if (
      ownerIn(window.write) === ownerIn(window.check.access) &&
      window.check.access.start > best.check.access.start
    )
      best = window
  }
  return best
}

function windowsOf(
  model: Model,
  guarded: GuardedStores,
  host: Host,
  location: Location,
  accesses: readonly Located[],
): Window[] {
  const windows: Window[] = []
  for (const check of accesses) {
    if (!isCheck(check)) continue
    for (const one of check.access.checks) {
      if (one.isIdentity) continue
      const window = windowFrom(
        model,
        guarded,
        host.graph,
        location,
        check,
        one.branch,
        one.whenPresent,
      )
      if (window !== undefined) {
        windows.push(window)
        break
      }
    }
    if (windows.length >= 8) break
  }
  return windows
}

function windowFrom(
  model: Model,
  guarded: GuardedStores,
  graph: Graph,
  location: Location,
  check: Located,
  branch: Branch,
  whenPresent: Block | undefined,
): Window | undefined {
  let write: Access | undefined
  const effectsOf = (site: CallSite, phase: 'before' | 'after') => {
    for (const target of unseenTargetsOf(site)) {
      const effects = model.summaries(target)[phase].get(location)
      if (effects !== undefined) return effects
    }
    return undefined
  }
  const answer = ask(graph, check, {
    states: 2,
    start: fresh,
    step(event: Event, state: number): number {
      switch (event.op) {
        case 'read':
          if (state !== stale || event.checks.length === 0) return state
          if (model.isCheckOf(event, location)) return stop
          return isIdentityCheck(event) ? stop : state
        case 'write':
          if (event.location.canonical !== location) return state
          if (state === fresh) return isStore(event) ? stop : state
          if (!isStore(event) || event.kind === 'append') return stop
          write = event
          return found
        case 'call': {
          if (state === stale && model.isCheckOf(event, location)) return stop
          const effects = effectsOf(event, 'before')
          if (effects === undefined) return state
          if (state === fresh) return effects.store === undefined ? state : stop
          if (effects.check !== undefined) return stop
          if (effects.store === undefined) return state
          write = effects.store.access
          return found
        }
        case 'suspend':
          for (const site of event.joins) {
            const effects = effectsOf(site, 'after')
            if (effects?.store === undefined) continue
            if (guarded.has(effects.store.access)) continue
            write = effects.store.access
            return found
          }
          return stale
        case 'acquire':
        case 'release':
          return state
      }
    },
    cross(from, to, state) {
      if (from.branch !== branch) return state
      return to === whenPresent ? stop : state
    },
  })
  if (answer?.event === undefined || write === undefined) return undefined
  const act = answer.event
  if (act.op !== 'write' && act.op !== 'call' && act.op !== 'suspend') return undefined
  if (!dependsOn(graph, branch, answer.block)) return undefined
  // An early return ends the region as well, but does not lead to a value that another path has handed over.
  const taken = answer.way.includes(branch.whenTrue) ? branch.whenTrue : branch.whenFalse
  if (!reaches(graph, taken, answer.block, branch.blocks))
    return whenPresent === undefined
      ? windowFrom(model, guarded, graph, location, check, branch, taken)
      : undefined
  const suspensions = act.op === 'suspend' ? [...answer.suspensions, act] : answer.suspensions
  return { check, act, actBlock: answer.block, write, suspensions, branch, way: answer.way }
}

/** Whether a block runs because of one outcome of a branch and not of the other. */
export function dependsOn(graph: Graph, branch: Branch, block: Block): boolean {
  const { whenTrue, whenFalse, blocks } = branch
  return reaches(graph, whenTrue, block, blocks) !== reaches(graph, whenFalse, block, blocks)
}

function describe(
  model: Model,
  unit: FunctionUnit,
  location: Location,
  window: Window,
): Draft | undefined {
  const { check, write, suspensions } = window
  const suspension = suspensions[0]
  if (suspension === undefined) return undefined
  const overlap = overlapOf(check.access.owner) ?? overlapOf(unit)
  const act: Place = window.act
  const isInCallee = write.owner.host !== unit
  const name = location.name
  const kind = kindOfState(model, location, window)
  const canOverlap = overlap !== undefined && !model.isStepOf(location, unit)
  const level = levelOf(kind, unit, canOverlap, window)
  const checkText = textOf(checkPlace(check))
  const steps: Step[] = [
    { task: 'A', text: `checks \`${checkText}\`: ${name} is not there yet`, at: check.access },
    { task: 'A', text: `waits: \`${textOf(suspension)}\``, at: suspension, isCheckpoint: true },
    {
      task: 'B',
      text: `checks \`${checkText}\` too: still not there, so it goes the same way`,
      at: check.access,
    },
    {
      task: 'B',
      text: `waits as well: \`${textOf(suspension)}\``,
      at: suspension,
      isCheckpoint: true,
    },
    { task: 'A', text: `resumes and writes ${name}: \`${textOf(write)}\``, at: write },
    { task: 'B', text: `resumes and writes ${name} again: ${consequence(kind)}`, at: write },
  ]
  return {
    rule: 'H101',
    class: 'toctou',
    level,
    message: `${unit.namedAs} checks ${name}, waits, and then writes it${isInCallee ? ` (in ${write.owner.namedAs})` : ''}: two calls that overlap both pass the check, ${consequence(kind)}`,
    locations: [location],
    check: check.access,
    act: isInCallee ? act : write,
    suspensions,
    conflict: write,
    steps,
    window: [1, 4],
    evidence: [
      overlap === undefined
        ? 'it runs at start-up only'
        : `may overlap with itself: ${overlap.text}`,
      `no guard is held from the check to the write`,
    ],
    fixes:
      kind === 'flag' || kind === 'once' || kind === 'end'
        ? [reserveFirst(name, [2, 4]), mutex(name, [1, 5]), recheck(name, [5, 6])]
        : [singleFlight(name, `this.load()`, [2, 4]), recheck(name, [5, 6]), mutex(name, [1, 5])],
  }
}

function checkPlace(check: Located): Place {
  const [first] = check.access.checks
  return first === undefined
    ? check.access
    : { owner: check.access.owner, start: first.start, end: first.end }
}

type StateKind =
  | 'remote'
  | 'flag'
  | 'once'
  | 'end'
  | 'handle'
  | 'running'
  | 'counter'
  | 'latest'
  | 'answer'
  | 'value'
  | 'entry'
  | 'container'

/**
 * The kind of a written value, by its use: a value that the program releases somewhere is a handle, whatever its name.
 */
function kindOfState(model: Model, location: Location, window: Window): StateKind {
  const { write } = window
  const { value } = write
  if (location.scope === 'entry' && value?.fresh === 'empty') return 'container'
  if (write.kind === 'rmw' || isMadeOfItself(write)) return 'counter'
  if (value?.literal !== undefined || isMark(write))
    return kindOfFlag(model, model.hostOf(window.check.host), window)
  if (model.lifecycles.isHandle(location)) return 'handle'
  if (isRunning(value)) return 'running'
  if (
    window.suspensions.some(({ joins }) =>
      joins.some(
        (site) => model.remoteWork.changesSomething(site) || isGivenOld(location, site, write),
      ),
    )
  )
    return 'remote'
  if (isOrdered(write)) return 'latest'
  if (window.check.access.checks.some(({ whenPresent }) => whenPresent?.isThrowing === true))
    return 'once'
  if (isAnswer(window) && isAskedByUsers(window.check.host) && !isLookedAtInCallee(window))
    return 'answer'
  return location.scope === 'entry' ? 'entry' : 'value'
}

/** Users or events call it. A helper of one flow asks once at a time. */
function isAskedByUsers(unit: FunctionUnit): boolean {
  if (hasStrongReach(unit) || unit.callers.length === 0) return true
  if (unit.class === undefined) return unit.isExported
  return unit.visibility === 'public' && unit.class.isExported
}

/** A callee that stores it compares something first: what is superseded is not stored. */
function isLookedAtInCallee({ check, write }: Window): boolean {
  const { graph } = write.owner.host
  if (write.owner.host === check.host || graph === undefined) return false
  const original = originalOf(write)
  const way = ask(
    graph,
    { block: graph.entry, index: -1 },
    {
      states: 1,
      start: 0,
      step: (event) => (event === original ? found : isIdentityCheck(event) ? stop : 0),
    },
  )
  return way === undefined
}

/** What was waited for is kept: callers that overlap ask for it again, and each continues with its own. */
function isAnswer({ write: { value }, suspensions }: Window): boolean {
  if (value === undefined || value.literal !== undefined) return false
  const sources = [...(value.calls ?? []), ...(value.from ?? [])]
  return (
    value.location?.answeredBy !== undefined ||
    suspensions.some(
      ({ kind, joins }) => kind !== 'yield' && joins.some((site) => sources.includes(site)),
    )
  )
}

/**
 * `this.session = await renew(this.session.token)`: the answer replaces what was given, which the other side takes
 * for used up. The second of two such calls gives what the first one has replaced.
 */
function isGivenOld(location: Location, site: CallSite, { value }: Access): boolean {
  const isItsAnswer = value?.calls?.includes(site) === true || value?.from?.includes(site) === true
  return (
    isItsAnswer &&
    site.args.some(({ reads }) =>
      reads?.some(({ location: given }) => isPartOrFieldOf(given.canonical, location)),
    )
  )
}

function isPartOrFieldOf(location: Location, whole: Location): boolean {
  for (let at: Location | undefined = location; at !== undefined; at = at.parent?.canonical)
    if (at === whole) return true
  return false
}

/**
 * The written value depends on an argument and not on an answer, and is not returned: so it is not a memo, whose value
 * does not depend on the writer, but follows the order of the calls.
 */
function isOrdered({ value, owner }: Access): boolean {
  if (owner.returned.length > 0) return false
  if (value === undefined || value.isAwaited === true || value.literal !== undefined) return false
  const isGiven = (one: Value): boolean =>
    one.location?.scope === 'parameter' &&
    one.location.unit === owner &&
    one.location.answeredBy === undefined
  return value.calls?.length === 1 && value.calls[0]!.args.some(isGiven)
}

/** `n = n + 1`. What is found or else made, `x = get() ?? await make()`, is not. */
function isMadeOfItself({ location, value }: Access): boolean {
  return (
    value?.location === undefined &&
    value?.calls === undefined &&
    value?.reads?.some((read) => read.location.canonical === location.canonical) === true
  )
}

/**
 * A flag that is set too late matters by the work it lets through twice: a handle that is replaced, a
 * listener or timer that is added again, or work that the code itself refuses to do twice by throwing.
 */
function kindOfFlag(model: Model, host: Host, window: Window): StateKind {
  if (window.check.access.checks.some(({ whenPresent }) => whenPresent?.isThrowing === true))
    return 'once'
  if (isDoneOnce(host, window)) return 'once'
  return repeatsInside(model, host, window) ? 'flag' : 'end'
}

/** `set.add(x)`: that it is in there is all it says. */
function isMark({ kind, location, owner, start, end }: Access): boolean {
  if (kind !== 'fill' || location.scope !== 'entry') return false
  return /\.add\s*\([^,]*\)$/.test(owner.file.parsed.text.slice(start, end))
}

/**
 * `if (done) return; await work(); done = true`: a call that finds the mark leaves at once, so the work is meant to
 * be done once. Its answer is not kept: it is done for its effect.
 */
function isDoneOnce({ graph }: Host, { check, write, actBlock, suspensions }: Window): boolean {
  const { access } = check
  // A note written by an error handler is not the end of the work.
  if (ownerIn(write) !== ownerIn(access) || actBlock.cleanup === 1) return false
  const isForEffect = suspensions.some(
    ({ kind, joins }) =>
      kind === 'await' && joins.length > 0 && joins.every((site) => site.isDiscarded),
  )
  if (!isForEffect) return false
  return access.checks.some(({ whenPresent, branch }) => {
    if (whenPresent === undefined || branch.isLoop) return false
    const work = ask(
      graph,
      { block: whenPresent, index: -1 },
      {
        states: 1,
        start: 0,
        step(event) {
          if (ownerIn(event) !== ownerIn(access)) return stop
          if (event.op === 'call') return event.isJoined ? found : 0
          return event.op === 'write' || event.op === 'suspend' ? found : 0
        },
      },
    )
    return work === undefined
  })
}

/** The code behind the check makes a handle or a timer: a second one replaces the first. */
function repeatsInside(model: Model, host: Host, { branch }: Window): boolean {
  return host.written.some(
    ({ location, accesses }) =>
      model.lifecycles.isHandle(location) &&
      accesses.some(
        ({ access, block }) =>
          access.op === 'write' &&
          access.kind === 'set' &&
          isMade(access) &&
          dependsOn(host.graph, branch, block),
      ),
  )
}

function levelOf(kind: StateKind, unit: FunctionUnit, canOverlap: boolean, window: Window): Level {
  const { access } = window.check
  if (!canOverlap) return 'note'
  const { canonical } = access.location
  const isForeign = canonical.scope === 'parameter' && !isComponentState(canonical)
  if (isForeign && kind !== 'counter' && kind !== 'running') return 'note'
  if (kind === 'value' || kind === 'end' || kind === 'entry') return 'note'
  if (kind === 'running' && access.checks.some((one) => one.isIdentity)) return 'note'
  if (isCalledInTurn(unit) || window.branch.isLoop) return 'note'
  // A write of a listener or timer comes from somewhere else, at a time of its own.
  const { role } = ownerIn(window.write)
  const isElsewhere =
    (role === 'event' || role === 'timer' || role === 'interval') &&
    ownerIn(window.write) !== ownerIn(access)
  if (isElsewhere && kind !== 'flag') return 'note'
  if (kind === 'counter' && !isLimit(window)) return 'note'
  return hasStrongReach(unit) && kind !== 'answer' ? 'error' : 'warning'
}

/** Compared with a limit, not just checked. */
function isLimit(window: Window): boolean {
  return window.check.access.checks.some((check) =>
    /[<>]/.test(
      textOf({ owner: window.check.access.owner, start: check.start, end: check.end }, 120),
    ),
  )
}

function consequence(kind: StateKind): string {
  switch (kind) {
    case 'flag':
    case 'once':
    case 'end':
      return 'the work is done twice at the same time'
    case 'remote':
      return 'the request that changes something is sent twice'
    case 'running':
      return 'the work that was to be shared runs twice'
    case 'handle':
      return 'the first one is replaced and leaks'
    case 'counter':
      return 'the limit is passed'
    case 'answer':
      return 'it is asked for twice, and the last answer replaces the one that others already use'
    case 'latest':
      return 'and the older value may replace the newer one'
    case 'container':
      return 'and everything put into the first one is lost'
    case 'entry':
      return 'the entry of the first one is lost'
    case 'value':
      return 'the work is done twice and the last one wins'
  }
}

export const checkThenActPage: RulePage = {
  id: 'H101',
  name: 'check-then-act',
  class: 'toctou',
  level: 'error',
  summary: 'Shared state is checked before a suspension and written after it.',
  what: `A branch reads a shared location, the task is suspended, and then it writes that location
without looking again. Nothing that another task would see is written before the suspension, and no
guard is held over it. Lazy initialisation, a flag that is set too late and a limit that is counted too
late are the usual forms.`,
  why: `Every caller that arrives during the suspension sees the same state as the first one, and acts as
well. Two connections are opened and one is never closed, a token is requested ten times and nine of
them are revoked, a limit of five lets seven through. It needs no bad luck, only two callers at start-up.`,
  race: source`
    export class Client {
      #session: Session | undefined

      async connect(): Promise<Session> {
        if (this.#session === undefined) {
          const session = await openSession()
          this.#session = session
        }
        return this.#session
      }

      async close(): Promise<void> {
        await this.#session?.end()
      }
    }
  `,
  steps: [
    ['A', 'connect(): there is no session'],
    ['A', 'await openSession(): suspended'],
    ['B', 'connect(): there is still no session'],
    ['B', 'await openSession(): suspended'],
    ['A', 'keeps its session and returns it'],
    ['B', 'overwrites it with another: the first one is never ended'],
  ],
  window: [2, 5],
  fixed: source`
    export class Client {
      #session: Promise<Session> | undefined

      connect(): Promise<Session> {
        this.#session ??= openSession()
        return this.#session
      }

      async close(): Promise<void> {
        const session = await this.#session
        await session?.end()
      }
    }
  `,
  fixes: [
    'Keep the promise instead of the value, and write it in the region of the check (single flight).',
    'Set the flag, or count the place, before the first suspension, and take it back when that fails.',
    'Check again after the suspension, and discard your own result if another call was faster.',
    'Hold a mutex over check and act.',
  ],
}
