/**
 * H201 use after await: a resource was found alive, a suspension follows, and it is used although
 * other code may have taken it down meanwhile.
 *
 * Four shapes: a flag (`closed`) that is checked before the suspension and, as the same code does
 * elsewhere, should be checked after it; a state with a name (`stale-state.ts`); an alias of a field that another
 * function tears down; and a claim (`ready = true`) about a resource that was stored before the suspension and may be
 * gone. Only reported when that other function exists in the program.
 */
import type { Access, Block, Check, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit, Suspension } from '../ir/program.ts'
import { isOwnVariable } from '../ir/own-variable.ts'
import { isCopy, isOfCopy, nextOf, ownerIn, placeIn } from '../ir/splice.ts'
import { isMade } from '../meaning/lifecycle.ts'
import { isStore } from '../summaries/effects.ts'
import { ask, found, reaches, stop } from '../summaries/paths.ts'
import type { Draft, Place } from './draft.ts'
import { textOf } from './draft.ts'
import { generation, mutex, recheck } from './fixes.ts'
import { dependsOn } from './check-then-act.ts'
import { isCheck } from './host.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isAnswer, isComponentState, isShared } from './shared.ts'
import { isGivenBack, staleState } from './stale-state.ts'
import { isTakenBack } from './taken-back.ts'
import {
  baseOf,
  inSameRegion,
  isIdentityCheck,
  isLook,
  isWithin,
  overSuspension,
} from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function useAfterAwait(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    const draft =
      staleFlag(model, host) ??
      namedState(model, host) ??
      staleAlias(model, host) ??
      goneAfterwards(model, host) ??
      assertedAfterwards(model, host)
    if (draft !== undefined) drafts.push(draft)
    const claim = staleClaim(model, host)
    if (claim !== undefined) drafts.push(claim)
  }
  for (const timer of model.calls.triggers) {
    const draft = blindTimer(model, timer)
    if (draft !== undefined) drafts.push(draft)
  }
  return drafts
}

// ---- a timer that outlives its resource

/** A timer that nothing can clear uses a resource that another function removes, without a check. */
function blindTimer(model: Model, timer: CallSite): Draft | undefined {
  const unit = timer.callbacks.find(({ role }) => role === 'timer')?.unit
  if (unit === undefined || !timer.isFloating || unit.host.graph === undefined) return undefined
  const host = model.hostOf(unit.host)
  if (host.unit === unit || model.lifecycles.isTeardown(host.unit)) return undefined
  const start = host.beginOf(unit, timer)
  if (start === undefined) return undefined
  const answer = ask(host.graph, start, {
    states: 1,
    start: 0,
    step(event) {
      if (event.op === 'suspend' || !isWithin(ownerIn(event), unit)) return stop
      if (event.op === 'call') return event.checks.length > 0 ? stop : 0
      if (event.op !== 'read') return 0
      if (isLook(event)) return stop
      const { canonical } = event.location
      return isComponentState(canonical) &&
        isBlindUse(model, event, canonical) &&
        takenAwayBy(model, canonical, host.unit) !== undefined
        ? found
        : 0
    },
  })
  const read = answer?.event as Access | undefined
  if (read?.use === undefined) return undefined
  const location = read.location.canonical
  const killer = takenAwayBy(model, location, host.unit)!
  return describe(host, location, timer, read.use, [start.event], killer, 'warning', [
    `${killer.owner.namedAs} takes it away and has no way to clear the timer`,
  ])
}

// ---- a flag that is not checked again

function staleFlag(model: Model, host: Host): Draft | undefined {
  for (const { location, accesses } of host.checked) {
    if (location.depth === 0 || location.scope === 'entry' || location.scope === 'external')
      continue
    if (isAnswer(location)) continue
    const killer = model.latches.setterOf(location, host.unit)
    if (killer !== undefined && isStepOf(killer.owner.host, host.unit)) continue
    if (killer === undefined) continue
    const checks = accesses.filter((one) => isCheck(one) && !isOfCopy(one.access))
    const habit =
      checks.length > 1 && isRecheckedAfterSuspension(model, host, location, checks)
        ? 'here'
        : isHabitOf(model, location)
          ? 'elsewhere'
          : 'none'
    for (const check of checks) {
      const draft = staleAfter(model, host, location, check, killer, habit)
      if (draft !== undefined) return draft
    }
  }
  return undefined
}

