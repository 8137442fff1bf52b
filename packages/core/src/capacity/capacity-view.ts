import type { Clock } from '../kernel/clock.ts'
import type { Meter } from '../kernel/permits.ts'
import { urgentPriority } from '../kernel/rank.ts'
import { Alarm } from './alarm.ts'
import type { Bundle } from './bundle.ts'
import type { Entry, Lane } from './lane.ts'
import { LaneOrder, agesBefore, ranksBefore, type Ranking } from './lane-order.ts'
import {
  Waiter,
  onlyReserved,
  refused,
  type KeyedResource,
  type Seniority,
  type SharedResource,
} from './shared-resource.ts'

/** The claim of one lane on one resource. */
export class Claim<T extends Entry<T>> {
  readonly view: View<T>
  readonly count: number
  /** In units of the process's meter; a fraction of a thread for jobs that are known to be short. */
  readonly #sharedCount: () => number
  // What the last admit() found, for the take() that follows in the same step.
  isOwnReserved = false
  isSharedReserved = false
  /** Whether it is the run that has too little. */
  isOwnLacking = false

  constructor(view: View<T>, count: number, share: (() => number) | undefined) {
    this.view = view
    this.count = count
    const unit = view.shared?.unit ?? 1
    this.#sharedCount = share === undefined ? () => count * unit : () => count * share()
  }

  get sharedCount(): number {
    return this.#sharedCount()
  }
}

/** The calls that a view makes to the lanes it belongs to. */
export interface ViewHost<T extends Entry<T>> {
  readonly clock: Clock
  readonly ranking: Ranking<T>
  /** Since when the run waits for something of the process. */
  readonly seniority: Seniority
  /** A parked lane may try again: it goes back to its gate. */
  unpark(lane: Lane<T>): void
  /** Something may start that could not start before. */
  onRoom(): void
  /** Whether the run takes part. If not, it calls {@link View.offer} when it does again. */
  mayWait(view: View<T>): boolean
  /** Sets whether it waits for the process. */
  setWaiting(view: View<T>, isWaiting: boolean): void
}

/** Lanes that wait at one view and have one gate. Urgent ones apart: they may pass where others may not. */
class Group<T extends Entry<T>> {
  readonly gate: View<T>
  readonly isUrgent: boolean
  readonly line: LaneOrder<T, Lane<T> | Bundle<T>>
  /** Counts of lanes that were sent back to the gate and have not used it yet. */
  offered = 0
  /** Whether its first lane lacks it, and is not held back by another. */
  isWaiting = false

  constructor(gate: View<T>, isUrgent: boolean, ranking: Ranking<T>) {
    this.gate = gate
    this.isUrgent = isUrgent
    this.line = new LaneOrder(ranking)
  }
}

/**
 * One resource from the view of one run: the permits of the run, those of the process, and the lanes that
 * wait for it here.
 *
 *  V1  A lane that lacks it waits in this line; lanes that rank behind wait behind it, also when there would
 *      be room for them: heavy entries are not starved by light ones.
 *  V2  While a lane waits here, something is going to call it: a permit that comes back to the run, the
 *      alarm of a rate, or the line of the process.
 *  V3  To each gate only as many lanes are sent back as there is room for, so that a permit that comes back
 *      costs the same with ten lanes and with ten thousand. For each gate apart: a lane that finds its gate
 *      closed does not keep back one whose gate is open.
 */
export class View<T extends Entry<T>> {
  readonly name: string
  readonly key: string | undefined
  readonly own: Meter | undefined
  /** For a gate: the lanes that lack only the gate, if anything. */
  readonly line: LaneOrder<T, Lane<T>>
  readonly isGate: boolean
  /**
   * For any other resource: the lanes that lack it, in bundles unless it has a key. There are few
   * gates.
   */
  readonly #groups: Group<T>[] = []
  #parked = 0
  readonly #host: ViewHost<T>
  readonly #shared: SharedResource | undefined
  readonly #keyed: KeyedResource | undefined
  #spare: SharedResource | undefined
  // Only where the process has a limit too.
  readonly #waiter: Waiter | undefined
  readonly #urgentWaiter: Waiter | undefined
  readonly #alarm: Alarm | undefined
  #isOffering = false
  #isOfferWanted = false
  /** Lanes that claim it. */
  lanes = 0

