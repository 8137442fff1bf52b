import type { Needs } from '../graph/job.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Permits } from '../kernel/permits.ts'
import { checkPriority } from '../kernel/rank.ts'
import type { Capacity } from './capacity.ts'
import { DepthLine, type Entry, type Lane, type Line } from './lane.ts'
import { entryRanksBefore, ranksBefore, type Ranking } from './lane-order.ts'
import { LaneTable, type PlacePermits } from './lane-table.ts'
import type { Concurrency, Resources } from './resources.ts'
import { Seniority } from './shared-resource.ts'
import { shortageOf, type Shortage } from './shortage.ts'
import type { Claim, View, ViewHost } from './capacity-view.ts'

/*
 * The entries of one run that wait to start, and which of them is next.
 *
 * A lane is a line of entries that need the same and have the same priority, so if the first of them cannot
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
 * The gate is the place: its permits in the run, in the process, and `concurrency` over all places. A lane that
 * lacks only the gate stays there: it need not be moved when the gate opens.
 *
 * Invariants, quoted by the tests (K1 to K6 in capacity.ts hold for all runs together):
 *  I1  The permits taken are those of the entries that were picked and not given back.
 *  I2  A lane that lacks something holds back lanes that rank behind it and want the same, and only those:
 *      waiting for something scarce never keeps others from running (S38), and heavy entries are not starved
 *      by light ones.
 *  I3  Among lanes that can start, the rank of kernel/rank.ts decides.
 *  I4  A lane that has entries stands at its gate, or at one view that it lacks: together with the others of its
 *      bundle (bundle.ts), unless it lacks its key. The sole lane of a run whose nodes take nothing but `concurrency`
 *      need not stand anywhere: there is no other to compare it with.
 *
 *  I5  An entry that is resumed takes no start of a rate; each attempt takes them once.
 *
 * Known limits: a name that is a rate in the run and permits in the process, or the other way round, is taken again as
 * a whole by resumed entries. An entry that needs two contended resources may wait long, because only the one it lacks
 * is held back for it. Holding back all it needs would leave permits idle.
 */

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

/** How many lanes one pick() parks: with a million keys the rest is done after I/O had its turn (law 2). */
const parkedAtOnce = 1_000

export class Lanes<T extends Entry<T>> implements ViewHost<T> {
  readonly clock: Clock
  readonly ranking: Ranking<T>
  readonly seniority = new Seniority()
  readonly #onRoom: () => void
  readonly #sweeps: boolean
  readonly #table: LaneTable<T>
  // The table's own: they are read for each start.
  readonly #total: Permits | undefined
  readonly #gates: readonly View<T>[]
  /** What an entry took, where that differs from entry to entry of its lane. */
  readonly #held = new Map<T, readonly number[]>()
  /** The lanes of entries that were resumed, where those have a rate. */
  readonly #startedIn = new Map<T, Lane<T>>()
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
    this.clock = options.clock
    this.ranking = { aging: options.aging, sinceOf: options.sinceOf }
    this.#onRoom = options.onRoom
    this.#sweeps = options.sweep ?? false
    const { capacity, concurrency, resources, newLine = () => new DepthLine<T>() } = options
    this.#table = new LaneTable(this, { capacity, concurrency, resources, newLine })
    this.#total = this.#table.total
    this.#gates = this.#table.gates
    this.#default = this.#laneFor(undefined, checkPriority(undefined), undefined)
    this.#default.isKept = true
    const { gate, claims } = this.#default
    const takesOnlyTotal =
      claims.length === 1 && gate.own === undefined && gate.shared === undefined
    if (takesOnlyTotal && !this.#sweeps) this.#sole = this.#default
  }

  /** How many entries wait. */
  get size(): number {
    return this.#size
  }

  /** How many lanes there are: one for each combination of needs, place and priority. */
  get count(): number {
    return this.#table.size
  }

  /** Whether it is worth calling pick(). */
  get mayStart(): boolean {
    return this.#size > 0 && !this.#quiet
  }

  get concurrency(): Concurrency {
    return this.#table.concurrency
  }