/** Only the function itself calls it: its effects are part of the same task. */
function isStepOf({ callers, isExported }: FunctionUnit, unit: FunctionUnit): boolean {
  return !isExported && callers.length > 0 && callers.every(({ owner }) => owner.host === unit)
}

/** Functions that leave at once when they find a flag set, before it counts as a habit. */
const enoughFunctions = 3

/** The functions of a component leave when they find the flag set: so should the code after the suspension. */
function isHabitOf(model: Model, location: Location): boolean {
  let leaving = 0
  for (const unit of model.summaries.uses.hostsOf(location)) {
    if (unit.graph === undefined) continue
    const isLeaving = model
      .hostOf(unit)
      .accessesOf(location)
      .some(
        ({ access }) =>
          !isCopy(access) &&
          access.checks.some(
            ({ whenPresent, branch }) =>
              whenPresent !== undefined &&
              !branch.isLoop &&
              (whenPresent.isThrowing || nextOf(whenPresent).length === 0),
          ),
      )
    if (isLeaving && ++leaving >= enoughFunctions) return true
  }
  return false
}

/** Found unset, suspended, and then something is done that the flag forbids, without a second look. */
function staleAfter(
  model: Model,
  host: Host,
  location: Location,
  check: Located,
  killer: Access,
  habit: 'here' | 'elsewhere' | 'none',
): Draft | undefined {
  const [first] = check.access.checks
  if (first === undefined || first.branch.isLoop) return undefined
  const way = overSuspension(
    host.graph,
    check,
    (event, block) =>
      isActOf(model, event, location, killer, habit) &&
      (habit !== 'none' || harmOf(model, event, killer) !== undefined) &&
      runsWhenUnset(host, first, block),
    (event, isAfter) => isAfter && isLookAt(model, event, location),
    (suspension) => !isTakenBack(model, host, suspension, killer.owner),
  )
  const act = way?.event as CallSite | Access | undefined
  if (way === undefined || act === undefined) return undefined
  if (!isWithin(ownerIn(act), ownerIn(check.access))) return undefined
  // The end of the same turn is too near for anything but the code itself.
  if (
    habit !== 'none' &&
    /^[\w.]*(?:nextTick|queueMicrotask)\b/.test(textOf(way.suspensions.at(-1)!))
  )
    return undefined
  const reason =
    harmOf(model, act, killer) ??
    (habit !== 'none'
      ? `${location.name} is checked before work continues elsewhere, but not after this suspension`
      : undefined)
  if (reason === undefined) return undefined
  // A guard of this task keeps out its like, not the one that sets the flag.
  const guard = model.serial.guardOf(host.unit)
  if (guard !== undefined && guard === model.serial.guardOf(killer.owner.host)) return undefined
  return describe(host, location, check.access, act, way.suspensions, killer, 'warning', [reason])
}

/** The block runs because the flag was found unset. */
function runsWhenUnset({ graph }: Host, { branch, whenPresent }: Check, block: Block): boolean {
  if (!dependsOn(graph, branch, block)) return false
  return whenPresent === undefined || !reaches(graph, whenPresent, block, branch.blocks)
}

/** A call on the object that the flag belongs to, or a handle that is stored in it. */
function isActOf(
  model: Model,
  event: Event,
  flag: Location,
  killer: Access,
  habit: 'here' | 'elsewhere' | 'none',
): boolean {
  if (event.op === 'write' && flag.scope === 'parameter' && event.kind === 'fill')
    return baseOf(event.location) === baseOf(flag)
  if (event.op === 'write') {
    if (!isStore(event) || baseOf(event.location.canonical) !== baseOf(flag)) return false
    if (event.kind === 'set' && isMade(event) && isGivenBack(model, event.location, killer))
      return true
    return event.value?.literal === undefined && isEmptiedBy(model, event.location, killer)
  }
  if (event.op !== 'call' || model.lifecycles.isRelease(event) || isSettling(event)) return false
  if (event.receiver !== undefined && event.receiver.depth > 0)
    return (
      usesResourceOf(event, flag) &&
      !isPrivateTo(model, event, killer) &&
      !isKeeping(model, event) &&
      (habit !== 'elsewhere' || isGivenBack(model, event.receiver, killer))
    )
  if (habit !== 'none' && isWorkOf(model, event, flag)) return true
  // A method of the class may check it; a method inherited from the platform does not.
  return (
    event.callee.kind === 'method' &&
    flag.class !== undefined &&
    flag.class === event.callee.class &&
    event.targets.length === 0 &&
    inherited.has(event.name)
  )
}

