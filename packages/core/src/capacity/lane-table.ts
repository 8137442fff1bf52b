import { HeddleError } from '../errors.ts'
import type { Needs, PlaceName } from '../graph/job.ts'
import { isThenable } from '../kernel/call.ts'
import { checkCount, checkOptions, checkRecord } from '../kernel/check.ts'
import { Permits } from '../kernel/permits.ts'
import { urgentPriority } from '../kernel/rank.ts'
import { suggest } from '../kernel/suggest.ts'
import type { Capacity } from './capacity.ts'
import { Bundle } from './bundle.ts'
import { ClusterPermits } from './cluster-permits.ts'
import { Lane, type Entry, type Line } from './lane.ts'
import {
  concurrencyNames,
  placeNames,
  readResources,
  type Concurrency,
  type ResourceKind,
  type Resources,
} from './resources.ts'
import { SharedResource } from './shared-resource.ts'
import { Claim, View, type ViewHost } from './capacity-view.ts'

/** Which permits of the process a place takes: other ones than the process's own for a pool of one's own. */
export interface PlacePermits {
  readonly place: PlaceName
  /** `none`: it is not limited by the process. Undefined: those of the capacity, if it has a limit. */
  readonly shared?: SharedResource | 'none' | undefined
  /** Which part of a permit of `shared` one attempt takes now, in its units. One permit when absent. */
  readonly share?: (() => number) | undefined
  /** Tells shares apart: lanes are shared by attempts of equal ones. */
  readonly shareKey?: string | undefined
}

export interface LaneTableOptions<T> {
  readonly capacity: Capacity
  readonly concurrency: Concurrency
  readonly resources: Resources
  readonly newLine: () => Line<T>
}

const unlimited = new Permits(Infinity)

/**
 * The possible needs of the entries of one run, and the lanes for them: reads `concurrency`, `resources` and `needs`,
 * and finds or makes the lane, its claims and their views. Their waiting entries belong to {@link Lanes}.
 */
export class LaneTable<T extends Entry<T>> {
  /** `concurrency` as one number for all places. */
  readonly total: Permits | undefined
  readonly gates: View<T>[] = []
  readonly #host: ViewHost<T>
  readonly #capacity: Capacity
  readonly #newLine: () => Line<T>
  readonly #places = new Map<PlaceName, Permits>()
  readonly #unlimited = new Map<PlaceName, Permits>()
  readonly #kinds: ReadonlyMap<string, ResourceKind>
  readonly #gateOf = new Map<string, Map<SharedResource | undefined, View<T>>>()
  readonly #views = new Map<string, View<T>>()
  readonly #keyedViews = new Map<string, Map<string, View<T>>>()
  readonly #lanes = new Map<string, Lane<T>>()
  readonly #bundles = new Map<string, Bundle<T>>()

