/**
 * Campaigns whose results, end and parameters are decided by code of the served module.
 *
 *  O1  Every function is called on the owner of the campaign, in one turn of its loop: it must be short, and give the
 *      same answer for the same arguments. Totals and states are JSON: the next owner continues with them.
 *  O2  A lease of such a campaign is one call of its job and one report: its result is that of the job.
 *  O3  A function that throws ends the campaign, with the reason; a `check` that throws refuses the report.
 */
import { HeddleError } from '@heddle/core'
import {
  checkFunction,
  checkMethods,
  checkOptions,
  describe,
  type OptionNames,
} from '@heddle/core/lowlevel'
import type { CampaignParts, CodeTrouble } from './campaign-state.ts'
import { quotaRule, unitReducer, type CampaignView, type DecisionRule } from './campaign-parts.ts'
import type { Proposer, Reducer } from './campaign-parts.ts'

/** Adds up the results of jobs. */
export interface CampaignReduce<Total, Result> {
  readonly initial: Total
  readonly add: (total: Total, result: Result) => Total
  /** Takes a result out again. Without it totals are made of finished leases, and excluding a lease adds up all others. */
  readonly subtract?: ((total: Total, result: Result) => Total) | undefined
  /**
   * Returns what is wrong with the result of this many units; undefined when it is right. Results come from other
   * machines.
   */
  readonly check?: ((result: unknown, units: number) => string | undefined) | undefined
}

/** Proposes parameters for the next units, and learns from their results. */
export interface CampaignTuning<State, Parameters, Result> {
  readonly initial: State
  readonly propose: (state: State, unit: number) => Parameters
  readonly learn: (state: State, unit: number, result: Result) => State
}

export interface CampaignOptions<Total = unknown, Result = never, State = unknown> {
  readonly reduce?: CampaignReduce<Total, Result> | undefined
  /** The verdict that ends the campaign before its quota, or undefined. Asked after each report. */
  readonly decide?:
    | ((view: {
        readonly total: Total
        readonly done: number
        readonly quota: number
      }) => string | undefined)
    | undefined
  readonly tune?: CampaignTuning<State, unknown, Result> | undefined
}

/** The same limit as in the body of POST /campaigns. */
const longestName = 200

const optionNames = { reduce: 1, decide: 1, tune: 1 } satisfies OptionNames<CampaignOptions>
const reduceNames = { initial: 1, add: 1, subtract: 1, check: 1 } satisfies OptionNames<
  CampaignReduce<unknown, never>
>
const tuneNames = { initial: 1, propose: 1, learn: 1 } satisfies OptionNames<
  CampaignTuning<unknown, unknown, never>
>

/** A kind of campaign. Made by {@link campaign}. */
export interface OwnCampaign {
  readonly name: string
  readonly options: CampaignOptions
  /** Tells kinds of campaigns from other exports. */
  readonly isCampaign: true
}

/**
 * A kind of campaign with its own code, for what counts and the built-in test do not express. A module that `heddle serve` loads
 * exports it; `POST /campaigns` names it as `definition`.
 *
 * @throws `HDL_BAD_OPTION`, `HDL_UNKNOWN_OPTION`.
 * @example
 * const mean = campaign('mean', {
 *   reduce: { initial: { sum: 0, n: 0 }, add: (t, r: { sum: number; n: number }) => ({ sum: t.sum + r.sum, n: t.n + r.n }) },
 *   decide: ({ total }) => (total.n >= 100 ? 'enough' : undefined),
 * })
 * mean.name // => 'mean'
 */
export function campaign<Total, Result = never, State = unknown>(
  name: string,
  options: CampaignOptions<Total, Result, State>,
): OwnCampaign {
  if (typeof name !== 'string' || name === '' || name.length > longestName) {
    const expected = `a text of 1 to ${longestName} characters`
    throw new HeddleError('HDL_BAD_OPTION', { option: 'name', value: name, expected })
  }
  checkOptions(options, optionNames)
  const { reduce, decide, tune } = options
  if (reduce !== undefined) {
    checkMethods('reduce', reduce, ['add'], '{ initial, add, subtract?, check? }')
    checkOptions(reduce, reduceNames, 'reduce')
  }
  if (decide !== undefined) checkFunction('decide', decide)
  if (tune !== undefined) {
    checkMethods('tune', tune, ['propose', 'learn'], '{ initial, propose, learn }')
    checkOptions(tune, tuneNames, 'tune')
  }
  return { name, options: options as CampaignOptions, isCampaign: true }
}

