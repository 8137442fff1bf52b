/**
 * H201 use after await: a resource was found alive, a suspension follows, and it is used although
 * somebody may have taken it down meanwhile.
 *
 * Three shapes: a flag (`closed`) that is looked at before the suspension and, as the same code does
 * elsewhere, should be looked at after it; an alias of a field that another function tears down; and a
 * claim (`ready = true`) about a resource that was stored before the suspension and may be gone.
 * Only reported when that other function exists in the program.
 */
import type { Access, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit, Suspension } from '../ir/program.ts'
import { isStore } from '../summaries/effects.ts'
import type { Draft, Place } from './draft.ts'
import { textOf } from './draft.ts'
import { generation, mutex, recheck } from './fixes.ts'
import { dependsOn } from './check-then-act.ts'
import { isCheck } from './host.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './model.ts'
import type { Model } from './model.ts'
import { isShared } from './shared.ts'
import { baseOf, inSameRegion, isIdentityCheck, isTeardown, overSuspension } from './walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

const deadFlag =
  /^(?:#|_|is|has|was|been)*(?:closed?|closing|destroyed|destroying|stopped|stopping|disposed|ended|aborted|cancell?ed|terminated|shut_?down|shutting_?down|disconnected|killed|removed|unmounted|dead|finished)$/i

export function useAfterAwait(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    const draft = staleFlag(model, host) ?? staleAlias(model, host) ?? goneAfterwards(model, host)
    if (draft !== undefined) drafts.push(draft)
    const claim = staleClaim(model, host)
    if (claim !== undefined) drafts.push(claim)
  }
  return drafts
}

// ---- a flag that is not looked at again

function staleFlag(model: Model, host: Host): Draft | undefined {
  for (const { location, accesses } of host.checked) {
    if (location.depth === 0 || !deadFlag.test(location.field)) continue
    const checks = accesses.filter(isCheck)
    const hasHabit = checks.length > 1 && isRecheckedAfterSuspension(model, host, location, checks)
    const killer = killerOf(model, location, host.unit)
    if (killer === undefined) continue
    for (const check of checks) {
      if (check.access.checks.every((one) => one.branch.isLoop)) continue
      const way = overSuspension(
        host.graph,
        check,
        (event) => event.op === 'call' && usesResourceOf(event, location),
        (event, isAfter) => isAfter && (model.isCheckOf(event, location) || isOtherCheck(event)),
      )
      const use = way?.event as CallSite | undefined
      if (way === undefined || use === undefined || isTeardownCall(use)) continue
      if (sameUnit(check.access, use) === undefined) continue
      if (hasHabit) {
        return describe(host, location, check.access, use, way.suspensions, killer, 'warning', [
          `${host.unit.namedAs} looks at ${location.name} again after other suspensions, but not after this one`,
        ])
      }
      if (!closesToo(killer, use)) continue
      return describe(host, location, check.access, use, way.suspensions, killer, 'note', [
        `${killer.owner.namedAs} sets it and closes what is used here`,
      ])
    }
  }
  return undefined
}

/** Who sets the flag also closes the very resource that is used. */
function closesToo(killer: Access, use: CallSite): boolean {
  const { graph } = killer.owner.host
  if (graph === undefined || use.receiver === undefined) return false
  const resource = use.receiver.canonical
  return graph.blocks.some(({ events }) =>
    events.some(
      (event) =>
        event.op === 'call' && event.receiver?.canonical === resource && isTeardownCall(event),
    ),
  )
}

/** The check and the use are in the same function as it is written. */
function sameUnit(check: Place, use: Place): FunctionUnit | undefined {
  return check.owner === use.owner ? check.owner : undefined
}

/** Code that looks at the flag after a suspension shows that it may change there. */
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

function isOtherCheck(event: Event): boolean {
  return event.op === 'read' && event.checks.length > 0 && deadFlag.test(event.location.field)
}

/** A method of something that belongs to the same object as the flag. */
function usesResourceOf(site: CallSite, flag: Location): boolean {
  const { receiver } = site
  if (receiver === undefined || receiver.depth === 0) return false
  if (/^(?:log|logger|debug|console|emit|metrics?|events?|options|config)$/i.test(receiver.field))
    return false
  return baseOf(receiver.canonical) === baseOf(flag) || baseOf(receiver) === baseOf(flag)
}

function isTeardownCall(site: CallSite): boolean {
  return /^(?:close|destroy|end|stop|abort|dispose|removeListener|removeAllListeners|off|unref|clear|delete|emit|resolve|reject|then|catch)/i.test(
    site.name,
  )
}

