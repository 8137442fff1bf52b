/**
 * H213 inconsistent check: places of a component check a flag right before they do something, and no more
 * other places do the same after a suspension without a check.
 *
 * The program's behaviour everywhere else shows the assumption of its author: here nothing is known about names or
 * protocols. A *look* counts when the act depends on it and no suspension is between them. The state is a flag, and
 * another function sets it to what those places refuse to act in.
 */
import type { Access, Block, Check, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit, Suspension } from '../ir/program.ts'
import { ownerIn } from '../ir/splice.ts'
import { isStore } from '../summaries/effects.ts'
import { ask, found, reaches, stop } from '../summaries/paths.ts'
import { dependsOn } from './check-then-act.ts'
import type { Draft, Place } from './draft.ts'
import { textOf } from './draft.ts'
import { abortWait, recheck } from './fixes.ts'
import type { At, Host } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isAnswer, isComponentState } from './shared.ts'
import { isTakenBack } from './taken-back.ts'
import { baseOf, isIdentityCheck, isWithin } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

/** How many functions must check before they act, before it counts as the program's rule. */
const enoughFunctions = 2
/** A call in more places is a utility of the component. */
const mostSites = 24

type Act = At<CallSite | Access>

interface Site {
  readonly host: Host
  readonly act: Act
}

/** When the act happens: the flag is set, or it is not. */
type Sense = 'there' | 'absent'

interface Look {
  readonly location: Location
  readonly sense: Sense
  readonly access: Access
}

export function inconsistentCheck(model: Model): Draft[] {
  const drafts: Draft[] = []
  const reported = new Set<FunctionUnit>()
  for (const sites of sitesByAct(model)) {
    for (const draft of amongSites(model, sites)) {
      const unit = draft.act.owner.host
      if (reported.has(unit)) continue
      reported.add(unit)
      drafts.push(draft)
    }
  }
  return drafts
}

/** The same thing, done in several places: a function of the component, a method of its handle, a store. */
function* sitesByAct(model: Model): Generator<readonly Site[]> {
  const byKey = new Map<string, CallSite[]>()
  for (const unit of model.program.units) {
    if (unit.host.graph === undefined || isBeginning(unit.host)) continue
    for (const site of unit.calls) {
      const key = keyOfCall(model, site)
      const known = key === undefined ? undefined : byKey.get(key)
      if (known !== undefined) known.push(site)
      else if (key !== undefined) byKey.set(key, [site])
    }
  }
  for (const calls of byKey.values()) {
    if (!isWorthALook(calls.map(({ owner }) => owner.host))) continue
    yield calls.flatMap((site) => {
      const host = model.hostOf(site.owner.host)
      const act = host.calls.find(({ event }) => event === site)
      return act === undefined ? [] : [{ host, act }]
    })
  }
  const seen = new Set<Location>()
  for (const { written } of model.hosts.suspending) {
    for (const { location } of written) {
      if (seen.has(location) || !isComponentState(location)) continue
      seen.add(location)
      const stores = model
        .writesOf(location)
        .filter(
          ({ access, host }) =>
            isStore(access) &&
            access.value?.literal === undefined &&
            !access.isInitial &&
            !isBeginning(host),
        )
      if (isWorthALook(stores.map(({ host }) => host)))
        yield stores.map(({ access, host, block, index }) => ({
          host: model.hostOf(host),
          act: { block, index, event: access },
        }))
    }
  }
}

const isBeginning = ({ kind }: FunctionUnit): boolean => kind === 'constructor' || kind === 'module'

function isWorthALook(hosts: readonly FunctionUnit[]): boolean {
  return (
    hosts.length <= mostSites &&
    hosts.some(({ graph }) => graph?.suspends === true) &&
    new Set(hosts).size > enoughFunctions
  )
}

function keyOfCall(model: Model, site: CallSite): string | undefined {
  if (site.isNew || model.lifecycles.isRelease(site)) return undefined
  const [target] = site.targets
  if (target !== undefined) {
    if (site.isGuess || site.targets.length > 1 || baseOfTarget(target) === undefined)
      return undefined
    const { before, after } = model.summaries(target.host)
    const changes = [...before.effects, ...after.effects].some(({ store }) => store !== undefined)
    return changes ? `u${target.id}` : undefined
  }
  const { receiver } = site
  if (receiver === undefined || !isComponentState(receiver.canonical)) return undefined
  if (!model.lifecycles.isHandle(receiver.canonical)) return undefined
  return `h${receiver.canonical.id}.${site.name}`
}

