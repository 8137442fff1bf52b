import { HeddleError } from '../errors.ts'
import type { Needs, PlaceName } from '../graph/job.ts'
import { checkCount } from '../kernel/check.ts'
import type { Clock } from '../kernel/clock.ts'
import { Permits } from '../kernel/permits.ts'
import { checkPriority, urgentPriority } from '../kernel/rank.ts'
import { suggest } from '../kernel/suggest.ts'
import type { Capacity } from './capacity.ts'
import { DepthLine, Lane, type Entry, type Line } from './lane.ts'
import { ranksBefore, type Ranking } from './lane-order.ts'
import { placeNames, readResource, type Concurrency, type Resources } from './resources.ts'
import type { ResourceKind } from './resources.ts'
import { SharedResource } from './shared-resource.ts'
import { Claim, View, type ViewHost } from './view.ts'

/*
 * What of one run waits to start, and which of it is next.
 *
 * A lane is a line of entries that want the same and have the same priority, so if the first of them cannot
 * start, none can. A lane with entries is in exactly one place:
 *
 *                    ┌──── first of its gate, lacks something else ────┐
 *                    │                                                 ▼
 *   enqueue ─▶ waits at its gate                              parked at what it lacks
 *                    │ ▲                                               │
 *                    │ └──────────── room has come back ───────────────┘
 *                    ▼
 *                 started
 *
 * The gate is the place: its permits in the run, in the process, and `concurrency` over all places. What
 * lacks only the gate stays there: it need not be moved when the gate opens.
 *
 * Invariants, quoted by the tests (K1 to K6 in capacity.ts hold for all runs together):
 *  I1  The permits taken are those of the entries that were picked and not given back.
 *  I2  A lane that lacks something holds back lanes that rank behind it and want the same, and only those:
 *      waiting for something scarce never keeps others from running (S38), and heavy entries are not starved
 *      by light ones.
 *  I3  Among lanes that can start, the rank of kernel/rank.ts decides.
 *  I4  A lane that has entries stands at its gate, or at one view that it lacks. The sole lane of a run whose
 *      nodes take nothing but `concurrency` need not stand anywhere: there is no other to compare it with.
 *
 * Known limit: an entry that needs two contended resources may wait long, because only the one it lacks is
 * held back for it. Holding back all it needs would leave permits idle.
 */

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

export interface LanesOptions<T> {
  readonly capacity: Capacity
  readonly clock: Clock
  readonly concurrency: Concurrency
  readonly resources: Resources
  /** Milliseconds of waiting that raise an entry by one priority. */
  readonly aging: number
  /** Since when an entry waits. */
  readonly sinceOf: (entry: T) => number
  /** Something may start that could not: pick() should be called soon. Never called from within pick(). */
  readonly onRoom: () => void
  /** The order inside a lane. By depth when absent. */
  readonly newLine?: () => Line<T>
  /** Forget lanes that nothing waits in or runs for: for what lives long. */
  readonly sweep?: boolean
}

/** Why an entry does not start. */
export type Shortage =
  | {
      readonly kind: 'permits'
      readonly resource: string
      readonly key: string | undefined
      /** How many it wants. */
      readonly count: number
      readonly capacity: number
      readonly used: number
      /** Whether it is the limit of the process, and not of the run, that is reached. */
      readonly isShared: boolean
    }
  | { readonly kind: 'rate'; readonly resource: string; readonly ms: number }

/** How many lanes one pick() parks: with a million keys the rest is done after I/O had its turn (law 2). */
const parkedAtOnce = 1_000

const unlimited = new Permits(Infinity)

