/**
 * The rank of a waiting entry (law 7): priority with aging, then depth in its graph, then first come.
 *
 * There is one class for each priority. The head of a class has a rank in time,
 *
 *     rank = time since when it waits + priority × aging
 *
 * and the class whose head has the smallest rank goes first. That is "the effective priority improves by one
 * for each `aging` milliseconds of waiting", written so that it does not depend on when it is read: the order
 * of two heads never changes while they wait.
 *
 *  P1  Inside a priority: deeper first, then order of arrival. Where nothing has a depth: order of arrival.
 *  P2  The head of priority p is overtaken only by what arrives less than p × aging after it.
 *
 * Depth does not mix with aging on purpose: inside a priority an old root never goes before a newer node that
 * is deeper. Otherwise a pipeline stops draining when the run is older than `aging`. See docs/decisions/0120.
 */
import { HeddleError } from '../errors.ts'
import { checkDuration } from './check.ts'

/** Interactive work: it may use reserved permits. */
export const urgentPriority = 0
/** What has no priority of its own: background work. */
const defaultPriority = 1
const lastPriority = 9
export const priorityCount = lastPriority + 1

const defaultAging = 1000

/** A place in a line. */
export interface Ranked {
  readonly rank: number
  /** Counts arrivals: decides between equal ranks. */
  readonly order: number
}

export interface PriorityOptions {
  /** A whole number from 0, which is first, to 9. 1 when absent. */
  readonly priority?: number | undefined
}

export interface AgingOptions {
  /**
   * Milliseconds of waiting that are worth one step of priority, 1000 when absent. `Infinity` never
   * improves a rank: then a stream of urgent work holds back the rest for as long as it lasts.
   */
  readonly aging?: number | undefined
}

export function checkPriority(priority: number | undefined): number {
  if (priority === undefined) return defaultPriority
  if (Number.isInteger(priority) && priority >= 0 && priority <= lastPriority) return priority
  throw new HeddleError('HDL_BAD_OPTION', {
    option: 'priority',
    value: priority,
    expected: `a whole number from 0 to ${lastPriority}`,
  })
}

export function checkAging(aging: number | undefined): number {
  return checkDuration('aging', aging ?? defaultAging)
}

export function rankOf(priority: number, since: number, aging: number): number {
  return aging === Infinity ? priority : since + priority * aging
}

export function before(a: Ranked, b: Ranked): boolean {
  return a.rank < b.rank || (a.rank === b.rank && a.order < b.order)
}

/** The head that goes first, of all lines. */
export function firstOf<T>(
  lines: readonly ({ readonly first: T | undefined } | undefined)[],
  placeOf: (head: T) => Ranked,
): T | undefined {
  let best: T | undefined
  for (const line of lines) {
    const head = line?.first
    if (head === undefined) continue
    if (best === undefined || before(placeOf(head), placeOf(best))) best = head
  }
  return best
}