/** A function of the component that continues its work: it changes the state, or waits. */
function isWorkOf(model: Model, { targets, isGuess }: CallSite, flag: Location): boolean {
  return (
    !isGuess &&
    targets.some((target) => {
      const { before, suspends } = model.summaries(target.host)
      if (before.get(flag)?.check?.distance === 0) return false
      const isOurs = before.locations.some(
        (location, at) =>
          baseOf(location) === baseOf(flag) && before.effects[at]?.store !== undefined,
      )
      return isOurs && (suspends !== 'never' || before.size > 1)
    })
  )
}

/** A variable of one run that holds a plain value and that the other one does not touch: a value of this task. */
function isPrivateTo(model: Model, { receiver, owner }: CallSite, killer: Access): boolean {
  const { canonical } = receiver!
  return (
    isOwnVariable(canonical, owner.host) &&
    !model.lifecycles.isHandle(canonical) &&
    !model
      .hostOf(owner.host)
      .accessesOf(canonical)
      .some(({ access }) => isWithin(access.owner, killer.owner))
  )
}

/** `list.push(x)`: a value put into a container of the program is not used. */
function isKeeping(model: Model, { receiver, owner, start, end }: CallSite): boolean {
  return model
    .hostOf(owner.host)
    .accessesOf(receiver!.canonical)
    .some(({ access }) => access.kind === 'append' && access.start >= start && access.end <= end)
}

/** Completing a promise or a callback twice does nothing, and logging does no harm. */
function isSettling({ name }: CallSite): boolean {
  return /^(?:resolve|reject|then|catch|finally|emit|removeListener|removeAllListeners|off|delete|has|get)$/.test(
    name,
  )
}

/** The function that sets the flag also empties the place, or the container that it is in. */
function isEmptiedBy(model: Model, { canonical }: Location, { owner }: Access): boolean {
  const { before, after } = model.summaries(owner.host)
  const whole = canonical.scope === 'entry' ? canonical.parent?.canonical : canonical
  if (whole === undefined || !isComponentState(whole)) return false
  return before.get(whole)?.clear !== undefined || after.get(whole)?.clear !== undefined
}

/** A second look: at the flag, at another flag of its kind, or in the function that is called. */
function isLookAt(model: Model, event: Event, location: Location): boolean {
  if (model.isCheckOf(event, location) || isIdentityCheck(event)) return true
  if (event.op === 'read') return event.checks.length > 0 && model.latches.isLatch(event.location)
  if (event.op !== 'call') return false
  return event.targets.some((target) => {
    const { before } = model.summaries(target.host)
    if (before.get(location)?.check !== undefined) return true
    // It leaves by a flag of its own kind: the component has several that say the same.
    return before.effects.some(
      ({ check }, at) =>
        check?.distance === 0 &&
        baseOf(before.locations[at]!) === baseOf(location) &&
        model.latches.isLatch(before.locations[at]!),
    )
  })
}

/** What goes wrong: something is used or stored that the function which sets the flag gives back. */
function harmOf(model: Model, act: Event, killer: Access): string | undefined {
  const setter = killer.owner.namedAs
  if (act.op === 'write')
    return act.location.scope === 'entry' && act.location.parent?.scope === 'parameter'
      ? `${setter} sets it, and this is not to be done after that`
      : `${setter} sets it and releases or empties the stored value`
  if (act.op !== 'call') return undefined
  if (act.receiver !== undefined && act.receiver.depth > 0)
    return isGivenBack(model, act.receiver, killer)
      ? `${setter} sets it and releases the resource used here`
      : undefined
  // A method of the platform that the class inherits: a stream that is pushed to after its end.
  if (act.targets.length === 0 && act.callee.kind === 'method' && inherited.has(act.name))
    return `${setter} sets it and ends the stream written to here`
  return undefined
}

const inherited = new Set(['push', 'write', 'send'])

/** Code that checks the flag after a suspension shows that it may change there. */
function isRecheckedAfterSuspension(
  model: Model,
  host: Host,
  location: Location,
  checks: readonly Located[],
): boolean {
  return checks.some(
    (one) =>
      overSuspension(
        host.graph,
        one,
        (event) => event !== one.access && model.isCheckOf(event, location),
      ) !== undefined,
  )
}

