/**
 * The parts of a campaign that differ: how results are added up, when it ends early, which parameters come next.
 * The module that is served may have its own: own-campaign.ts.
 */

/** Adds up results. `total` is JSON. */
export interface Reducer {
  readonly initial: unknown
  /** What is wrong with a report; undefined when it is right. */
  check(result: unknown, done: number): string | undefined
  readonly add: (total: unknown, result: unknown) => unknown
  /** Takes a result out again. Absent: totals are made of closed leases only, and excluding a lease adds up all others. */
  readonly subtract?: (total: unknown, result: unknown) => unknown
}

export interface CampaignView {
  readonly total: unknown
  /** Units that are counted. */
  readonly done: number
  readonly quota: number
}

/** Decides when a campaign ends before its quota. */
export interface DecisionRule {
  /** Asked after each report: the verdict that ends the campaign, or undefined. */
  observe(view: CampaignView): string | undefined
  /** JSON that is kept with the campaign; given to the rule when the campaign is read again. */
  state(): unknown
  /** The fields shown to people. */
  describe(view: CampaignView): object
}

/** Which parameters a worker tries next. */
export interface Proposer {
  /** A pure function of its state and `unit`: asking twice gives the same answer (P8). */
  propose(lease: number, unit: number): unknown
  /** Takes what `result` says about the parameters that were proposed for `unit`. */
  learn(lease: number, unit: number, result: unknown): void
  state(): unknown
  describe(): object
}

/** Counts, added one by one. A report has one for each name; together they are the units that are done. */
export function countReducer(names: readonly string[]): Reducer {
  return {
    initial: names.map(() => 0),
    check: (result, done) => {
      if (!isCounts(result) || result.length !== names.length) {
        return `the result must be ${names.length} counts: ${names.join(', ')}`
      }
      const sum = result.reduce((total, count) => total + count, 0)
      return sum === done ? undefined : `the counts add up to ${sum}, not to the ${done} units done`
    },
    add: (total, result) => addCounts(total as number[], result as number[], 1),
    subtract: (total, result) => addCounts(total as number[], result as number[], -1),
  }
}

/** For campaigns whose units leave nothing to add up: their results are artifacts, or the work itself. */
export const unitReducer: Reducer = {
  initial: null,
  check: () => undefined,
  add: () => null,
  subtract: () => null,
}

/** Ends at the quota, and not before. */
export const quotaRule: DecisionRule = {
  observe: () => undefined,
  state: () => null,
  describe: () => ({ kind: 'quota' }),
}

function isCounts(value: unknown): value is readonly number[] {
  return (
    Array.isArray(value) &&
    value.every((count) => Number.isSafeInteger(count) && (count as number) >= 0)
  )
}

function addCounts(total: readonly number[], counts: readonly number[], sign: number): number[] {
  return total.map((sum, index) => sum + sign * counts[index]!)
}