export class Lanes<T extends Entry<T>> implements ViewHost<T> {
  readonly clock: Clock
  readonly ranking: Ranking<T>
  readonly #capacity: Capacity
  readonly #onRoom: () => void
  readonly #newLine: () => Line<T>
  readonly #sweeps: boolean
  /** `concurrency` as one number for all places. */
  readonly #total: Permits | undefined
  readonly #places = new Map<PlaceName, Permits>()
  readonly #unlimited = new Map<PlaceName, Permits>()
  readonly #kinds = new Map<string, ResourceKind>()
  readonly #gates: View<T>[] = []
  readonly #gateOf = new Map<string, Map<SharedResource | undefined, View<T>>>()
  readonly #views = new Map<string, View<T>>()
  readonly #keyedViews = new Map<string, Map<string, View<T>>>()
  readonly #lanes = new Map<string, Lane<T>>()
  /** Views that wait for something of the process. */
  readonly #waiting = new Set<View<T>>()
  readonly #withdrawn = new Set<View<T>>()
  readonly #default: Lane<T>
  /** The default lane, as long as it is the only one and takes nothing but `concurrency`: most runs have no other. */
  #sole: Lane<T> | undefined
  #order = 0
  #size = 0
  /** Nothing has changed since pick() found nothing to start. */
  #quiet = false
  #picking = false
  #calledMeanwhile = false
  /** Nothing is picked for a while. */
  #isWithdrawn = false