function isOtherCheck(model: Model, event: Event): boolean {
  return event.op === 'read' && event.checks.length > 0 && model.latches.isLatch(event.location)
}

/** A method of something that belongs to the same object as the flag. */
function usesResourceOf(site: CallSite, flag: Location): boolean {
  const { receiver } = site
  if (receiver === undefined || receiver.depth === 0) return false
  return baseOf(receiver.canonical) === baseOf(flag) || baseOf(receiver) === baseOf(flag)
}

// ---- a state with a name

function namedState(model: Model, host: Host): Draft | undefined {
  const stale = staleState(model, host)
  if (stale === undefined) return undefined
  const { location, check, act, suspensions, killer, reason } = stale
  return describe(host, location, check, act, suspensions, killer, 'warning', [reason])
}

// ---- an alias of a released handle

function staleAlias(model: Model, host: Host): Draft | undefined {
  for (const { event: site, block } of host.calls) {
    const { callee } = site
    if (callee.kind !== 'member' || callee.receiver.location === undefined) continue
    const read = callee.receiver.reads?.[0]
    const location = callee.receiver.location.canonical
    if (read === undefined || read.location.canonical !== location) continue
    if (placeIn(read).start >= placeIn(site).start) continue
    if (
      read.checks.length === 0 ||
      (location.scope === 'parameter' && !isComponentState(location)) ||
      !isShared(location, host.unit)
    )
      continue
    if (model.lifecycles.isRelease(site) || model.lifecycles.isTeardown(host.unit)) continue
    const from = host.accessesOf(location).find((one) => one.access === read)
    if (from === undefined) continue
    const way = overSuspension(
      host.graph,
      from,
      (event, at) => event === site && at === block,
      (event, isAfter) =>
        isAfter && (model.isCheckOf(event, location) || isOtherCheck(model, event)),
    )
    if (way === undefined) continue
    const killer = teardownOf(model, location, host.unit)
    if (killer === undefined) continue
    const end = { block: way.block, event: way.suspensions[0]! }
    if (model.guardOver(host.unit, way.suspensions[0], from, end) !== undefined) continue
    return describe(host, location, read, site, way.suspensions, killer, 'warning', [
      `${killer.owner.namedAs} takes it down`,
    ])
  }
  return undefined
}

/** Empties the field in a function that gives things back. */
function teardownOf(model: Model, location: Location, except: FunctionUnit): Access | undefined {
  return model
    .writesOf(location)
    .find(
      ({ access, host }) =>
        !access.isInitial &&
        !isStore(access) &&
        host !== except &&
        model.lifecycles.isTeardown(ownerIn(access)),
    )?.access
}

// ---- a field that was there before the suspension

/** Found there, suspended, and used without looking: by then it may have been taken away. */
function goneAfterwards(model: Model, host: Host): Draft | undefined {
  if (model.lifecycles.isTeardown(host.unit)) return undefined
  for (const { location, accesses } of host.checked) {
    const killer = isEntryOfComponent(location)
      ? droppedBy(model, location, host.unit)
      : isComponentState(location)
        ? takenAwayBy(model, location, host.unit)
        : undefined
    if (killer === undefined) continue
    const checks = accesses.filter(
      ({ access }) =>
        access.op === 'read' &&
        access.checks.some((one) => one.whenPresent !== undefined && !one.isIdentity),
    )
    for (const check of checks) {
      const present = new Set(check.access.checks.map((one) => one.whenAbsent))
      const way = overSuspension(
        host.graph,
        check,
        (event, block) => isBlindUse(model, event, location) && !present.has(block),
        (event, isAfter) =>
          (isAfter &&
            (model.isCheckOf(event, location) ||
              isOtherCheck(model, event) ||
              isIdentityCheck(event))) ||
          (event.op === 'write' && event.location.canonical === location),
      )
      const read = way?.event as Access | undefined
      if (
        way === undefined ||
        read?.use === undefined ||
        !isWithin(ownerIn(read), ownerIn(check.access))
      )
        continue
      if (!dependsOn(host.graph, check.access.checks[0]!.branch, way.block)) continue
      const end = { block: way.block, event: read }
      if (model.guardOver(host.unit, way.suspensions[0], check, end) !== undefined) continue
      return describe(host, location, check.access, read.use, way.suspensions, killer, 'warning', [
        `${killer.owner.namedAs} takes it away`,
      ])
    }
  }
  return undefined
}

/**
 * `this.child!.send()` after a suspension: the type says that it may be gone, and another function does
 * take it away. No check was needed before for that to be known.
 */
