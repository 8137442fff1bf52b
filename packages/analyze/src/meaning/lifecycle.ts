/**
 * The kind of value in a location, decided by its use and never by its name.
 *
 * A *handle* is something that the program gives back somewhere: a method of the release protocol is
 * called on it (`close`, `destroy`, `unsubscribe`, …) or it is passed to `clearTimeout` and its like.
 * A *teardown* is a function that releases the value of a field, of a variable of a module or of a closure.
 * The verbs of the protocol are those of the platform and of packages; a function of the program itself
 * counts as a release when it is a teardown, whatever its name is.
 *
 * I1. Every answer is computed once and does not change.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit, Program } from '../ir/program.ts'
import type { Value } from '../ir/values.ts'

const releaseVerbs = new Set(
  'close destroy dispose end abort terminate kill disconnect unsubscribe release stop cancel'.split(
    ' ',
  ),
)
/** Cheap: all calls of the program are asked about. */
const beginningOfVerbs = /^(?:[acdekrstu])[a-z]+[A-Z]/
/** Verbs of packages that the platform does not have. */
const foreignVerbs = new Set('quit shutdown unwatch unlisten teardown detach logout'.split(' '))
const clearing = new Set(['clearTimeout', 'clearInterval', 'clearImmediate'])
const timers = new Set(['setTimeout', 'setInterval', 'setImmediate'])

export class Lifecycles {
  /** All calls that release something. */
  readonly releases: readonly CallSite[]
  readonly #releases = new Map<Location, CallSite[]>()
  /** Keyed by container: where an entry of it is released, under any key. */
  readonly #entryReleases = new Map<Location, CallSite[]>()
  readonly #byOwner = new Map<FunctionUnit, Location[]>()
  readonly #teardown = new Map<FunctionUnit, boolean>()
  /** The makers of handles: functions of the program, and names of functions elsewhere. */
  readonly #makers = new Set<FunctionUnit | string>()