export type OwnCampaigns = ReadonlyMap<string, OwnCampaign>

/** The kinds of campaigns that a module exports. @throws `HDL_BAD_OPTION` when two have one name. */
export function exportedCampaigns(
  exported: Readonly<Record<string, unknown>> | readonly unknown[] | undefined,
): OwnCampaigns {
  const values: unknown[] = Object.values(exported ?? {}).flat()
  const table = new Map<string, OwnCampaign>()
  for (const value of new Set(values)) {
    if (!isOwnCampaign(value)) continue
    if (table.has(value.name)) {
      const expected = 'one campaign for each name'
      throw new HeddleError('HDL_BAD_OPTION', {
        option: 'jobs',
        value: `two campaigns named "${value.name}"`,
        expected,
      })
    }
    table.set(value.name, value)
  }
  return table
}

function isOwnCampaign(value: unknown): value is OwnCampaign {
  return (value as Partial<OwnCampaign> | null | undefined)?.isCampaign === true
}

export function ownParts({ name, options }: OwnCampaign): CampaignParts {
  const trouble: CodeTrouble = { text: undefined }
  const { reduce, decide, tune } = options
  /** O3. */
  const guarded = <T>(what: string, call: () => T, otherwise: T): T => {
    try {
      return call()
    } catch (error) {
      trouble.text ??= `${what} of campaign ${name} failed: ${describe(error)}`
      return otherwise
    }
  }
  return {
    reducer: reduce === undefined ? unitReducer : guardedReducer(reduce, guarded),
    rule: () => (decide === undefined ? quotaRule : guardedRule(name, decide, guarded)),
    proposer: (state) => (tune === undefined ? undefined : guardedTuning(tune, state, guarded)),
    trouble,
  }
}

type Guarded = <T>(what: string, call: () => T, otherwise: T) => T

function guardedReducer(
  { initial, add, subtract, check }: CampaignReduce<unknown, never>,
  guarded: Guarded,
): Reducer {
  return {
    initial,
    check: (result, done) => {
      try {
        return check?.(result, done)
      } catch (error) {
        return `the result cannot be checked: ${describe(error)}`
      }
    },
    add: (total, result) => guarded('reduce.add', () => add(total, result as never) ?? null, total),
    ...(subtract !== undefined && {
      subtract: (total: unknown, result: unknown) =>
        guarded('reduce.subtract', () => subtract(total, result as never) ?? null, total),
    }),
  }
}

function guardedRule(
  name: string,
  decide: (view: CampaignView) => string | undefined,
  guarded: Guarded,
): DecisionRule {
  return {
    observe: (view) => guarded('decide', () => readVerdict(decide(view)), undefined),
    state: () => null,
    describe: () => ({ kind: 'own', definition: name }),
  }
}

/** It is shown and stored as a text. */
function readVerdict(verdict: unknown): string | undefined {
  if (verdict === undefined || typeof verdict === 'string') return verdict
  throw new TypeError('a verdict is a text, or undefined')
}

function guardedTuning(
  { initial, propose, learn }: CampaignTuning<unknown, unknown, never>,
  kept: unknown,
  guarded: Guarded,
): Proposer {
  let state = kept === null ? initial : (kept as { readonly own: unknown }).own
  return {
    propose: (_lease, unit) => guarded('tune.propose', () => propose(state, unit) ?? null, null),
    learn: (_lease, unit, result) => {
      state = guarded('tune.learn', () => learn(state, unit, result as never), state)
    },
    state: () => ({ own: state }),
    describe: () => ({ kind: 'own', state }),
  }
}