  constructor(host: ViewHost<T>, options: LaneTableOptions<T>) {
    this.#host = host
    this.#capacity = options.capacity
    this.#newLine = options.newLine
    const { concurrency } = options
    if (typeof concurrency !== 'object') {
      this.total = new Permits(checkCount('concurrency', concurrency, 1, true))
    } else {
      this.#setPlaces(concurrency)
    }
    this.#kinds = new Map(readResources(options.resources, host.clock))
    for (const [name, kind] of this.#kinds) refuseClusterScope(name, kind)
  }

  get size(): number {
    return this.#lanes.size
  }

  get concurrency(): Concurrency {
    if (this.total !== undefined) return this.total.capacity
    return Object.fromEntries([...this.#places].map(([place, { capacity }]) => [place, capacity]))
  }

  values(): Iterable<Lane<T>> {
    return this.#lanes.values()
  }

  has(lane: Lane<T>): boolean {
    return this.#lanes.get(lane.key) === lane
  }

  /** Forgets a lane that nothing waits in or runs for. */
  delete(lane: Lane<T>): void {
    this.#lanes.delete(lane.key)
    const { bundle } = lane
    if (bundle !== undefined && --bundle.members === 0) this.#bundles.delete(bundle.key)
    for (const { view } of lane.claims) {
      if (--view.lanes > 0 || view.key === undefined) continue
      this.#keyedViews.get(view.name)?.delete(view.key)
    }
  }

  /**
   * Changes how many permits there are. Permits in use stay in use until they come back.
   * @throws `HDL_BAD_OPTION`; `HDL_WOULD_DEADLOCK` when an entry needs more.
   */
  resize(name: string, permits: number): void {
    const meter = this.#resizable(name)
    checkCount(name === 'concurrency' ? name : `resources.${name}`, permits, 1, true)
    for (const lane of this.#lanes.values()) {
      const count =
        meter === this.total
          ? lane.total
          : (lane.claims.find(({ view }) => view.own === meter)?.count ?? 0)
      if (count > permits) throw wouldDeadlock(name, count, permits)
    }
    meter.capacity = permits
    this.#views.get(name)?.offer()
  }

  /** The permits of this run that a lane takes: without rates, and without those of the process. */
  permitsOf(lane: Lane<T>): { permits: Permits; name: string; count: number }[] {
    const found: { permits: Permits; name: string; count: number }[] = []
    // Limits of places that the run does not have may be asked for: what if it had them?
    if (lane.total > 0) {
      found.push({ permits: this.total ?? unlimited, name: 'concurrency', count: lane.total })
    }
    for (const { view, count } of lane.claims) {
      if (view.own === undefined && isPlace(view.name)) {
        found.push({ permits: this.#unlimitedPlace(view.name), name: view.name, count })
      } else if (view.own instanceof Permits) {
        found.push({ permits: view.own, name: view.name, count })
      }
    }
    return found
  }

  /** The permits that an entry of a lane needs to continue after it was suspended: everything but rates. */
  needsAgain({ claims, needs }: Lane<T>): Needs | undefined {
    if (claims.length === 1 || needs === undefined) return needs
    const rates = new Set(claims.flatMap(({ view }) => (isRate(view) ? [view.name] : [])))
    if (rates.size === 0) return needs
    const left = Object.entries(needs).filter(([name]) => !rates.has(name))
    return left.length === 0 ? undefined : Object.fromEntries(left)
  }

  /**
   * The lane for these needs, made on first use.
   * @throws `HDL_BAD_OPTION` for what does not exist, `HDL_WOULD_DEADLOCK` for more than there will ever be.
   */
  laneFor(needs: Needs | undefined, priority: number, at: PlacePermits | undefined): Lane<T> {
    const place = at?.place ?? 'loop'
    const wanted = needs === undefined ? [] : wantedOf(needs)
    if (wanted.length > 1) wanted.sort(([a], [b]) => (a < b ? -1 : 1))
    let key = `${priority} ${place} ${idOf(at?.shared)} ${at?.shareKey ?? ''}`
    for (const [name, value] of wanted) key += `\n${JSON.stringify(name)} ${JSON.stringify(value)}`
    const known = this.#lanes.get(key)
    if (known !== undefined) return known
    return this.#makeLane(key, wanted, { needs, priority, at, place })
  }

  #makeLane(
    key: string,
    wanted: readonly (readonly [name: string, value: number | string])[],
    options: {
      readonly needs: Needs | undefined
      readonly priority: number
      readonly at: PlacePermits | undefined
      readonly place: PlaceName
    },
  ): Lane<T> {
    const { needs, priority, at, place } = options
    const urgent = priority === urgentPriority
    let own = 1
    let total = 0
    const beyond: Claim<T>[] = []
    for (const [name, value] of wanted) {
      if (name === place) own = checkCount(`needs.${name}`, value as number, 0)
      else if (isPlace(name)) {
        const count = checkCount(`needs.${name}`, value as number, 0)
        total += count
        if (count > 0) beyond.push(new Claim(this.#viewOfPlace(name), count, undefined))
      } else {
        const claim = this.#claim(name, value)
        if (claim !== undefined) beyond.push(claim)
      }
    }
    total += own
    const given = at?.shared ?? this.#capacity.place(place)
    const shared = given === 'none' ? undefined : given
    const gate = own === 0 ? this.#gate('', undefined) : this.#gate(place, shared)
    const share = own === 0 ? undefined : at?.share
    const claims = [new Claim(gate, own, share), ...beyond]
    for (const { view, count } of claims) refuseImpossible(view, count, urgent)
    if (this.total !== undefined && total > this.total.capacity) {
      throw wouldDeadlock('concurrency', total, this.total.capacity)
    }
    const isPlain =
      share === undefined &&
      !(
        urgent &&
        claims.some(({ view }) => hasReserved(view.own) || hasReserved(view.shared?.meter))
      )
    const line = this.#newLine()
    const bundle = this.#bundleFor(priority, gate, beyond)
    const lane = new Lane<T>({
      key,
      priority,
      claims,
      gate,
      total,
      needs,
      at,
      line,
      isPlain,
      bundle,
    })
    for (const { view } of claims) view.lanes++
    this.#lanes.set(key, lane)
    return lane
  }

  #bundleFor(priority: number, gate: View<T>, beyond: readonly Claim<T>[]): Bundle<T> | undefined {
    const wide = beyond.filter(({ view }) => view.key === undefined)
    if (wide.length === 0) return undefined
    const claims = wide.map(({ view, count }) => `${JSON.stringify(view.name)} ${count}`)
    const key = [priority, this.gates.indexOf(gate), ...claims].join('\n')
    let bundle = this.#bundles.get(key)
    if (bundle === undefined) this.#bundles.set(key, (bundle = new Bundle(key, priority)))
    bundle.members++
    return bundle
  }

  #gate(place: PlaceName | '', shared: SharedResource | undefined): View<T> {
    let gates = this.#gateOf.get(place)
    if (gates === undefined) this.#gateOf.set(place, (gates = new Map()))
    let gate = gates.get(shared)
    if (gate === undefined) {
      const own = place === '' ? undefined : this.#places.get(place)
      gate = new View<T>(this.#host, { name: place, own, shared, isGate: true })
      gates.set(shared, gate)
      this.gates.push(gate)
    }
    return gate
  }

  #viewOfPlace(place: PlaceName): View<T> {
    return this.#view(place, () => ({
      own: this.#places.get(place),
      shared: this.#capacity.place(place),
    }))
  }

  #view(name: string, make: () => Pick<View<T>, 'own' | 'shared'>): View<T> {
    let view = this.#views.get(name)
    if (view === undefined) {
      view = new View<T>(this.#host, { name, ...make() })
      this.#views.set(name, view)
    }
    return view
  }

  #claim(name: string, value: number | string): Claim<T> | undefined {
    const kind = this.#kinds.get(name)
    const shared = this.#capacity.resource(name)
    if (kind === undefined && shared === undefined) {
      throw this.#unknown(`needs.${name}`, name, value)
    }
    if (value === 0) return undefined
    const isKeyed = kind === undefined ? !(shared instanceof SharedResource) : kind.isKeyed
    if (isKeyed) return new Claim(this.#keyedView(name, value, kind, shared), 1, undefined)
    const count = checkCount(`needs.${name}`, value as number, 0)
    const view = this.#view(name, () => ({
      own: kind?.isKeyed === false ? kind.meter : undefined,
      shared: shared instanceof SharedResource ? shared : undefined,
    }))
    return new Claim(view, count, undefined)
  }

  #keyedView(
    name: string,
    key: number | string,
    kind: ResourceKind | undefined,
    shared: ReturnType<Capacity['resource']>,
  ): View<T> {
    if (typeof key !== 'string' || key === '') {
      throw new HeddleError('HDL_BAD_OPTION', {
        option: `needs.${name}`,
        value: key,
        expected: `a key, because \`resources.${name}\` is a limit for each key: { ${name}: 'acme' }`,
      })
    }
    let views = this.#keyedViews.get(name)
    if (views === undefined) this.#keyedViews.set(name, (views = new Map()))
    let view = views.get(key)
    if (view === undefined) {
      const own = kind?.isKeyed ? new Permits(kind.each) : undefined
      const keyed = shared instanceof SharedResource ? undefined : shared
      view = new View<T>(this.#host, { name, key, own, shared: keyed })
      views.set(key, view)
    }
    return view
  }

  #unlimitedPlace(name: PlaceName): Permits {
    let permits = this.#unlimited.get(name)
    if (permits === undefined) this.#unlimited.set(name, (permits = new Permits(Infinity)))
    return permits
  }

  /** @throws `HDL_BAD_OPTION` for a limit that cannot be resized. */
  #resizable(name: string): Permits {
    if (name === 'concurrency' && this.total !== undefined) return this.total
    if (isPlace(name)) {
      const permits = this.#places.get(name)
      if (permits !== undefined) return permits
    }
    const kind = this.#kinds.get(name)
    if (kind === undefined) throw this.#unknown('resource', name, name)
    if (kind.isKeyed || !(kind.meter instanceof Permits)) {
      throw new HeddleError('HDL_BAD_OPTION', {
        option: 'resource',
        value: name,
        expected:
          'a resource with a number of permits: rates and limits for each key stay as they are',
      })
    }
    return kind.meter
  }

  #unknown(option: string, name: string, value: unknown): HeddleError {
    const names = [...this.#kinds.keys(), ...this.#capacity.resourceNames]
    const meant = suggest(name, [...placeNames, ...names])
    const hint =
      name === 'slot'
        ? 'no need of this name: every attempt takes one permit of its place by itself; { loop: 0 } is for a job that only waits'
        : `a place (${placeNames.join(', ')}) or a name in \`resources\`${names.length === 0 ? ', which has none' : ` (${names.join(', ')})`}${meant === undefined ? '' : `; did you mean ${meant}?`}`
    return new HeddleError('HDL_BAD_OPTION', { option, value, expected: hint })
  }

  #setPlaces(concurrency: Exclude<Concurrency, number>): void {
    checkOptions(concurrency, concurrencyNames, 'concurrency')
    for (const place of placeNames) {
      const permits = concurrency[place]
      if (permits === undefined) continue
      this.#places.set(place, new Permits(checkCount(`concurrency.${place}`, permits, 1, true)))
    }
  }
}

