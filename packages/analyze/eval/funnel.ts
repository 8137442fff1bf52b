/**
 * Where a case is lost: the first question on the way from its text to a finding that has no answer.
 *
 * A rule can only report what the engine sees: events at the two lines, a way from one to the other over a
 * suspension, state that two tasks share, another function that writes it. A case that has all of this and no
 * finding is lost by the rules (no rule asks, or a guard is seen), and one with a note is lost by its level.
 * The table of these losses says what to repair next, without a look at any single case.
 */
import type { Event } from '../src/ir/graph.ts'
import type { Location } from '../src/ir/locations.ts'
import type { CallSite, FileUnit, FunctionUnit, Program, Suspension } from '../src/ir/program.ts'
import type { At, Host, Located } from '../src/rules/host.ts'
import { overlapOf, Model } from '../src/rules/program-model.ts'
import { eventsOf, inSameRegion, overSuspension } from '../src/rules/event-walk.ts'
import { targetsOf } from '../src/summaries/call-order.ts'
import { summarise } from '../src/summaries/summary.ts'
import type { Case, Outcome } from './score.ts'

/** In the order in which they are asked. */
export const stages = [
  'no graph',
  'no event',
  'two functions',
  'one region',
  'no way',
  'not shared',
  'no writer',
  'guarded',
  'no rule',
  'other lines',
  'note',
  'also when fixed',
  'hit',
] as const

export type Stage = (typeof stages)[number]

/** What each stage means, for the table. */
export const meanings: Readonly<Record<Stage, string>> = {
  'no graph': 'no function with a graph is at the lines',
  'no event': 'the engine sees no read, write or call at one of the two lines',
  'two functions': 'check and act are in two functions that no third one calls',
  'one region':
    'no suspension is between them: the window is in another function, or before or after both',
  'no way': 'the engine sees no way from one to the other',
  'not shared': 'what is accessed at the two lines is not known as shared',
  'no writer': 'no function that may overlap writes what is accessed there',
  guarded: 'a guard is held over the window',
  'no rule': 'the window is there, and no rule reports anything in the function',
  'other lines': 'something is reported in the function, at other lines',
  note: 'reported as a note',
  'also when fixed': 'reported, and also in the fixed version',
  hit: 'reported, and silent when fixed',
}

export interface Loss {
  readonly stage: Stage
  /** What was seen at the lines. */
  readonly detail: string
}

/** Programs that were analysed with `keepsProgram`. */
export function modelOf(program: Program): Model {
  // Parts number their locations from zero, each for itself.
  for (const [id, location] of program.locations.entries()) location.id = id
  return new Model(program, summarise(program.units))
}

export function lossOf(wanted: Case, outcome: Outcome, model: () => Model): Loss {
  if (outcome.hit)
    return loss(outcome.isSilentWhenFixed ? 'hit' : 'also when fixed', outcome.findings.join(', '))
  if (outcome.isNoted) return loss('note', outcome.inFunction.join(', '))
  const seen = new Lines(model(), wanted).lostAt()
  if (seen.stage !== 'no rule' || outcome.inFunction.length === 0) return seen
  return loss('other lines', `${outcome.inFunction.join(', ')}; ${seen.detail}`)
}

const loss = (stage: Stage, detail = ''): Loss => ({ stage, detail })

/** Events are at a line when they begin or end this near to it. */
const near = 2
/** Calls between a function and the one that is asked about. */
const farthest = 3

interface Side {
  readonly line: number
  readonly hosts: ReadonlyMap<FunctionUnit, readonly At<Event>[]>
}

/** A function with events of both sides: its own, or calls that lead to them. */
interface Pair {
  readonly host: Host
  readonly checks: readonly At<Event>[]
  readonly acts: readonly At<Event>[]
}

class Lines {
  readonly #model: Model
  readonly #wanted: Case
  readonly #file: FileUnit | undefined

  constructor(model: Model, wanted: Case) {
    this.#model = model
    this.#wanted = wanted
    this.#file = model.program.files.find((file) => file.path === wanted.file)
  }