  constructor(
    host: ViewHost<T>,
    options: {
      readonly name: string
      readonly key?: string | undefined
      readonly own: Meter | undefined
      readonly shared: SharedResource | KeyedResource | undefined
      readonly isGate?: boolean
    },
  ) {
    this.#host = host
    this.name = options.name
    this.key = options.key
    this.own = options.own
    this.isGate = options.isGate ?? false
    this.line = new LaneOrder(host.ranking)
    const { shared } = options
    if (shared !== undefined && 'each' in shared) this.#keyed = shared
    else this.#shared = shared
    if (shared !== undefined) {
      this.#waiter = new Waiter(host.seniority, () => this.#onSharedRoom())
      this.#urgentWaiter = new Waiter(host.seniority, () => this.#onSharedRoom())
    }
    this.#alarm = this.own?.isTimed
      ? new Alarm(host.clock, () => {
          this.offer()
          host.onRoom()
        })
      : undefined
  }

  get shared(): SharedResource | undefined {
    if (this.#keyed === undefined) return this.#shared
    return this.#keyed.get(this.key!) ?? (this.#spare ??= this.#keyed.make(this.key!))
  }

  /**
   * Whether a lane may take its claim here, now. `ahead` is a lane that ranks before it and lacks
   * something here: then only priority 0 passes, and only on reserved permits.
   */
  admits(lane: Lane<T>, claim: Claim<T>, ahead: Lane<T> | undefined): boolean {
    const urgent = lane.priority === urgentPriority
    claim.isOwnReserved = false
    claim.isSharedReserved = false
    const { own, shared } = this
    if (ahead !== undefined && !urgent) return false
    if (own !== undefined) {
      claim.isOwnReserved = ahead !== undefined && !own.hasRoom(ahead.claimOn(this).count, false)
      claim.isOwnLacking = !hasOwnRoom(own, lane, claim)
      if (claim.isOwnLacking) return false
    }
    if (shared === undefined || claim.count === 0) return true
    const admission = shared.admits(this.#waiterOf(lane), claim.sharedCount, lane.priority)
    claim.isSharedReserved = admission === onlyReserved
    return admission !== refused
  }

  /** Like {@link admits}, but ignores waiting entries: for resumed work. */
  hasRoom(lane: Lane<T>, claim: Claim<T>): boolean {
    const urgent = lane.priority === urgentPriority
    claim.isOwnReserved = false
    claim.isSharedReserved = false
    const { own, shared } = this
    if (own !== undefined && !own.hasRoom(claim.count, urgent)) return false
    return shared === undefined || shared.meter.hasRoom(claim.sharedCount, urgent)
  }

  /**
   * A lane that ranks before this one and lacks something here, so that this one must not take it (V1): if there are
   * several, the first. Decides as {@link #offerOnce} does, or a lane would walk between its gate and this line for
   * ever.
   */
  aheadOf(lane: Lane<T>): Lane<T> | undefined {
    if (this.#parked === 0) return undefined
    const { ranking } = this.#host
    const own = this.#groupOf(lane)
    let ahead: Lane<T> | undefined
    for (const group of this.#groups) {
      const first = group.line.first?.firstLane
      if (first === undefined || first === lane) continue
      const isBefore = group === own ? ranksBefore : agesBefore
      if (!isBefore(first, lane, ranking)) continue
      if (ahead !== undefined && !agesBefore(first, ahead, ranking)) continue
      if (!this.admits(first, first.claimOn(this), undefined)) ahead = first
    }
    return ahead
  }

  /** A lane lacks it, or ranks behind one that does: it waits here. */
  park(lane: Lane<T>): void {
    const { line } = this.#groupOf(lane)
    this.#parked++
    if (this.key !== undefined) line.add(lane)
    else {
      const bundle = lane.bundle!
      bundle.add(lane)
      if (bundle.size > 1) line.update(bundle)
      else {
        bundle.view = this
        line.add(bundle)
      }
    }
    this.offer()
  }

  /** The lanes of a bundle that waits here lack something else, too: from now on they wait for that. */
  handOver(bundle: Bundle<T>, view: View<T>): void {
    const first = bundle.firstLane!
    this.#groupOf(first).line.remove(bundle)
    this.#parked -= bundle.size
    bundle.view = view
    view.#groupOf(first).line.add(bundle)
    view.#parked += bundle.size
  }

  /** A lane that waits here, or at this gate, has nothing to start any more. */
  drop(lane: Lane<T>): void {
    if (this.isGate) this.line.remove(lane)
    else this.#takeOut(this.#groupOf(lane), lane)
    this.offer()
  }

  #takeOut({ line }: Group<T>, lane: Lane<T>): void {
    this.#parked--
    if (this.key !== undefined) return line.remove(lane)
    const bundle = lane.bundle!
    bundle.remove(lane)
    if (bundle.size > 0) return line.update(bundle)
    line.remove(bundle)
    bundle.view = undefined
  }

  /** Called when another entry is now the first of a lane that waits here, or at this gate. */
  update(lane: Lane<T>): void {
    if (this.isGate) return this.line.update(lane)
    const { line } = this.#groupOf(lane)
    if (this.key !== undefined) line.update(lane)
    else {
      lane.bundle!.update(lane)
      line.update(lane.bundle!)
    }
    this.offer()
  }

  /** After {@link admits}, in the same step. Adds the permits to `held`. */
  take(lane: Lane<T>, claim: Claim<T>, held: number[] | undefined): void {
    const { own, shared } = this
    const { count } = claim
    const urgent = lane.priority === urgentPriority
    const ownReserved = own === undefined ? 0 : own.take(count, urgent, claim.isOwnReserved)
    if (shared === undefined) {
      held?.push(ownReserved, 0, 0)
      return
    }
    const { sharedCount } = claim
    this.#keyed?.keep(this.key!, shared)
    const waiter = this.#waiterOf(lane)
    const sharedReserved = shared.take(waiter, sharedCount, lane.priority, claim.isSharedReserved)
    this.#noteWaiting()
    held?.push(ownReserved, sharedCount, sharedReserved)
  }

  giveBack(claim: Claim<T>, held: readonly number[] | undefined, index: number): void {
    const { own, shared } = this
    own?.giveBack(claim.count, held === undefined ? 0 : held[index]!)
    if (shared !== undefined) {
      if (held === undefined) shared.giveBack(claim.sharedCount, 0)
      else shared.giveBack(held[index + 1]!, held[index + 2]!)
    }
    if (!this.isGate) this.offer()
  }

  /**
   * After {@link admits} or {@link hasRoom}, in the same step: waits in the line of the process, unless it is the run itself
   * that has too little, or holds it back. A lane that joined without that room would be called by the process, fail to start and join again, for ever.
   */
  waitForShared(lane: Lane<T>, claim: Claim<T>, isResumed = false): void {
    const { own, shared } = this
    if (shared === undefined) return
    if (own !== undefined && !hasOwnRoom(own, lane, claim)) return
    if (!isResumed && !this.#host.mayWait(this)) return
    this.#keyed?.keep(this.key!, shared)
    shared.join(this.#waiterOf(lane), claim.sharedCount, lane.priority)
    this.#noteWaiting()
  }

  /** V2, V3: sends lanes back to their gates that may take it now, or makes sure that something will. */
  offer(): void {
    // Joining the line of the process may call this very view.
    this.#isOfferWanted = true
    if (this.#isOffering) return
    this.#isOffering = true
    while (this.#isOfferWanted) {
      this.#isOfferWanted = false
      // Lanes at their gate are where they belong: pick() finds them.
      while (this.#parked > 0 && this.#offerOnce()) continue
    }
    this.#isOffering = false
    this.#leaveUnused()
  }

  /** A lane that was sent back has started something, is empty, or waits for something else. */
  endOffer(lane: Lane<T>, claim: Claim<T>): void {
    this.#groupOf(lane).offered -= claim.count
    this.offer()
  }

  /** Leaves the lines of the process: for a run that starts nothing for a while. */
  withdraw(): void {
    const { shared } = this
    if (shared === undefined) return
    shared.leave(this.#waiter!)
    shared.leave(this.#urgentWaiter!)
    this.#noteWaiting()
  }

  /** It was called by the process and pick() has found nothing to do with it: the next one is called. */
  answer(): void {
    const { shared } = this
    if (shared === undefined) return
    const called = [this.#urgentWaiter!, this.#waiter!].filter(({ isNotified }) => isNotified)
    if (called.length === 0) return
    for (const waiter of called) waiter.isNotified = false
    // Other lanes may wait here now than when it joined the line.
    this.offer()
    for (const waiter of called) {
      if (waiter.isNotified || !waiter.isWaiting) continue
      if (shared.admits(waiter, waiter.count, waiter.priority) !== refused) shared.leave(waiter)
    }
    this.#noteWaiting()
  }

  /** Leaves the lines of the process in which it has nothing to wait for any more. */
  #leaveUnused(): void {
    const { shared } = this
    const isIdle = this.#parked === 0 && this.#groups.every(({ offered }) => offered === 0)
    if (isIdle) this.#alarm?.cancel()
    if (shared === undefined) return
    if (this.#urgentWaiter!.isWaiting && !this.#has(true)) shared.leave(this.#urgentWaiter!)
    if (this.#waiter!.isWaiting && !this.#has(false)) shared.leave(this.#waiter!)
    this.#noteWaiting()
  }

  #has(isUrgent: boolean): boolean {
    if (this.isGate) return isUrgent ? this.line.firstUrgent !== undefined : this.line.hasOthers
    return this.#groups.some(
      (group) =>
        group.isUrgent === isUrgent &&
        (group.offered > 0 || (group.isWaiting && group.line.size > 0)),
    )
  }

  /** Whether a lane was sent back. */
  #offerOnce(): boolean {
    for (const group of this.#groups) group.isWaiting = false
    const groups = this.#groups.filter(({ line }) => line.size > 0)
    if (groups.length > 1) {
      const { ranking } = this.#host
      groups.sort((a, b) => (agesBefore(a.line.first!, b.line.first!, ranking) ? -1 : 1))
    }
    let ahead: Lane<T> | undefined
    for (const group of groups) {
      const lane = group.line.first!.firstLane!
      const claim = lane.claimOn(this)
      if (!this.admits(lane, claim, ahead)) {
        // Held back by a lane of this run, it has nothing to wait for in the process. Only the first waits: if the
        // first changed often, each change of its claim would call the run again.
        const isFirst = ahead === undefined || (group.isUrgent && ahead.priority !== urgentPriority)
        if (isFirst) {
          // While a lane that ranks before it is on its way to take some, the run is in the line for that one.
          if (!this.#hasOffers(group.isUrgent)) this.waitForShared(lane, claim)
          group.isWaiting = true
        }
        if (ahead === undefined) this.#setAlarm(claim)
        ahead ??= lane
      } else if (this.#hasOffer(group, claim)) {
        this.#takeOut(group, lane)
        group.offered += claim.count
        lane.offeredBy = claim
        this.#host.unpark(lane)
        return true
      }
    }
    return false
  }

  #hasOffers(isUrgent: boolean): boolean {
    return this.#groups.some((group) => group.isUrgent === isUrgent && group.offered > 0)
  }

  /** Whether there is room for a lane besides those that were sent to its gate already. */
  #hasOffer({ offered, isUrgent }: Group<T>, { count }: Claim<T>): boolean {
    if (offered === 0) return true
    const { own, shared } = this
    if (own !== undefined && !own.hasRoom(count + offered, isUrgent)) return false
    return shared === undefined || shared.meter.hasRoom((count + offered) * shared.unit, isUrgent)
  }

  #setAlarm({ count, isOwnLacking }: Claim<T>): void {
    if (this.#alarm === undefined || !isOwnLacking) return
    // Also when it is 0: time has passed since there was no room, and nothing else would say that there is some now.
    this.#alarm.set(this.own!.opensIn(count))
  }

  #groupOf({ gate, priority }: Lane<T>): Group<T> {
    const isUrgent = priority === urgentPriority
    let group = this.#groups.find((known) => known.gate === gate && known.isUrgent === isUrgent)
    if (group === undefined) {
      group = new Group(gate, isUrgent, this.#host.ranking)
      this.#groups.push(group)
    }
    return group
  }

  #waiterOf({ priority }: Lane<T>): Waiter {
    return priority === urgentPriority ? this.#urgentWaiter! : this.#waiter!
  }

  #noteWaiting(): void {
    this.#host.setWaiting(this, this.#waiter!.isWaiting || this.#urgentWaiter!.isWaiting)
  }

  #onSharedRoom(): void {
    if (!this.isGate) this.offer()
    this.#host.onRoom()
  }
}

function hasOwnRoom<T extends Entry<T>>(own: Meter, lane: Lane<T>, claim: Claim<T>): boolean {
  return claim.isOwnReserved
    ? own.hasReservedRoom(claim.count)
    : own.hasRoom(claim.count, lane.priority === urgentPriority)
}