function* amongSites(model: Model, sites: readonly Site[]): Generator<Draft> {
  const looks = sites.map((site) => looksBefore(model, site))
  const asked = new Set<string>()
  for (const [at, look] of looks.flatMap((list, index) =>
    list.map((one) => [index, one] as const),
  )) {
    const key = `${look.location.id} ${look.sense}`
    if (asked.has(key)) continue
    asked.add(key)
    const isSame = (one: Look): boolean =>
      one.location === look.location && one.sense === look.sense
    const looking = new Set(
      sites.filter((_, index) => looks[index]!.some(isSame)).map(({ host }) => host.unit),
    )
    if (looking.size < enoughFunctions) continue
    const others = sites.filter(({ host }) => !looking.has(host.unit))
    if (others.length === 0 || others.length > looking.size) continue
    if (calleeLooks(model, sites[at]!.act.event, look.location)) continue
    for (const site of others) {
      const draft = unlooked(model, site, look, looking)
      if (draft !== undefined) yield draft
    }
  }
}

/** The checks in the region of the act that decide whether it happens. */
function looksBefore(model: Model, { host, act }: Site): Look[] {
  const looks: Look[] = []
  const own = act.event.op === 'write' ? act.event.location.canonical : undefined
  const used = act.event.op === 'call' ? act.event.receiver?.canonical : undefined
  for (const { location, accesses } of host.checked) {
    if (!isComponentState(location) || isAnswer(location)) continue
    if (location === own || location === own?.parent?.canonical || location === used) continue
    if (baseOf(location) !== baseOfAct(act.event)) continue
    for (const { access, block, index } of accesses) {
      const sense = access.checks
        .map((check) => senseOf(host, check, act.block))
        .find((one) => one !== undefined)
      if (sense === undefined || !isFlag(model, location, sense)) continue
      if (!leadsTo(host, { block, index, event: access }, act)) continue
      looks.push({ location, sense, access })
      break
    }
  }
  return looks
}

/**
 * Only ever set and cleared, or stored in one place and never cleared, like a promise of the end: other values
 * have more than two states, and a check of them can mean anything.
 */
function isFlag(model: Model, location: Location, sense: Sense): boolean {
  const writes = model.writesOf(location).filter(({ access }) => !access.isInitial)
  if (writes.length === 0) return false
  if (sense === 'absent' && writes.length === 1 && isStore(writes[0]!.access)) return true
  return writes.every(
    ({ access: { value } }) => value?.literal === 'true' || value?.literal === 'false',
  )
}

/** A method of the class that the flag belongs to: fields of one name are not the same in other classes. */
function isAtHome(unit: FunctionUnit, { class: wanted }: Location): boolean {
  if (wanted === undefined) return true
  let owner = unit.class
  for (let at = unit.parent; at !== undefined && owner === undefined; at = at.parent)
    owner = at.class
  for (; owner !== undefined; owner = owner.superClass) if (owner === wanted) return true
  return false
}

function baseOfAct(event: Event): unknown {
  if (event.op === 'write') return baseOf(event.location.canonical)
  if (event.op !== 'call') return undefined
  if (event.receiver !== undefined && event.receiver.depth > 0)
    return baseOf(event.receiver.canonical)
  return event.targets[0] && baseOfTarget(event.targets[0])
}

/** The component that a function belongs to, as `baseOf` names that of state. */
function baseOfTarget({ class: owner, parent, file }: FunctionUnit): unknown {
  if (owner !== undefined) return owner
  return parent === undefined || parent.kind === 'module' ? file : parent
}

function senseOf({ graph }: Host, check: Check, block: Block): Sense | undefined {
  const { branch, whenPresent, isIdentity } = check
  if (isIdentity || branch.isLoop || whenPresent === undefined) return undefined
  if (!dependsOn(graph, branch, block)) return undefined
  return reaches(graph, whenPresent, block, branch.blocks) ? 'there' : 'absent'
}

/** Whether one leads to the other without a suspension between them. */
function leadsTo(host: Host, from: At<Access>, act: Act): boolean {
  return (
    ask(host.graph, from, {
      states: 1,
      start: 0,
      step: (event) => (event === act.event ? found : event.op === 'suspend' ? stop : 0),
    }) !== undefined
  )
}

/** The function that is called looks for itself. */
function calleeLooks(model: Model, event: Event, location: Location): boolean {
  return (
    event.op === 'call' &&
    event.targets.some((target) => model.summaries(target.host).before.get(location) !== undefined)
  )
}

function unlooked(
  model: Model,
  { host, act }: Site,
  look: Look,
  looking: ReadonlySet<FunctionUnit>,
): Draft | undefined {
  const { location } = look
  const changer = changedBy(model, look, host.unit)
  if (changer === undefined || model.lifecycles.isTeardown(host.unit)) return undefined
  if (!isAtHome(act.event.owner, location)) return undefined
  const serial = model.serial.guardOf(host.unit)
  if (serial !== undefined && serial === model.serial.guardOf(changer.owner.host)) return undefined
  const answer = ask(
    host.graph,
    { block: host.graph.entry, index: -1 },
    {
      states: 2,
      start: 0,
      step(event, state) {
        if (event === act.event) return state === 1 ? found : stop
        if (event.op === 'suspend') return isTakenBack(model, host, event, changer.owner) ? stop : 1
        if (state === 1 && isAnyLook(model, event, location)) return stop
        if (event.op === 'write' && event.location.canonical === location) return stop
        return state
      },
    },
  )
  const suspension = answer?.suspensions.at(-1)
  if (answer === undefined || suspension === undefined) return undefined
  if (!isWithin(ownerIn(act.event), host.unit)) return undefined
  return describe(host, look, act.event, suspension, changer, looking)
}