  lostAt(): Loss {
    const { check_line, act_line } = this.#wanted
    if (this.#file === undefined) return loss('no graph', 'the file is not analysed')
    for (const line of [check_line, act_line])
      if (!this.#hasGraphAt(line)) return loss('no graph', `line ${line}`)
    const check = this.#sideAt(check_line)
    const act = this.#sideAt(act_line)
    for (const side of [check, act])
      if (side.hosts.size === 0) return loss('no event', `line ${side.line}`)
    const pairs = this.#pairsOf(check, act)
    if (pairs.length === 0) return loss('two functions', `${namesOf(check)} and ${namesOf(act)}`)
    const ways = pairs.flatMap((pair) => {
      const suspension = this.#suspensionBetween(pair)
      return suspension === undefined ? [] : [{ pair, suspension }]
    })
    if (ways.length === 0)
      return loss(pairs.some(isOneRegion) ? 'one region' : 'no way', namesOf(check))
    const shared = new Set(ways.flatMap(({ pair }) => this.#sharedIn(pair)))
    if (shared.size === 0) return loss('not shared', namesOf(check))
    const written = [...shared].filter((location) => this.#isWrittenByOthers(location))
    const names = [...shared].map(({ name }) => name).join(' ')
    if (written.length === 0) return loss('no writer', names)
    const isOpen = ways.some(({ pair, suspension }) => !this.#isGuarded(pair, suspension))
    return loss(isOpen ? 'no rule' : 'guarded', written.map(({ name }) => name).join(' '))
  }

  #lineOf(offset: number): number {
    return this.#file!.parsed.lineAt(offset).line
  }

  #hasGraphAt(line: number): boolean {
    return this.#file!.units.some(
      ({ host, start, end }) =>
        host.graph !== undefined && this.#lineOf(start) <= line && line <= this.#lineOf(end),
    )
  }

  #sideAt(line: number): Side {
    const isAt = (offset: number): boolean => Math.abs(this.#lineOf(offset) - line) <= near
    const hosts = new Map<FunctionUnit, At<Event>[]>()
    for (const unit of this.#file!.units) {
      if (unit.graph === undefined) continue
      const events = [...eventsOf(unit.graph)].filter(
        ({ event }) => event.op !== 'suspend' && (isAt(event.start) || isAt(event.end)),
      )
      if (events.length > 0) hosts.set(unit, events)
    }
    return { line, hosts }
  }

  #pairsOf(check: Side, act: Side): Pair[] {
    const pairs: Pair[] = []
    const checkCallers = callersOf(check)
    const actCallers = callersOf(act)
    for (const unit of checkCallers) {
      if (!actCallers.has(unit) || unit.graph === undefined) continue
      const host = this.#model.hostOf(unit)
      const checks = check.hosts.get(unit) ?? callsInto(host, check)
      const acts = act.hosts.get(unit) ?? callsInto(host, act)
      if (checks.length > 0 && acts.length > 0) pairs.push({ host, checks, acts })
    }
    return pairs
  }

  /** From one side to the other, in either order: which of them is called the check is a reader's word. */
  #suspensionBetween({ host, checks, acts }: Pair): Suspension | undefined {
    const between = (from: readonly At<Event>[], to: readonly At<Event>[]) => {
      const ends = new Set(to.map(({ event }) => event))
      for (const one of from) {
        const way = overSuspension(host.graph, one, (event) => ends.has(event))
        if (way !== undefined) return way.suspensions.at(-1)
      }
      return undefined
    }
    return between(checks, acts) ?? between(acts, checks)
  }

  #sharedIn({ host, checks, acts }: Pair): Location[] {
    return [...checks, ...acts].flatMap(({ event }) => {
      if (event.op === 'call') return this.#touchedBy(event)
      if (event.op !== 'read' && event.op !== 'write') return []
      const { canonical } = event.location
      const group = host.groups.find(({ location }) => location === canonical)
      return group?.isSharedIn(host.unit) === true ? [canonical] : []
    })
  }

  #touchedBy(site: CallSite): Location[] {
    return targetsOf(site).flatMap((target) => {
      const { before, after } = this.#model.summaries(target)
      return [...before.locations, ...after.locations].filter(({ scope }) => scope !== 'parameter')
    })
  }

  #isWrittenByOthers(location: Location): boolean {
    return this.#model
      .writesOf(location)
      .some(({ access, host }) => !access.isInitial && overlapOf(host) !== undefined)
  }

  #isGuarded({ host, checks }: Pair, suspension: Suspension): boolean {
    const located = checks.flatMap(({ event }): Located[] => {
      if (event.op !== 'read' && event.op !== 'write') return []
      const known = host.accessesOf(event.location.canonical)
      return known.filter(({ access }) => access === event)
    })
    const block = host.suspensions.find(({ event }) => event === suspension)?.block
    if (block === undefined || located.length === 0) return false
    return located.every(
      (from) =>
        this.#model.guardOver(host.unit, suspension, from, { block, event: suspension }) !==
        undefined,
    )
  }
}

/** One side is reached from the other without a suspension. */
function isOneRegion({ host, checks, acts }: Pair): boolean {
  const leads = (from: readonly At<Event>[], to: readonly At<Event>[]): boolean => {
    const ends = new Set(to.map(({ event }) => event))
    return from.some(
      (one) =>
        ends.has(one.event) ||
        inSameRegion(host.graph, one, (event) => ends.has(event)) !== undefined,
    )
  }
  return leads(checks, acts) || leads(acts, checks)
}

function namesOf({ hosts }: Side): string {
  return [...hosts.keys()].map((unit) => unit.namedAs).join(' ')
}

/** The functions of a side, and all that call one of them, nearest first. */
function callersOf({ hosts }: Side): ReadonlySet<FunctionUnit> {
  const found = new Set(hosts.keys())
  let last = [...found]
  for (let distance = 0; distance < farthest; distance++) {
    const next: FunctionUnit[] = []
    for (const unit of last)
      for (const { owner } of unit.callers)
        if (!found.has(owner.host)) {
          found.add(owner.host)
          next.push(owner.host)
        }
    last = next
  }
  return found
}

/** Calls of a function that lead to a side. */
function callsInto({ linked }: Host, side: Side): At<Event>[] {
  return linked.filter(({ event }) =>
    targetsOf(event).some((target) => leadsTo(target, side, farthest)),
  )
}

function leadsTo(unit: FunctionUnit, side: Side, calls: number): boolean {
  if (side.hosts.has(unit)) return true
  if (calls <= 1) return false
  return unit.calls.some((site) =>
    targetsOf(site).some((target) => leadsTo(target, side, calls - 1)),
  )
}