function assertedAfterwards(model: Model, host: Host): Draft | undefined {
  if (!model.hosts.asserting.includes(host) || model.lifecycles.isTeardown(host.unit))
    return undefined
  for (const { location, accesses } of host.groups) {
    if (!isComponentState(location)) continue
    const uses = accesses.filter(
      ({ access }) => access.isAsserted && isBlindUse(model, access, location),
    )
    if (uses.length === 0) continue
    const killer = takenAwayBy(model, location, host.unit)
    if (killer === undefined || isStepOf(killer.owner.host, host.unit)) continue
    for (const use of uses) {
      const { access: read, block } = use
      const way = overSuspension(
        host.graph,
        { block: host.graph.entry, index: -1 },
        (event) => event === read,
        (event, isAfter) =>
          (isAfter &&
            (model.isCheckOf(event, location) ||
              isOtherCheck(model, event) ||
              isIdentityCheck(event))) ||
          (event.op === 'write' && event.location.canonical === location),
      )
      if (way === undefined || read.use === undefined) continue
      const [first] = way.suspensions
      if (first === undefined) continue
      if (model.guardOver(host.unit, first, use, { block, event: read }) !== undefined) continue
      return describe(host, location, first, read.use, way.suspensions, killer, 'warning', [
        `${killer.owner.namedAs} takes it away, and \`!\` says only that it was there`,
      ])
    }
  }
  return undefined
}

/** A method is called on it without a check, and without `?.`. */
function isBlindUse(model: Model, event: Event, location: Location): boolean {
  if (event.op !== 'read' || event.location.canonical !== location) return false
  if (event.use === undefined || event.checks.length > 0) return false
  if (model.lifecycles.isRelease(event.use)) return false
  return event.owner.file.parsed.text.slice(event.end, event.end + 2) !== '?.'
}

/** Set to nothing by a function that takes things down, or when something happens. */
function takenAwayBy(model: Model, location: Location, except: FunctionUnit): Access | undefined {
  return model
    .writesOf(location)
    .find(
      ({ access, host }) =>
        ((access.kind === 'null' && access.value?.literal === 'null') ||
          (access.kind === 'drop' && location.scope !== 'entry')) &&
        !access.isInitial &&
        host !== except &&
        (model.lifecycles.isTeardown(access.owner) ||
          access.owner.role === 'event' ||
          model.lifecycles.isHandle(location)),
    )?.access
}

function isEntryOfComponent({ scope, entryKey, parent }: Location): boolean {
  return (
    scope === 'entry' &&
    entryKey !== undefined &&
    parent !== undefined &&
    isComponentState(parent.canonical)
  )
}

/** Another function that may run at any time removes entries of the container, under whatever key. */
function droppedBy(model: Model, entry: Location, except: FunctionUnit): Access | undefined {
  const container = entry.parent!.canonical
  return model
    .writesOfField(entry.field)
    .find(
      ({ access, host }) =>
        access.kind === 'drop' &&
        host !== except &&
        access.location.canonical.parent?.canonical === container &&
        overlapOf(host) !== undefined,
    )?.access
}

// ---- a claim about something that may be gone

function staleClaim(model: Model, host: Host): Draft | undefined {
  for (const { location: claim, accesses } of host.written) {
    if (!isComponentState(claim)) continue
    for (const set of accesses) {
      if (set.access.op !== 'write' || set.access.value?.literal !== 'true' || set.access.isInitial)
        continue
      const claimed = resourceOf(model, host, claim, set)
      if (claimed === undefined) continue
      const { resource, killer, suspensions } = claimed
      return describe(host, claim, resource.access, set.access, suspensions, killer, 'warning', [
        `${killer.owner.namedAs} clears ${claim.name} together with ${resource.access.location.name}`,
      ])
    }
  }
  return undefined
}

interface Claimed {
  readonly resource: Located
  readonly killer: Access
  readonly suspensions: readonly Suspension[]
}

