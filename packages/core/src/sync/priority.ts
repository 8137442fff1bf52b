/**
 * Priorities with aging, shared by `Queue` and `Semaphore`.
 *
 * There is one line for each priority, first come first served. A place in a line has a rank,
 *
 *     rank = time of arrival + priority × aging
 *
 * and the smallest rank goes first. That is "the effective priority improves by one for each
 * `aging` milliseconds of waiting", written so that it does not depend on when one looks: the order
 * of two places never changes while they wait, and comparing the heads of the lines is enough.
 *
 *  P1  Inside a priority: order of arrival.
 *  P2  Something of priority p is overtaken only by what arrives less than p × aging after it.
 */
import { HeddleError } from '../errors.ts'
import { checkDuration } from '../kernel/check.ts'

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
   * improves anybody: then a stream of urgent work holds back the rest for as long as it lasts.
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
