import { IndexedHeap, type HeapItem } from '../kernel/heap.ts'
import { rankOf, urgentPriority } from '../kernel/rank.ts'
import type { Entry } from './lane.ts'

/** A lane, or a bundle of lanes, compared by its first entry. */
export interface Ranks<T> extends HeapItem {
  readonly priority: number
  readonly line: { readonly first: T | undefined }
}

/** The criteria of the order between priorities. */
export interface Ranking<T> {
  /** Milliseconds of waiting that are worth one priority. */
  readonly aging: number
  /** Since when an entry waits. */
  readonly sinceOf: (entry: T) => number
}

/** Inside a priority: deeper first, then first come. */
function entryBefore<T extends Entry<T>>(a: T, b: T): boolean {
  return a.depth === b.depth ? a.readyOrder < b.readyOrder : a.depth > b.depth
}

/** Orders lanes, or bundles, of one priority. */
export function headBefore<T extends Entry<T>>(a: Ranks<T>, b: Ranks<T>): boolean {
  return entryBefore(a.line.first!, b.line.first!)
}

/** The order of `kernel/rank.ts` between two entries. */
export function entryRanksBefore<T extends Entry<T>>(
  a: T,
  b: T,
  { aging, sinceOf }: Ranking<T>,
): boolean {
  const { priority } = a.lane
  const other = b.lane.priority
  if (priority === other) return entryBefore(a, b)
  const left = rankOf(priority, sinceOf(a), aging)
  const right = rankOf(other, sinceOf(b), aging)
  return left === right ? a.readyOrder < b.readyOrder : left < right
}

/**
 * Orders by priority with aging alone, then first come: for lanes that wait for one resource at
 * different gates. Depth and aging together are not an order of more than two.
 */
export function agesBefore<T extends Entry<T>>(
  a: Ranks<T>,
  b: Ranks<T>,
  { aging, sinceOf }: Ranking<T>,
): boolean {
  const [first, second] = [a.line.first!, b.line.first!]
  const left = rankOf(a.priority, sinceOf(first), aging)
  const right = rankOf(b.priority, sinceOf(second), aging)
  return left === right ? first.readyOrder < second.readyOrder : left < right
}

/** The order of {@link entryRanksBefore} between the heads of two lanes. */
export function ranksBefore<T extends Entry<T>>(
  a: Ranks<T>,
  b: Ranks<T>,
  ranking: Ranking<T>,
): boolean {
  return entryRanksBefore(a.line.first!, b.line.first!, ranking)
}

/**
 * Lanes in the order of rank: a heap for each priority, because depth and aging together are not an order
 * (an old root of priority 1, a young leaf of priority 1 and something of priority 2 would go round in a
 * circle). A lane is compared through its head, so every change of a head calls {@link update}.
 */
export class LaneOrder<T extends Entry<T>, L extends Ranks<T>> {
  readonly #ranking: Ranking<T>
  readonly #heaps: (IndexedHeap<L> | undefined)[] = []
  /** A bit for each priority that has a lane. */
  #present = 0
  #size = 0

  constructor(ranking: Ranking<T>) {
    this.#ranking = ranking
  }

  get size(): number {
    return this.#size
  }

  add(lane: L): void {
    const { priority } = lane
    const heap = (this.#heaps[priority] ??= new IndexedHeap<L>(headBefore<T>))
    heap.push(lane)
    this.#present |= 1 << priority
    this.#size++
  }

  remove(lane: L): void {
    const heap = this.#heaps[lane.priority]
    if (heap === undefined || !heap.remove(lane)) return
    if (heap.size === 0) this.#present &= ~(1 << lane.priority)
    this.#size--
  }

  update(lane: L): void {
    if (this.#size > 1) this.#heaps[lane.priority]!.update(lane)
  }

  get first(): L | undefined {
    const present = this.#present
    if (present === 0) return undefined
    let priority = 31 - Math.clz32(present & -present)
    let best = this.#heaps[priority]!.peek()!
    for (let rest = present & (present - 1); rest !== 0; rest &= rest - 1) {
      priority = 31 - Math.clz32(rest & -rest)
      const lane = this.#heaps[priority]!.peek()!
      if (ranksBefore(lane, best, this.#ranking)) best = lane
    }
    return best
  }

  /** The first of priority 0, which alone may use reserved permits. */
  get firstUrgent(): L | undefined {
    return this.#heaps[urgentPriority]?.peek()
  }

  /** Whether there are lanes of other priorities than 0. */
  get hasOthers(): boolean {
    return this.#present > 1 << urgentPriority
  }
}