  constructor(program: Program) {
    const releases: CallSite[] = []
    this.releases = releases
    for (const unit of program.units) {
      for (const site of unit.calls) {
        if (isReleaseVerb(site)) {
          releases.push(site)
          if (site.callee.kind === 'member') this.#noteMakers(site.callee.receiver)
        }
        for (const location of releasedBy(site)) {
          const { canonical } = location
          pushTo(this.#releases, canonical, site)
          if (canonical.scope === 'entry' && canonical.parent !== undefined)
            pushTo(this.#entryReleases, canonical.parent.canonical, site)
          pushTo(this.#byOwner, unit.host, canonical)
        }
      }
    }
  }

  /** The calls that release the value of a location (or an entry of it). */
  releasesOf(location: Location): readonly CallSite[] {
    const own = this.#releases.get(location.canonical)
    if (own !== undefined) return own
    const container = location.scope === 'entry' ? location.parent?.canonical : undefined
    if (container === undefined) return noSites
    return this.#releases.get(container) ?? this.#entryReleases.get(container) ?? noSites
  }

  isHandle(location: Location): boolean {
    return this.releasesOf(location).length > 0
  }

  #noteMakers({ calls }: Value): void {
    for (const maker of calls ?? []) for (const one of makersOf(maker)) this.#makers.add(one)
  }

  /** A call whose result is a handle: the program releases results of the same function elsewhere. */
  makesHandle(site: CallSite): boolean {
    return makersOf(site).some((one) => this.#makers.has(one))
  }

  /** The handles that a function releases itself. */
  releasedIn(unit: FunctionUnit): readonly Location[] {
    return this.#byOwner.get(unit.host) ?? noLocations
  }

  /** A function that releases handles that outlive its own call, itself or through a function it calls. */
  isTeardown(unit: FunctionUnit): boolean {
    const { host } = unit
    const known = this.#teardown.get(host)
    if (known !== undefined) return known
    this.#teardown.set(host, false)
    const answer =
      this.releasedIn(host).some(isLasting) ||
      host.calls.some(
        ({ targets, callee }) =>
          callee.kind === 'method' && targets.some((target) => this.isTeardown(target)),
      )
    this.#teardown.set(host, answer)
    return answer
  }

  /** A call that gives something back. */
  isRelease(site: CallSite): boolean {
    if (clearing.has(site.name) || releaseVerbs.has(site.name)) return true
    if (site.targets.length === 0) return isForeignVerb(site.name)
    return site.targets.some((target) => this.isTeardown(target))
  }
}

/** What answers a call: its targets, or the function of another package. */
function makersOf({ targets, external }: CallSite): readonly (FunctionUnit | string)[] {
  if (targets.length > 0) return targets
  return external === undefined ? [] : [`${external.module} ${external.path.join('.')}`]
}

const noSites: readonly CallSite[] = []
const noLocations: readonly Location[] = []

function isLasting({ scope, parent }: Location): boolean {
  if (scope === 'parameter') return parent?.isCommon === true
  return scope === 'instance' || scope === 'module' || scope === 'closure' || scope === 'entry'
}

function isReleaseVerb({ name, targets }: CallSite): boolean {
  return releaseVerbs.has(name) || (targets.length === 0 && isForeignVerb(name))
}

/** Also a verb of the protocol with what is more exact about it: `closeAsync`, `cancelWithStatus`, `destroySoon`. */
function isForeignVerb(name: string): boolean {
  if (foreignVerbs.has(name)) return true
  if (!beginningOfVerbs.test(name) || name.endsWith('Propagation')) return false
  return releaseVerbs.has(/^[a-z]+/.exec(name)![0])
}

function releasedBy(site: CallSite): readonly Location[] {
  if (clearing.has(site.name)) return locationsOf(site.args[0])
  if (!isReleaseVerb(site) || site.callee.kind !== 'member') return noLocations
  return locationsOf(site.callee.receiver)
}

/** Where a value was read from: the place itself, and the containers that it was taken out of. */
function locationsOf(value: Value | undefined): readonly Location[] {
  if (value === undefined) return noLocations
  const found = value.location === undefined ? [] : [value.location]
  for (const { location } of value.reads ?? []) if (!found.includes(location)) found.push(location)
  for (const { location } of value.within ?? []) found.push(location)
  if (value.location?.scope === 'parameter') found.push(...walkedFor(value.location))
  return found
}

/** The container whose method hands its elements to a callback: `sockets.forEach((one) => one.end())`. */
function walkedFor({ unit, depth }: Location): readonly Location[] {
  if (depth > 0 || (unit?.role !== 'sync' && unit?.role !== 'sync-async')) return noLocations
  const site = unit.parent?.calls.find(({ callbacks }) =>
    callbacks.some((one) => one.unit === unit),
  )
  if (site?.callee.kind !== 'member') return noLocations
  const { location, reads } = site.callee.receiver
  return location === undefined ? (reads ?? []).map((read) => read.location) : [location]
}

function pushTo<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}

/** The value is a timer that is running. */
export function isTimer(value: Value | undefined): boolean {
  return value?.calls?.some((site) => timers.has(site.name)) === true
}

/** The value stands for work that is under way: a promise that has not been waited for. */
export function isRunning(value: Value | undefined): boolean {
  if (value === undefined || value.isAwaited === true || value.literal !== undefined) return false
  if (value.fresh === 'promise' || value.tail !== undefined) return true
  return (
    value.calls?.some(
      (site) => site.targets.length > 0 && site.targets.every((target) => target.isAsync),
    ) === true
  )
}

/** The value was made here and did not exist before: an object, the answer of a call, a timer. */
export function isMade(access: Access): boolean {
  const { value } = access
  if (value === undefined || value.literal !== undefined) return false
  return (
    value.constructed !== undefined || (value.calls?.length ?? 0) > 0 || value.fresh === 'object'
  )
}