/** Any state of the same component decides: its relation to the other is not known. */
function isAnyLook(model: Model, event: Event, location: Location): boolean {
  if (model.isCheckOf(event, location) || isIdentityCheck(event)) return true
  if (event.op === 'read')
    return event.checks.length > 0 && baseOf(event.location.canonical) === baseOf(location)
  return event.op === 'call' && event.checks.length > 0
}

/** Another function changes it to a value in which the others do not act. */
function changedBy(model: Model, look: Look, except: FunctionUnit): Access | undefined {
  const isAgainst = (access: Access): boolean => {
    const { literal } = access.value ?? {}
    const isGone =
      !isStore(access) || literal === 'false' || literal === 'null' || literal === 'zero'
    return look.sense === 'there' ? isGone : !isGone
  }
  return model
    .writesOf(look.location)
    .find(
      ({ access, host }) =>
        !access.isInitial && host !== except && isAgainst(access) && overlapOf(host) !== undefined,
    )?.access
}

function describe(
  host: Host,
  { location, access: look }: Look,
  act: Place,
  suspension: Suspension,
  changer: Access,
  looking: ReadonlySet<FunctionUnit>,
): Draft {
  const { name } = location
  const others = [...looking].map(({ namedAs }) => namedAs)
  return {
    rule: 'H213',
    class: 'stale-reference',
    level: 'warning',
    message: `${host.unit.namedAs} runs \`${textOf(act, 40)}\` after a suspension without checking ${name}, which ${others.slice(0, 2).join(' and ')} check right before they do the same`,
    locations: [location],
    check: suspension,
    act,
    suspensions: [suspension],
    conflict: changer,
    steps: [
      { task: 'A', text: `waits: \`${textOf(suspension)}\``, at: suspension, isCheckpoint: true },
      { task: 'B', text: `${changer.owner.namedAs}: \`${textOf(changer)}\``, at: changer },
      { task: 'A', text: `resumes without a check: \`${textOf(act)}\``, at: act },
    ],
    window: [0, 2],
    evidence: [
      `${looking.size} functions check first: \`${textOf(look)}\` in ${look.owner.namedAs}`,
      overlapOf(changer.owner)?.text ?? `${changer.owner.namedAs} runs at any time`,
    ],
    fixes: [recheck(name, [3, 3]), abortWait(changer.owner.namedAs, [2, 3])],
  }
}

export const inconsistentCheckPage: RulePage = {
  id: 'H213',
  name: 'inconsistent-check',
  class: 'stale-reference',
  level: 'warning',
  summary:
    'Other functions check a state right before they do this; here it is done after a suspension without a check.',
  what: `Two or more functions of a component check the same state and then, without a suspension between, call a
function, use a handle or store something. Another function does the same after a suspension and does not check.
A third one changes that state to a value in which the others do not act.`,
  why: `The checks show the author's assumption. Where one of them is missing, the act happens in a
state that the rest of the component rules out: after close, before ready, with the connection of another session.`,
  race: source`
    export class Feed {
      #paused = false
      #page = 0

      #show(page: number): void {
        this.#page = page
        render(page)
      }

      next(): void {
        if (this.#paused) return
        this.#show(this.#page + 1)
      }

      previous(): void {
        if (this.#paused) return
        this.#show(this.#page - 1)
      }

      pause(): void {
        this.#paused = true
      }

      async jump(title: string): Promise<void> {
        const page = await find(title)
        this.#show(page)
      }
    }
  `,
  steps: [
    ['A', 'jump(): await find(title): suspended'],
    ['B', 'pause(): nothing is to be shown from now on'],
    ['A', 'resumes and shows the page'],
  ],
  window: [1, 3],
  fixed: source`
    export class Feed {
      #paused = false
      #page = 0

      #show(page: number): void {
        this.#page = page
        render(page)
      }

      next(): void {
        if (this.#paused) return
        this.#show(this.#page + 1)
      }

      previous(): void {
        if (this.#paused) return
        this.#show(this.#page - 1)
      }

      pause(): void {
        this.#paused = true
      }

      async jump(title: string): Promise<void> {
        const page = await find(title)
        if (this.#paused) return
        this.#show(page)
      }
    }
  `,
  fixes: [
    'Look at the state after the suspension, as the other functions do.',
    'Move the check into the function that all of them call.',
    'Pass an AbortSignal to the wait, and abort it where the state changes.',
  ],
}