/** A field that was stored before the suspension and that others empty together with the claim. */
function resourceOf(model: Model, host: Host, claim: Location, set: Located): Claimed | undefined {
  const clears = model
    .writesOf(claim)
    .filter(
      ({ access, host: other }) => !isStore(access) && !access.isInitial && other !== host.unit,
    )
  if (clears.length === 0) return undefined
  for (const { location, accesses } of host.written) {
    if (location === claim || !isComponentState(location) || baseOf(location) !== baseOf(claim))
      continue
    const clear = clears.find((one) => isClearedWith(model, one, location))
    if (clear === undefined) continue
    for (const resource of accesses) {
      const { access } = resource
      if (access.op !== 'write' || !isStore(access) || access.value?.literal !== undefined) continue
      const way = overSuspension(
        host.graph,
        resource,
        (event) => event === set.access,
        (event, isAfter) =>
          isAfter &&
          (model.isCheckOf(event, location) ||
            model.isCheckOf(event, claim) ||
            isIdentityCheck(event) ||
            isOtherCheck(model, event)),
      )
      if (way === undefined) continue
      return { resource, killer: clear.access, suspensions: way.suspensions.slice(-2) }
    }
  }
  return undefined
}

function isClearedWith(model: Model, clear: Located, location: Location): boolean {
  const isClear = (event: Event): boolean =>
    event.op === 'write' && event.location.canonical === location && !isStore(event)
  if (inSameRegion(clear.graph, clear, isClear) !== undefined) return true
  return model
    .writesOf(location)
    .some(
      (one) =>
        one.host === clear.host &&
        isClear(one.access) &&
        inSameRegion(one.graph, one, (event) => event === clear.access) !== undefined,
    )
}

function describe(
  host: Host,
  location: Location,
  check: Place,
  use: Place,
  suspensions: readonly Suspension[],
  killer: Access,
  level: Draft['level'],
  reasons: readonly string[],
): Draft {
  const suspension = suspensions.at(-1) ?? suspensions[0]!
  const overlap = overlapOf(killer.owner) ?? overlapOf(host.unit)
  const name = location.name
  return {
    rule: 'H201',
    class: 'stale-reference',
    level,
    message: `${host.unit.namedAs} runs \`${textOf(use, 40)}\` after a suspension, although ${killer.owner.namedAs} may have changed ${name} during the wait`,
    locations: [location],
    check,
    act: use,
    suspensions: [suspension],
    conflict: killer,
    steps: [
      { task: 'A', text: `\`${textOf(check)}\`: all is well`, at: check },
      { task: 'A', text: `waits: \`${textOf(suspension)}\``, at: suspension, isCheckpoint: true },
      { task: 'B', text: `${killer.owner.namedAs}: \`${textOf(killer)}\``, at: killer },
      { task: 'A', text: `resumes as if nothing had happened: \`${textOf(use)}\``, at: use },
    ],
    window: [1, 3],
    evidence: [...reasons, ...(overlap === undefined ? [] : [overlap.text])],
    fixes: [recheck(name, [4, 4]), generation(name, [3, 4]), mutex(name, [1, 4])],
  }
}

export const useAfterAwaitPage: RulePage = {
  id: 'H201',
  name: 'use-after-await',
  class: 'stale-reference',
  level: 'error',
  summary: 'A resource is used after a suspension in which another task can close it.',
  what: `A task gets hold of a resource, or checks that it is usable, is suspended, and then uses it
without looking again; somewhere in the program another task closes, destroys, deletes or clears it.`,
  why: `The use meets a closed socket, a destroyed stream or a collection that is gone. The error
appears far from its cause, and mostly during shutdown, where it is least wanted.`,
  race: source`
    export class Cleaner {
      #storage: Storage | undefined = openStorage()

      async clean(): Promise<void> {
        const storage = this.#storage
        if (storage === undefined) return
        await idle()
        await storage.removeOld()
      }

      async close(): Promise<void> {
        const storage = this.#storage
        this.#storage = undefined
        await storage?.close()
      }
    }
  `,
  steps: [
    ['A', 'clean(): the storage is open'],
    ['A', 'await idle(): suspended'],
    ['B', 'close(): clears the field and closes the storage'],
    ['A', 'storage.removeOld() on a closed storage'],
  ],
  window: [2, 4],
  fixed: source`
    export class Cleaner {
      #storage: Storage | undefined = openStorage()

      async clean(): Promise<void> {
        await idle()
        const storage = this.#storage
        if (storage === undefined) return
        await storage.removeOld()
      }

      async close(): Promise<void> {
        const storage = this.#storage
        this.#storage = undefined
        await storage?.close()
      }
    }
  `,
  fixes: [
    'Look again after the suspension.',
    'Pass an AbortSignal that close() aborts, and check it after each await.',
    'Count the users, and let close() wait for the last one.',
  ],
}
