import { HeddleError, type Job } from '@heddle/core'
import {
  checkDuration,
  checkTimeout,
  checkFlag,
  checkFunction,
  checkOptions,
  checkText,
  checkWord,
  type OptionNames,
} from '@heddle/core/lowlevel'
import { findStep, stepRefusal } from './step-use.ts'

/** The input of the second stage: the result of the first one, and the requested index. */
export interface ItemInput<P> {
  readonly prepared: P
  /** 0 is the newest, then -1, -2 … */
  readonly index: number
}

/** Milliseconds; the server's own when absent. */
export interface StageLimits {
  /** From submit to start. */
  readonly queue?: number | undefined
  readonly prepare?: number | undefined
  readonly item?: number | undefined
}

/** Inputs that differ only in size: a computation for a larger one answers for a smaller one. */
export interface Superset<I> {
  /** The part that two inputs must share: plain data. Computed on the loop for every submit: it must be cheap. */
  readonly same: (input: I) => unknown
  /** How large an input is: at least 0. */
  readonly size: (input: I) => number
}

/** What is likely asked for next. */
export interface Prefetch<I> {
  /** The input that is computed ahead; undefined for none. */
  readonly input: (input: I) => I | undefined
  /** Milliseconds after the request of priority 0. 5,000 when absent. */
  readonly after?: number | undefined
}

/** A {@link Prefetch} with its delay. */
interface SetPrefetch<I> extends Prefetch<I> {
  readonly after: number
}

export interface ServeJobOptions<I, P, R> {
  /** The last part of `POST /jobs/:name`: letters, digits, `_` and `-`. */
  readonly name: string
  /** The first stage; without `item` its result is the only one. */
  readonly prepare: Job<I, P>
  /** The second stage: makes one result from the prepared data. */
  readonly item?: Job<ItemInput<P>, R> | undefined
  /** How many results `item` makes. 1 when absent. Asked on the loop for every submit: it must be cheap. */
  readonly total?: number | ((input: I) => number) | undefined
  /** Returns the fault of an input, or nothing: 400 instead of a failed job. Runs on the loop. */
  readonly check?: ((input: unknown) => string | undefined) | undefined
  /** Part of the handle: change it when the job computes something else, and stored results are not used. */
  readonly version?: string | undefined
  /** What happens to work that no caller waits for any more. `cancel` when absent. */
  readonly whenAbandoned?: 'cancel' | 'keep' | undefined
  /**
   * Whether tenants that send the same input share one computation and its result. That of the first stage's job when
   * absent, else false.
   */
  readonly shared?: boolean | undefined
  /**
   * Which inputs answer for each other: a request is answered by a running or stored computation for an input that has
   * the same parts and is at least as large. Its indices and its handle are those of the larger one.
   */
  readonly superset?: Superset<I> | undefined
  /** After a request of priority 0: the computation at priority 3, when the server has room for it. */
  readonly prefetch?: Prefetch<I> | undefined
  readonly limits?: StageLimits | undefined
}

/** A job as the server knows it. Made by {@link serveJob}. */
export interface ServedJob {
  readonly name: string
  readonly prepare: Job
  readonly item: Job | undefined
  readonly version: string
  readonly whenAbandoned: 'cancel' | 'keep'
  readonly isShared: boolean
  readonly limits: StageLimits
  readonly superset: Superset<unknown> | undefined
  readonly prefetch: SetPrefetch<unknown> | undefined
  /** @throws the error of the job's own `total`; `HDL_BAD_OPTION` when it is not a count. */
  totalOf(input: unknown): number
  check(input: unknown): string | undefined
  /** Tells served jobs from jobs: modules export both. */
  readonly isServed: true
}

const optionNames = {
  name: 1,
  prepare: 1,
  item: 1,
  total: 1,
  check: 1,
  version: 1,
  whenAbandoned: 1,
  shared: 1,
  superset: 1,
  prefetch: 1,
  limits: 1,
} satisfies OptionNames<ServeJobOptions<unknown, unknown, unknown>>

const supersetNames = { same: 1, size: 1 } satisfies OptionNames<Superset<unknown>>
const prefetchNames = { input: 1, after: 1 } satisfies OptionNames<Prefetch<unknown>>
/** Milliseconds: a user who looks at a quick result asks for the whole of it by then, or not at all. */
const usualPrefetch = 5_000