/** The entries of `needs`. */
function wantedOf(needs: Needs): [name: string, value: number | string][] {
  checkRecord('needs', needs, 'an object: { db: 1 }')
  if (isThenable(needs)) {
    const expected = 'an object: { db: 1 }, and not a promise of one'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'needs', value: needs, expected })
  }
  const wanted = Object.entries(needs)
  for (const [name, value] of wanted) {
    if (typeof value === 'number' || typeof value === 'string') continue
    throw new HeddleError('HDL_BAD_OPTION', {
      option: `needs.${name}`,
      value,
      expected: 'a number of permits, or a key where the limit is one for each key',
    })
  }
  return wanted
}

function isPlace(name: string): name is PlaceName {
  return (placeNames as readonly string[]).includes(name)
}

function idOf(shared: PlacePermits['shared']): string | number {
  return shared instanceof SharedResource ? shared.id : (shared ?? '')
}

function hasReserved(meter: unknown): boolean {
  return meter instanceof Permits && meter.reserved > 0
}

function refuseImpossible<T extends Entry<T>>(view: View<T>, count: number, urgent: boolean): void {
  const { own, shared } = view
  if (own !== undefined && !own.canEverHave(count, urgent)) {
    throw wouldDeadlock(view.name, count, limitOf(own, urgent))
  }
  if (shared !== undefined && !shared.meter.canEverHave(count * shared.unit, urgent)) {
    throw wouldDeadlock(view.name, count, limitOf(shared.meter, urgent) / shared.unit)
  }
}

/** A run cannot speak for other processes: the limits of all servers are those of the server. */
function refuseClusterScope(name: string, kind: ResourceKind): void {
  if (kind.isKeyed || !(kind.meter instanceof ClusterPermits)) return
  throw new HeddleError('HDL_BAD_OPTION', {
    option: `resources.${name}.scope`,
    value: 'cluster',
    expected: 'to be set in the `limits.resources` of the server: those of a run hold for the run',
  })
}

function limitOf(meter: unknown, urgent: boolean): number {
  if (meter instanceof ClusterPermits) return meter.limit
  if (meter instanceof Permits) return meter.capacity + (urgent ? meter.reserved : 0)
  return (meter as { readonly limit: number }).limit
}

function wouldDeadlock(resource: string, needed: number, capacity: number): HeddleError {
  return new HeddleError('HDL_WOULD_DEADLOCK', { what: 'A node', needed, resource, capacity })
}

/** Whether all that a view counts are starts. */
function isRate<T extends Entry<T>>({ own, shared }: View<T>): boolean {
  const meters = [own, shared?.meter].filter((meter) => meter !== undefined)
  return meters.length > 0 && meters.every(({ isTimed }) => isTimed)
}