  constructor(options: LanesOptions<T>) {
    this.#capacity = options.capacity
    this.clock = options.clock
    this.ranking = { aging: options.aging, sinceOf: options.sinceOf }
    this.#onRoom = options.onRoom
    this.#newLine = options.newLine ?? (() => new DepthLine<T>())
    this.#sweeps = options.sweep ?? false
    const { concurrency } = options
    if (typeof concurrency !== 'object') {
      this.#total = new Permits(checkCount('concurrency', concurrency, 1, true))
    } else {
      this.#setPlaces(concurrency)
    }
    for (const [name, resource] of Object.entries(options.resources)) {
      this.#kinds.set(name, readResource(name, resource, this.clock))
    }
    this.#default = this.#laneFor(undefined, checkPriority(undefined), undefined)
    const { gate, claims } = this.#default
    const takesOnlyTotal =
      claims.length === 1 && gate.own === undefined && gate.shared === undefined
    if (takesOnlyTotal && !this.#sweeps) this.#sole = this.#default
  }

  /** How many entries wait. */
  get size(): number {
    return this.#size
  }

  /** Whether it is worth calling pick(). */
  get mayStart(): boolean {
    return this.#size > 0 && !this.#quiet
  }

  get concurrency(): Concurrency {
    if (this.#total !== undefined) return this.#total.capacity
    return Object.fromEntries([...this.#places].map(([place, { capacity }]) => [place, capacity]))
  }

  /**
   * The lane for these needs, made on first use.
   * @throws `HDL_BAD_OPTION` for what does not exist, `HDL_WOULD_DEADLOCK` for more than there will ever be.
   */
  laneFor(needs: Needs | undefined, priority: number | undefined, at?: PlacePermits): Lane<T> {
    if (needs === undefined && priority === undefined && at === undefined) return this.#default
    return this.#laneFor(needs, checkPriority(priority), at)
  }

  /**
   * Whether something with these needs could ever start.
   * @throws as {@link laneFor}.
   */
  check(needs: Needs | undefined, priority: number, at: PlacePermits | undefined): void {
    this.#sweep(this.#laneFor(needs, checkPriority(priority), at))
  }

  enqueue(entry: T): void {
    entry.readyOrder = this.#order++
    if (this.#sole === undefined) return this.#enqueue(entry, false)
    this.#sole.members++
    this.#size++
    this.#quiet = false
    this.#sole.line.push(entry)
  }

  /** Puts an entry that is resumed before those of its rank that became ready after it. */
  enqueueFirst(entry: T): void {
    this.#enqueue(entry, true)
  }

  #enqueue(entry: T, isFirst: boolean): void {
    let { lane } = entry
    if (this.#sweeps && this.#lanes.get(lane.key) !== lane) {
      lane = entry.lane = this.#laneFor(lane.needs, lane.priority, lane.at)
    }
    lane.members++
    this.#size++
    this.#quiet = false
    const head = lane.line.first
    if (isFirst) lane.line.pushFirst(entry)
    else lane.line.push(entry)
    this.#onHead(lane, head)
  }

  /** Takes an entry out that waits, without starting it. False when it does not wait. */
  remove(entry: T): boolean {
    const { lane } = entry
    const head = lane.line.first
    if (!lane.line.remove(entry)) return false
    this.#size--
    this.#quiet = false
    this.#onHead(lane, head)
    this.#leave(lane)
    return true
  }

  /** Takes the entry that starts next, with its permits, or nothing when none can start. */
  pick(): T | undefined {
    if (this.#size === 0) return undefined
    if (this.#sole !== undefined) return this.#pickSole(this.#sole)
    if (this.#isWithdrawn) this.#rejoin()
    let entry: T | undefined
    this.#picking = true
    do {
      this.#calledMeanwhile = false
      entry = this.#gates.length === 1 ? this.#pickAt(this.#gates[0]!) : this.#pickBest()
      // Parking one lane may have made room for another, at a gate that was looked at already.
    } while (entry === undefined && this.#calledMeanwhile)
    this.#picking = false
    if (entry === undefined) {
      this.#quiet = true
      if (this.#waiting.size > 0) for (const view of this.#waiting) view.answer()
    }
    return entry
  }

  #pickSole(lane: Lane<T>): T | undefined {
    const total = this.#total
    if (total !== undefined && total.capacity - total.used < lane.total) {
      this.#quiet = true
      return undefined
    }
    const entry = lane.line.first!
    lane.line.remove(entry)
    this.#size--
    if (total !== undefined) total.used += lane.total
    return entry
  }

  /**
   * Takes this entry, with its permits, if they are free: for what is resumed while nothing new starts. It is
   * not new work, so it goes before what waits.
   */
  tryPick(entry: T): boolean {
    const { lane } = entry
    const lacking = this.#hasTotal(lane)
      ? lane.claims.find((claim) => !claim.view.hasRoom(lane, claim))
      : undefined
    if (lacking !== undefined || !this.#hasTotal(lane)) {
      lacking?.view.waitForShared(lane, lacking, true)
      return false
    }
    const head = lane.line.first
    if (!lane.line.remove(entry)) return false
    this.#size--
    this.#take(lane, entry)
    this.#onHead(lane, head)
    return true
  }

  /** The permits of a picked entry come back. */
  giveBack(entry: T): void {
    const { lane, held } = entry
    this.#quiet = false
    if (this.#total !== undefined) this.#total.used -= lane.total
    if (lane === this.#sole) {
      lane.members--
      return
    }
    entry.held = undefined
    const { claims } = lane
    for (let index = 0; index < claims.length; index++) {
      const claim = claims[index]!
      claim.view.giveBack(claim, held, 3 * index)
    }
    this.#leave(lane)
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
        meter === this.#total
          ? lane.total
          : (lane.claims.find(({ view }) => view.own === meter)?.count ?? 0)
      if (count > permits) throw wouldDeadlock(name, count, permits)
    }
    meter.capacity = permits
    this.#quiet = false
    this.#views.get(name)?.offer()
  }

  /** Of entries that wait, how many go before this one; looks at 10,000 at most. */
  countBefore(entry: T): number {
    let before = 0
    let looked = 0
    for (const lane of this.#lanes.values()) {
      for (const other of lane.line) {
        if (++looked > 10_000) return before
        if (other !== entry && this.#goesBefore(other, entry)) before++
      }
    }
    return before
  }

  /** What a lane takes of the permits of this run: without rates, and without what the process has. */
  permitsOf(lane: Lane<T>): { permits: Permits; name: string; count: number }[] {
    const found: { permits: Permits; name: string; count: number }[] = []
    // Limits of places that the run does not have may be asked for: what if it had them?
    if (lane.total > 0) {
      found.push({ permits: this.#total ?? unlimited, name: 'concurrency', count: lane.total })
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

  /** What keeps an entry from starting; undefined when it is only its turn. */
  shortageOf({ lane }: T): Shortage | undefined {
    const total = this.#total
    if (total !== undefined && lane.total > 0 && !total.hasRoom(lane.total, false)) {
      const { capacity, used } = total
      return {
        kind: 'permits',
        resource: 'concurrency',
        key: undefined,
        count: lane.total,
        capacity,
        used,
        isShared: false,
      }
    }
    const parked = lane.waitsAt
    const claims =
      parked === undefined || parked === lane.gate
        ? lane.claims
        : [lane.claimOn(parked), ...lane.claims]
    for (const claim of claims) {
      const shortage = shortageAt(lane, claim)
      if (shortage !== undefined) return shortage
    }
    return undefined
  }

  /** The run starts nothing for a while: it does not keep others waiting for what it will not take. */
  withdraw(): void {
    this.#isWithdrawn = true
    for (const view of this.#waiting) {
      this.#withdrawn.add(view)
      view.withdraw()
    }
  }

  // ── What views ask ────────────────────────────────────────────────────────────────────────────

  unpark(lane: Lane<T>): void {
    lane.waitsAt = lane.gate
    lane.gate.line.add(lane)
    this.#quiet = false
    this.#calledMeanwhile = true
  }

  onRoom(): void {
    this.#quiet = false
    this.#calledMeanwhile = true
    if (this.#size > 0 && !this.#picking) this.#onRoom()
  }

  mayWait(view: View<T>): boolean {
    if (this.#isWithdrawn) this.#withdrawn.add(view)
    return !this.#isWithdrawn
  }

  setWaiting(view: View<T>, isWaiting: boolean): void {
    if (isWaiting) this.#waiting.add(view)
    else this.#waiting.delete(view)
  }

  // ── Picking ───────────────────────────────────────────────────────────────────────────────────

  /** The gates by the rank of their heads. A head that lacks `concurrency` holds back the other gates too. */
  #pickBest(): T | undefined {
    const heads: Lane<T>[] = []
    for (const gate of this.#gates) {
      const { first } = gate.line
      if (first !== undefined) heads.push(first)
    }
    if (heads.length === 0) return undefined
    if (heads.length > 1) heads.sort((a, b) => (ranksBefore(a, b, this.ranking) ? -1 : 1))
    let isTotalHeld = false
    for (const head of heads) {
      if (isTotalHeld && head.total > 0) continue
      const entry = this.#pickAt(head.gate)
      if (entry !== undefined) return entry
      const { first } = head.gate.line
      if (first !== undefined && !this.#hasTotal(first)) isTotalHeld = true
    }
    return undefined
  }

  #hasTotal(lane: Lane<T>): boolean {
    return this.#total === undefined || this.#total.capacity - this.#total.used >= lane.total
  }

  #pickAt(gate: View<T>): T | undefined {
    for (let parked = 0; ; parked++) {
      let lane = gate.line.first
      if (lane === undefined || !this.#hasTotal(lane)) return undefined
      if (parked === parkedAtOnce) {
        this.clock.afterIo(() => this.onRoom())
        return undefined
      }
      if (!gate.admits(lane, lane.claims[0]!, undefined)) {
        gate.waitForShared(lane, lane.claims[0]!)
        const urgent = gate.line.firstUrgent
        if (urgent === undefined || urgent === lane || !this.#hasTotal(urgent)) return undefined
        if (!gate.admits(urgent, urgent.claims[0]!, lane)) {
          gate.waitForShared(urgent, urgent.claims[0]!)
          return undefined
        }
        lane = urgent
      }
      const lacking = this.#lackingBeyondGate(lane)
      if (lacking === undefined) return this.#start(lane)
      gate.drop(lane)
      this.#park(lane, lacking)
    }
  }

  #lackingBeyondGate(lane: Lane<T>): Claim<T> | undefined {
    const { claims } = lane
    for (let index = 1; index < claims.length; index++) {
      const claim = claims[index]!
      const { view } = claim
      if (!view.admits(lane, claim, view.aheadOf(lane))) return claim
    }
    return undefined
  }

  #park(lane: Lane<T>, claim: Claim<T>): void {
    const { view } = claim
    this.#endOffer(lane)
    lane.waitsAt = view
    view.park(lane)
  }

  #start(lane: Lane<T>): T {
    const entry = lane.line.first!
    const { claims } = lane
    this.#take(lane, entry)
    lane.line.remove(entry)
    this.#size--
    // Its place in the heap first: what follows may add other lanes to it.
    if (lane.line.first === undefined) {
      lane.waitsAt = undefined
      lane.gate.drop(lane)
    } else lane.gate.line.update(lane)
    if (claims.length === 1) return entry
    this.#endOffer(lane)
    if (lane.waitsAt !== undefined) this.#place(lane)
    for (let index = 1; index < claims.length; index++) claims[index]!.view.offer()
    return entry
  }

  #take(lane: Lane<T>, entry: T): void {
    const held: number[] | undefined = lane.isPlain ? undefined : []
    if (this.#total !== undefined) this.#total.used += lane.total
    const { claims } = lane
    for (let index = 0; index < claims.length; index++) {
      const claim = claims[index]!
      claim.view.take(lane, claim, held)
    }
    entry.held = held
  }

  /** After a start: at its gate, or where it lacks something now, so that the gate's line stays short. */
  #place(lane: Lane<T>): void {
    const lacking = this.#lackingBeyondGate(lane)
    if (lacking === undefined) return
    lane.gate.drop(lane)
    this.#park(lane, lacking)
  }

  /** There is another lane: from now on the default one stands where it belongs. */
  #endSole(): void {
    const lane = this.#sole
    if (lane === undefined) return
    this.#sole = undefined
    if (lane.line.first !== undefined) this.unpark(lane)
  }

  // ── Where lanes wait ──────────────────────────────────────────────────────────────────────────

  /** The first entry of a lane may be another one now. */
  #onHead(lane: Lane<T>, before: T | undefined): void {
    const head = lane.line.first
    if (head === before || lane === this.#sole) return
    const { waitsAt } = lane
    if (waitsAt === undefined) {
      if (head === undefined) return
      const lacking = lane.claims.length === 1 ? undefined : this.#lackingBeyondGate(lane)
      if (lacking === undefined) this.unpark(lane)
      else this.#park(lane, lacking)
    } else if (head === undefined) {
      lane.waitsAt = undefined
      waitsAt.drop(lane)
      this.#endOffer(lane)
    } else waitsAt.update(lane)
  }

  /** Called by a line whose order changed without push and remove. */
  refresh(lane: Lane<T>, before: T | undefined): void {
    this.#quiet = false
    this.#onHead(lane, before)
  }

  #endOffer(lane: Lane<T>): void {
    const claim = lane.offeredBy
    if (claim === undefined) return
    lane.offeredBy = undefined
    claim.view.endOffer(lane, claim)
  }

  #rejoin(): void {
    this.#isWithdrawn = false
    const views = [...this.#withdrawn]
    this.#withdrawn.clear()
    for (const view of views) view.offer()
  }

  #leave(lane: Lane<T>): void {
    lane.members--
    this.#sweep(lane)
  }

  #sweep(lane: Lane<T>): void {
    if (lane.members > 0 || !this.#sweeps || lane === this.#default) return
    this.#lanes.delete(lane.key)
    for (const { view } of lane.claims) {
      if (--view.lanes > 0 || view.key === undefined) continue
      this.#keyedViews.get(view.name)?.delete(view.key)
    }
  }

  #goesBefore(a: T, b: T): boolean {
    if (a.lane.priority === b.lane.priority) {
      return a.depth === b.depth ? a.readyOrder < b.readyOrder : a.depth > b.depth
    }
    const { aging, sinceOf } = this.ranking
    return sinceOf(a) + a.lane.priority * aging < sinceOf(b) + b.lane.priority * aging
  }

  // ── What can be needed ────────────────────────────────────────────────────────────────────────

  #setPlaces(concurrency: Exclude<Concurrency, number>): void {
    for (const [place, permits] of Object.entries(concurrency)) {
      if (!isPlace(place)) {
        throw new HeddleError('HDL_BAD_OPTION', {
          option: `concurrency.${place}`,
          value: permits,
          expected: 'only `loop`, `thread` and `fleet`',
        })
      }
      if (permits === undefined) continue
      this.#places.set(place, new Permits(checkCount(`concurrency.${place}`, permits, 1, true)))
    }
  }

  #laneFor(needs: Needs | undefined, priority: number, at: PlacePermits | undefined): Lane<T> {
    const place = at?.place ?? 'loop'
    const wanted = Object.entries(needs ?? {})
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
    if (this.#total !== undefined && total > this.#total.capacity) {
      throw wouldDeadlock('concurrency', total, this.#total.capacity)
    }
    const isPlain =
      share === undefined &&
      !(
        urgent &&
        claims.some(({ view }) => hasReserved(view.own) || hasReserved(view.shared?.meter))
      )
    const line = this.#newLine()
    const lane = new Lane<T>({ key, priority, claims, gate, total, needs, at, line, isPlain })
    for (const { view } of claims) view.lanes++
    this.#lanes.set(key, lane)
    this.#endSole()
    return lane
  }

  #gate(place: PlaceName | '', shared: SharedResource | undefined): View<T> {
    let gates = this.#gateOf.get(place)
    if (gates === undefined) this.#gateOf.set(place, (gates = new Map()))
    let gate = gates.get(shared)
    if (gate === undefined) {
      const own = place === '' ? undefined : this.#places.get(place)
      gate = new View<T>(this, { name: place, own, shared, isGate: true })
      gates.set(shared, gate)
      this.#gates.push(gate)
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
      view = new View<T>(this, { name, ...make() })
      this.#views.set(name, view)
    }
    return view
  }

  #claim(name: string, value: number | string): Claim<T> | undefined {
    const kind = this.#kinds.get(name)
    const shared = this.#capacity.resource(name)
    if (kind === undefined && shared === undefined) throw this.#unknown(name, value)
    const isKeyed = kind === undefined ? !(shared instanceof SharedResource) : kind.isKeyed
    if (isKeyed) return new Claim(this.#keyedView(name, value, kind, shared), 1, undefined)
    const count = checkCount(`needs.${name}`, value as number, 0)
    if (count === 0) return undefined
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
      view = new View<T>(this, { name, key, own, shared: keyed })
      views.set(key, view)
    }
    return view
  }

  #unlimitedPlace(name: PlaceName): Permits {
    let permits = this.#unlimited.get(name)
    if (permits === undefined) this.#unlimited.set(name, (permits = new Permits(Infinity)))
    return permits
  }

  #resizable(name: string): Permits {
    if (name === 'concurrency' && this.#total !== undefined) return this.#total
    if (isPlace(name)) {
      const permits = this.#places.get(name)
      if (permits !== undefined) return permits
    }
    const kind = this.#kinds.get(name)
    if (kind === undefined) throw this.#unknown(name, name)
    if (kind.isKeyed || !(kind.meter instanceof Permits)) {
      throw new HeddleError('HDL_BAD_OPTION', {
        option: name,
        value: name,
        expected:
          'a resource with a number of permits: rates and limits for each key stay as they are',
      })
    }
    return kind.meter
  }

  #unknown(name: string, value: unknown): HeddleError {
    const names = [...this.#kinds.keys(), ...this.#capacity.resourceNames]
    const meant = suggest(name, [...placeNames, ...names])
    const hint =
      name === 'slot'
        ? '`slot` is gone: every attempt takes one permit of its place; write `loop`, `thread` or `fleet`, and { loop: 0 } for a job that only waits'
        : `a place (${placeNames.join(', ')}) or a name in \`resources\`${names.length === 0 ? ', which has none' : ` (${names.join(', ')})`}${meant === undefined ? '' : `; did you mean ${meant}?`}`
    return new HeddleError('HDL_BAD_OPTION', { option: `needs.${name}`, value, expected: hint })
  }
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

function limitOf(meter: unknown, urgent: boolean): number {
  if (meter instanceof Permits) return meter.capacity + (urgent ? meter.reserved : 0)
  return (meter as { readonly limit: number }).limit
}

function wouldDeadlock(resource: string, needed: number, capacity: number): HeddleError {
  const what = `A node that needs "${resource}"`
  return new HeddleError('HDL_WOULD_DEADLOCK', { what, needed, capacity })
}

function shortageAt<T extends Entry<T>>(lane: Lane<T>, claim: Claim<T>): Shortage | undefined {
  const { view, count } = claim
  const { own, shared, name, key } = view
  const urgent = lane.priority === urgentPriority
  const isHeldBack = view.aheadOf(lane) !== undefined && !view.isGate
  if (own !== undefined && (isHeldBack || !own.hasRoom(count, urgent))) {
    if (own.isTimed) return { kind: 'rate', resource: name, ms: own.opensIn(count) }
    const { capacity, used } = own as Permits
    return { kind: 'permits', resource: name, key, count, capacity, used, isShared: false }
  }
  if (shared === undefined || count === 0) return undefined
  if (!isHeldBack && shared.meter.hasRoom(claim.sharedCount, urgent)) return undefined
  const { meter, unit } = shared
  if (meter.isTimed) return { kind: 'rate', resource: name, ms: meter.opensIn(count) }
  const { capacity, used } = meter as Permits
  return {
    kind: 'permits',
    resource: name,
    key,
    count,
    capacity: capacity / unit,
    used: Math.ceil(used / unit),
    isShared: true,
  }
}
