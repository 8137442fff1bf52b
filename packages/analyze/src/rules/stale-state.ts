/**
 * The part of H201 about states with a name: `if (this.state !== 'open') return`, a suspension, and then the
 * use of a resource that another function has released when it changed the state.
 *
 * A flag that only ever becomes true is a latch, and `use-after-await.ts` knows more about those. Here the
 * state goes back and forth: `running` that a stop sets to false, `status` with one word for each phase.
 */
import type { Access, Block, Check, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, Suspension } from '../ir/program.ts'
import { ownerIn } from '../ir/splice.ts'
import { isMade } from '../meaning/lifecycle.ts'
import { isStore } from '../summaries/effects.ts'
import { reaches } from '../summaries/paths.ts'
import type { Answer } from '../summaries/paths.ts'
import { textOf } from './draft.ts'
import { isCheck } from './host.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isComponentState } from './shared.ts'
import { isTakenBack } from './taken-back.ts'
import { baseOf, isIdentityCheck, isWithin, overSuspension } from './event-walk.ts'

export interface StaleState {
  readonly location: Location
  readonly check: Access
  readonly act: Access | CallSite
  readonly suspensions: readonly Suspension[]
  readonly killer: Access
  readonly reason: string
}

export function staleState(model: Model, host: Host): StaleState | undefined {
  for (const { location, accesses } of host.checked) {
    if (!isComponentState(location)) continue
    const checks = accesses.filter(isCheck)
    if (checks.length === 0) continue
    for (const killer of endsOf(model, location, host)) {
      for (const check of checks) {
        const found = from(model, host, location, check, killer)
        if (found !== undefined) return found
      }
    }
  }
  return undefined
}

/** The places where a function that takes things down sets a constant. */
function endsOf(model: Model, location: Location, host: Host): Access[] {
  const ends: Access[] = []
  for (const { access, host: by } of model.writesOf(location)) {
    if (access.isInitial || by === host.unit || !isConstant(access)) continue
    if (by.kind === 'constructor' || by.kind === 'module' || overlapOf(by) === undefined) continue
    if (model.lifecycles.isTeardown(by) && !isStepOf(by, host)) ends.push(access)
  }
  return ends
}

function isStepOf({ callers, isExported }: Access['owner'], { unit }: Host): boolean {
  return !isExported && callers.length > 0 && callers.every(({ owner }) => owner.host === unit)
}

/** `false`, `'closed'`, `State.Closed`, `CLOSED`: the text after the place that is assigned. */
function isConstant(access: Access): boolean {
  return assignedConstant(access) !== undefined
}

const assigned =
  /^\s*=\s*(false|true|\d+|'[^'\n]*'|"[^"\n]*"|(?:[\w$]+\.)*[A-Z][\w$]*(?:\.[A-Z][\w$]*)*)\s*(?:[;,)}\n]|$)/

function assignedConstant({ owner, end }: Access): string | undefined {
  const after = owner.file.parsed.text.slice(end, end + 120)
  return assigned.exec(after)?.[1]?.replaceAll('"', "'")
}

function from(
  model: Model,
  host: Host,
  location: Location,
  check: Located,
  killer: Access,
): StaleState | undefined {
  const first = check.access.checks.find((one) => !one.branch.isLoop)
  if (first === undefined) return undefined
  const alive = aliveSide(host, first, killer)
  if (alive === undefined) return undefined
  const isBroken = (event: Event, isAfter: boolean): boolean => {
    // The task changes the state itself: its earlier check does not count any more.
    if (event.op === 'write') return event.location.canonical === location
    if (!isAfter) return false
    if (event.op === 'read')
      return (
        model.isCheckOf(event, location) ||
        isIdentityCheck(event) ||
        (event.checks.length > 0 && isGivenBack(model, event.location, killer))
      )
    if (event.op !== 'call') return false
    return (
      model.isCheckOf(event, location) ||
      event.targets.some(
        (target) => model.summaries(target.host).before.get(location)?.check !== undefined,
      )
    )
  }
  const way: Answer | undefined = overSuspension(
    host.graph,
    check,
    (event, block) => isUse(model, event, location, killer) && runsOn(host, first, alive, block),
    isBroken,
    (suspension) => !isTakenBack(model, host, suspension, killer.owner),
  )
  const act = way?.event as Access | CallSite | undefined
  if (way === undefined || act === undefined || !isWithin(ownerIn(act), ownerIn(check.access)))
    return undefined
  const guard = model.serial.guardOf(host.unit)
  if (guard !== undefined && guard === model.serial.guardOf(killer.owner.host)) return undefined
  return {
    location,
    check: check.access,
    act,
    suspensions: way.suspensions,
    killer,
    reason: `${killer.owner.namedAs} sets \`${textOf(killer, 40)}\` and releases the resource used here`,
  }
}

/** The side of the branch on which the state is not the one that the other function sets. */
function aliveSide(host: Host, check: Check, killer: Access): Block | undefined {
  const { branch, whenPresent, whenAbsent, start, end } = check
  const ended = assignedConstant(killer)
  if (ended === 'false') return whenPresent
  if (ended === 'true') return whenAbsent
  const text = host.unit.file.parsed.text.slice(start, end)
  const sign = /[^=!]([!=])==?\s*([^=].*)$/s.exec(text)
  if (sign === null) return undefined
  const isEqual = sign[1] === '='
  const isEnd = sign[2]!.trim().replaceAll('"', "'") === ended
  return isEqual === isEnd ? branch.whenFalse : branch.whenTrue
}

function runsOn({ graph }: Host, { branch }: Check, alive: Block, block: Block): boolean {
  const other = alive === branch.whenTrue ? branch.whenFalse : branch.whenTrue
  return reaches(graph, alive, block, branch.blocks) && !reaches(graph, other, block, branch.blocks)
}

/** A call on a resource that the other function releases, or a handle that is stored where it releases one. */
function isUse(model: Model, event: Event, state: Location, killer: Access): boolean {
  if (event.op === 'write')
    return (
      isStore(event) &&
      event.kind === 'set' &&
      isMade(event) &&
      baseOf(event.location.canonical) === baseOf(state) &&
      isGivenBack(model, event.location, killer)
    )
  if (event.op !== 'call' || event.receiver === undefined || event.receiver.depth === 0)
    return false
  return (
    !harmless.has(event.name) &&
    !model.lifecycles.isRelease(event) &&
    baseOf(event.receiver.canonical) === baseOf(state) &&
    isGivenBack(model, event.receiver, killer)
  )
}

/** Asking an ended handle, or taking listeners off it, does no harm. */
const harmless = new Set(
  'off removeListener removeAllListeners removeEventListener on once has get delete then catch finally unref'.split(
    ' ',
  ),
)

/** Released by the function that sets the state, by one that it calls, or by one that calls it. */
export function isGivenBack(
  model: Model,
  location: Location,
  { owner: { host } }: Access,
): boolean {
  return model.lifecycles
    .releasesOf(location)
    .some(
      ({ owner }) =>
        owner.host === host ||
        host.calls.some(({ targets }) => targets.includes(owner.host)) ||
        owner.host.calls.some(({ targets }) => targets.includes(host)),
    )
}