/** Somebody who sets the flag: the same location, or the same field of an object of unknown class. */
function killerOf(model: Model, flag: Location, except: FunctionUnit): Access | undefined {
  const exact = model.writesOf(flag).find((one) => isSetting(one, except))
  if (exact !== undefined || flag.scope !== 'parameter') return exact?.access
  return model.writesOfField(flag.field).find((one) => isSetting(one, except))?.access
}

function isSetting({ access, host }: Located, except: FunctionUnit): boolean {
  return access.op === 'write' && !access.isInitial && isStore(access) && host !== except
}

// ---- an alias of what is taken down

function staleAlias(model: Model, host: Host): Draft | undefined {
  for (const { event: site, block } of host.calls) {
    const { callee } = site
    if (callee.kind !== 'member' || callee.receiver.location === undefined) continue
    const read = callee.receiver.reads?.[0]
    const location = callee.receiver.location.canonical
    if (read === undefined || read.start >= site.start || read.location.canonical !== location)
      continue
    if (
      read.checks.length === 0 ||
      location.scope === 'parameter' ||
      !isShared(location, host.unit)
    )
      continue
    if (isTeardownCall(site) || isTeardown(host.unit)) continue
    const from = host.accessesOf(location).find((one) => one.access === read)
    if (from === undefined) continue
    const way = overSuspension(
      host.graph,
      from,
      (event, at) => event === site && at === block,
      (event, isAfter) => isAfter && (model.isCheckOf(event, location) || isOtherCheck(event)),
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

/** Empties the field in a function whose name says that it takes things down. */
function teardownOf(model: Model, location: Location, except: FunctionUnit): Access | undefined {
  return model
    .writesOf(location)
    .find(
      ({ access, host }) =>
        !access.isInitial && !isStore(access) && host !== except && isTeardown(access.owner),
    )?.access
}

// ---- a field that was there before the suspension

/** Found there, suspended, and used without looking: by then it may have been taken away. */
function goneAfterwards(model: Model, host: Host): Draft | undefined {
  if (isTeardown(host.unit)) return undefined
  for (const group of host.checked) {
    const { location, accesses } = group
    if (location.scope !== 'instance' && location.scope !== 'module') continue
    if (location.depth !== 1 || !group.isSharedIn(host.unit)) continue
    const killer = takenAwayBy(model, location, host.unit)
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
        (event, block) => isBlindUse(event, location) && !present.has(block),
        (event, isAfter) =>
          (isAfter &&
            (model.isCheckOf(event, location) || isOtherCheck(event) || isIdentityCheck(event))) ||
          (event.op === 'write' && event.location.canonical === location),
      )
      const read = way?.event as Access | undefined
      if (way === undefined || read?.use === undefined || read.owner !== check.access.owner)
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

/** A method is called on it without a check, and without `?.`. */
function isBlindUse(event: Event, location: Location): boolean {
  if (event.op !== 'read' || event.location.canonical !== location) return false
  if (event.use === undefined || event.checks.length > 0 || isTeardownCall(event.use)) return false
  return event.owner.file.parsed.text.slice(event.end, event.end + 2) !== '?.'
}

/** Set to nothing by a function that takes things down, or when something happens. */
function takenAwayBy(model: Model, location: Location, except: FunctionUnit): Access | undefined {
  return model
    .writesOf(location)
    .find(
      ({ access, host }) =>
        access.kind === 'null' &&
        access.value?.literal === 'null' &&
        !access.isInitial &&
        host !== except &&
        (isTeardown(access.owner) || access.owner.role === 'event'),
    )?.access
}

// ---- a claim about something that may be gone

function staleClaim(model: Model, host: Host): Draft | undefined {
  for (const { location: claim, accesses } of host.written) {
    if (claim.scope !== 'instance' || claim.depth !== 1) continue
    for (const set of accesses) {
      if (set.access.op !== 'write' || set.access.value?.literal !== 'true' || set.access.isInitial)
        continue
      const found = resourceOf(model, host, claim, set)
      if (found === undefined) continue
      const { resource, killer, suspensions } = found
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
    if (location === claim || location.class !== claim.class || location.depth !== 1) continue
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
            isOtherCheck(event)),
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
    message: `${host.unit.namedAs} goes on after a suspension with \`${textOf(use, 40)}\` although ${killer.owner.namedAs} may have changed ${name} meanwhile`,
    locations: [location],
    check,
    act: use,
    suspensions: [suspension],
    conflict: killer,
    steps: [
      { task: 'A', text: `\`${textOf(check)}\`: all is well`, at: check },
      { task: 'A', text: `waits: \`${textOf(suspension)}\``, at: suspension, isCheckpoint: true },
      { task: 'B', text: `${killer.owner.namedAs}: \`${textOf(killer)}\``, at: killer },
      { task: 'A', text: `goes on as if nothing had happened: \`${textOf(use)}\``, at: use },
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