const limitNames = { queue: 1, prepare: 1, item: 1 } satisfies OptionNames<StageLimits>

const namePattern = /^[A-Za-z0-9_-]{1,64}$/
const mostItems = 1_000_000

/**
 * Says how a job is served.
 *
 * @throws `HDL_BAD_OPTION`, `HDL_UNKNOWN_OPTION`.
 * @example
 * const square = job({ name: 'square' }, (n: number) => n * n)
 * serveJob({ name: 'square', prepare: square }).totalOf(3) // => 1
 */
export function serveJob<I, P, R = P>(options: ServeJobOptions<I, P, R>): ServedJob {
  const served = makeServedJob(options)
  for (const option of ['prepare', 'item'] as const) {
    const stage = served[option]
    const step = stage && findStep(stage)
    if (step === undefined) continue
    const expected = `a job without durable steps: ${stepRefusal(stage!.name, step)}`
    throw new HeddleError('HDL_BAD_OPTION', { option, value: stage!.name, expected })
  }
  return served
}

/**
 * A job that a module exports, as it is. One with durable steps may be there for a graph: submitting it is refused.
 *
 * @throws as {@link serveJob}.
 */
export function serveExported(job: Job): ServedJob {
  const step = findStep(job)
  const refusal = step && stepRefusal(job.name, step)
  return makeServedJob({ name: job.name, prepare: job, ...(refusal && { check: () => refusal }) })
}

function makeServedJob<I, P, R>(options: ServeJobOptions<I, P, R>): ServedJob {
  checkOptions(options, optionNames)
  const { name, prepare, item, total = 1, check, version = '', whenAbandoned = 'cancel' } = options
  const { limits = {} } = options
  checkJob('prepare', prepare as Job)
  if (item !== undefined) checkJob('item', item as Job)
  if (check !== undefined) checkFunction('check', check)
  if (typeof total !== 'function') checkTotal(total)
  checkText('version', version)
  checkWord('whenAbandoned', whenAbandoned, ['cancel', 'keep'])
  checkStageLimits(limits)
  const { superset } = options
  if (superset !== undefined) checkSuperset(superset)
  const prefetch = options.prefetch && checkPrefetch(options.prefetch)
  const { shared = prepare.shared ?? false } = options
  checkFlag('shared', shared)
  if (typeof name !== 'string' || !namePattern.test(name)) {
    const expected = 'at most 64 letters, digits, "_" and "-"'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'name', value: name, expected })
  }
  if (item === undefined && total !== 1) {
    const expected = '1 or nothing without `item`, which makes the others'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'total', value: total, expected })
  }
  return {
    name,
    prepare: prepare as Job,
    item: item as Job | undefined,
    version,
    whenAbandoned,
    isShared: shared,
    limits,
    superset: superset as Superset<unknown> | undefined,
    prefetch: prefetch as SetPrefetch<unknown> | undefined,
    totalOf: (input) => checkTotal(typeof total === 'number' ? total : total(input as I)),
    check: (input) => check?.(input),
    isServed: true,
  }
}

function checkJob(option: string, job: Job): void {
  if (typeof job === 'object' && job !== null && typeof job.run === 'function') return
  const expected = 'a job: job({ name }, function)'
  throw new HeddleError('HDL_BAD_OPTION', { option, value: job, expected })
}

function checkSuperset<I>(superset: Superset<I>): void {
  checkOptions(superset, supersetNames, 'superset')
  checkFunction('superset.same', superset.same)
  checkFunction('superset.size', superset.size)
}

function checkPrefetch<I>(prefetch: Prefetch<I>): SetPrefetch<I> {
  checkOptions(prefetch, prefetchNames, 'prefetch')
  const { input, after = usualPrefetch } = prefetch
  checkFunction('prefetch.input', input)
  return { input, after: checkDuration('prefetch.after', after) }
}

function checkStageLimits(limits: StageLimits): void {
  checkOptions(limits, limitNames, 'limits')
  for (const [name, limit] of Object.entries(limits)) {
    if (limit === undefined) continue
    if (name === 'queue') checkDuration('limits.queue', limit)
    else checkTimeout(`limits.${name}`, limit)
  }
}

function checkTotal(total: number): number {
  if (Number.isInteger(total) && total >= 1 && total <= mostItems) return total
  const expected = `a whole number from 1 to ${mostItems}`
  throw new HeddleError('HDL_BAD_OPTION', { option: 'total', value: total, expected })
}