  /**
   * The lane for these needs, made on first use.
   * @throws `HDL_BAD_OPTION` for what does not exist, `HDL_WOULD_DEADLOCK` for more than there will ever be.
   */
  laneFor(needs: Needs | undefined, priority: number | undefined, at?: PlacePermits): Lane<T> {
    if (needs === undefined && priority === undefined && at === undefined) return this.#default
    const lane = this.#laneFor(needs, checkPriority(priority), at)
    if (!this.#sweeps) lane.isKept = true
    return lane
  }

  /**
   * Like {@link laneFor}, for an entry that comes once, such as an element of a map: the lane of a
   * key is forgotten when no entry waits in it or runs for it, so that a million keys do not leave
   * a million lanes.
   */
  laneForOnce(needs: Needs | undefined, priority: number | undefined, at?: PlacePermits): Lane<T> {
    if (needs === undefined) return this.laneFor(needs, priority, at)
    const lane = this.#laneFor(needs, checkPriority(priority), at)
    if (!this.#sweeps && !lane.isKeyed) lane.isKept = true
    return lane
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

  /**
   * Puts an entry that is resumed before those of its rank that became ready after it. It has started already: it takes its
   * permits again, and no start of a rate (I5).
   */
  enqueueFirst(entry: T): void {
    const { lane } = entry
    const needs = this.#table.needsAgain(lane)
    if (needs !== lane.needs) {
      this.#startedIn.set(entry, lane)
      entry.lane = this.#laneFor(needs, lane.priority, lane.at)
      if (lane.isKept) entry.lane.isKept = true
    }
    this.#enqueue(entry, true)
  }

  /** A later attempt of an entry takes its permits again. */
  #returnToLane(entry: T): void {
    const lane = this.#startedIn.get(entry)
    if (lane === undefined) return
    this.#startedIn.delete(entry)
    entry.lane = lane
  }

  #enqueue(entry: T, isFirst: boolean): void {
    let { lane } = entry
    if (!lane.isKept && !this.#table.has(lane)) {
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
    if (this.#startedIn.size > 0) this.#returnToLane(entry)
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
      // Parking one lane may have made room for another, at a gate that was checked already.
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
    if (total !== undefined) {
      total.used += lane.total
      // Said at once: the runner would ask again for each start.
      if (total.capacity - total.used < lane.total) this.#quiet = true
    }
    return entry
  }

  /**
   * Takes this entry, with its permits, if they are free: for entries resumed while nothing new starts. It is
   * not new work, so it goes before waiting entries.
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
    const { lane } = entry
    this.#quiet = false
    if (this.#total !== undefined) this.#total.used -= lane.total
    if (lane === this.#sole) {
      lane.members--
      return
    }
    const held = lane.isPlain ? undefined : this.#takeHeld(entry)
    const { claims } = lane
    for (let index = 0; index < claims.length; index++) {
      const claim = claims[index]!
      claim.view.giveBack(claim, held, 3 * index)
    }
    this.#leave(lane)
    if (this.#startedIn.size > 0) this.#returnToLane(entry)
  }

  /**
   * Changes how many permits there are. Permits in use stay in use until they come back.
   * @throws `HDL_BAD_OPTION`; `HDL_WOULD_DEADLOCK` when an entry needs more.
   */
  resize(name: string, permits: number): void {
    this.#table.resize(name, permits)
    this.#quiet = false
  }

  /** How many waiting entries go before this one; counts up to 10,000. */
  countBefore(entry: T): number {
    let before = 0
    let looked = 0
    for (const lane of this.#table.values()) {
      for (const other of lane.line) {
        if (++looked > 10_000) return before
        if (other !== entry && entryRanksBefore(other, entry, this.ranking)) before++
      }
    }
    return before
  }

  /** The permits of this run that a lane takes: without rates, and without those of the process. */
  permitsOf(lane: Lane<T>): { permits: Permits; name: string; count: number }[] {
    return this.#table.permitsOf(lane)
  }

  /** What keeps an entry from starting; undefined when it is only its turn. */
  shortageOf({ lane }: T): Shortage | undefined {
    return shortageOf(lane, this.#total)
  }

  /** The run starts nothing for a while: it does not keep others waiting for permits it will not take. */
  withdraw(): void {
    this.#isWithdrawn = true
    for (const view of this.#waiting) {
      this.#withdrawn.add(view)
      view.withdraw()
    }
    this.seniority.end()
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
    if (this.#size === 0 && this.#waiting.size === 0) this.seniority.end()
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

  #park(lane: Lane<T>, { view }: Claim<T>): void {
    const { bundle, offeredBy } = lane
    const isWithOthers = view.key === undefined && bundle !== undefined
    const together = isWithOthers ? bundle.view : undefined
    if (together !== undefined && together !== view && offeredBy?.view === together) {
      // Called in vain by the view at which its bundle waits: the others lack the same.
      together.handOver(bundle!, view)
    }
    this.#endOffer(lane)
    const waitsAt = (isWithOthers ? bundle.view : undefined) ?? view
    lane.waitsAt = waitsAt
    waitsAt.park(lane)
  }

  #start(lane: Lane<T>): T {
    const entry = lane.line.first!
    const { claims } = lane
    this.#take(lane, entry)
    lane.line.remove(entry)
    this.#size--
    // Its place in the heap first: the next steps may add other lanes to it.
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
    if (held !== undefined) this.#held.set(entry, held)
  }

  /** After a start: at its gate, or where it lacks something now, so that the gate's line stays short. */
  #place(lane: Lane<T>): void {
    const lacking = this.#lackingBeyondGate(lane)
    if (lacking === undefined) return
    lane.gate.drop(lane)
    this.#park(lane, lacking)
  }

  #laneFor(needs: Needs | undefined, priority: number, at: PlacePermits | undefined): Lane<T> {
    const lane = this.#table.laneFor(needs, priority, at)
    if (lane !== this.#sole) this.#endSole()
    return lane
  }

  #takeHeld(entry: T): readonly number[] | undefined {
    const held = this.#held.get(entry)
    this.#held.delete(entry)
    return held
  }

  /** There is another lane: from now on the default one is placed like the others. */
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
    if (lane.members > 0 || lane.isKept) return
    this.#table.delete(lane)
  }
}
