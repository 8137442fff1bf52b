import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ArtifactContent, ArtifactInfo } from '../artifacts/artifact-store.ts'
import { HeddleError } from '../errors.ts'
import {
  checkCount,
  checkDuration,
  checkFlag,
  checkFunction,
  checkName,
  checkOptions,
  checkRecord,
  checkText,
  checkTimeout,
  checkWord,
  type OptionNames,
} from '../kernel/check.ts'
import { bundleUrl } from '../kernel/own-file.ts'
import { checkPriority } from '../kernel/rank.ts'
import { checkRedact, type Redact } from './redact.ts'
import { checkSchema, type InputSchema } from './input-schema.ts'
import { describeConflict, locateDefinition, type Definition } from './job-definition.ts'

/** Where a job runs: on the event loop, in a thread of this process, or on another machine. */
export type PlaceName = 'loop' | 'thread' | 'fleet'

/** The context of a running job, besides its input. */
export interface JobContext {
  /** The node's name in its graph. */
  readonly name: string
  /** Counts from 0, as in the back-off formula. */
  readonly attempt: number
  /** Aborts on cancel and at the attempt's timeout. Made on first use: reading it costs, not having it does not. */
  readonly signal: AbortSignal
  /**
   * Whether the job should stop. Unlike `signal` it is seen by code that never awaits: in a thread
   * it is read from shared memory.
   */
  readonly cancelled: boolean
  /**
   * Says something about this attempt: shown by `heddle run`, kept in the journal. A string is logged as it is,
   * anything else as `util.inspect()` shows it.
   */
  readonly log: (text: unknown) => void
  /** Says how far this attempt has come: from 0 to 1, and in words. A text of more than 1,000 characters is cut. */
  readonly progress: (fraction: number, text?: string) => void
  /**
   * Names this piece of work for other systems: the same in each attempt, after a restart, and in another process that
   * takes the run over. Visible ASCII, at most 200 characters.
   */
  readonly idempotencyKey: string
  /**
   * The trace that this attempt is a part of, as the header `traceparent` of W3C Trace Context: the parent of spans that the
   * job makes, wherever it runs. Undefined where nothing is traced.
   */
  readonly traceparent?: string | undefined
  /**
   * Writes a file that is kept with the run: text, bytes, or a stream of either. It is durable when this resolves, and
   * stays when the attempt fails later; a later attempt of the same node replaces it. The job ends when it is written, also
   * when it does not wait for it.
   *
   * @throws `HDL_NO_ARTIFACTS` in a run without a journal; `HDL_ARTIFACT_QUOTA`; `HDL_ARTIFACT_TAKEN` for a name that another
   *   node of the run has used.
   */
  readonly artifact: (name: string, content: ArtifactContent) => Promise<ArtifactInfo>
}

/** How a step is identified among others. */
export interface StepOptions {
  /** Names the step over restarts. Its job and the order of calls do when absent. */
  readonly key?: string
}

/** How long {@link LoopContext.waitFor} waits. */
export interface SignalOptions {
  /** Milliseconds after which it rejects with `HDL_TIMEOUT`, counted from the first call, also over restarts. No limit when absent. */
  readonly deadline?: number
}

/** The input may be left out only where the job takes none. */
type StepArguments<I> = undefined extends I
  ? [input?: I, options?: StepOptions]
  : [input: I, options?: StepOptions]

/**
 * The context of a job on the loop: it may do its work in durable steps (docs/guide/steps.md). While it waits for one
 * it is suspended: it holds no permit and its timeout stops.
 */
export interface LoopContext extends JobContext {
  /**
   * Runs a job as a step. With a journal a finished step is not run again, after a restart or in a later attempt: its
   * result is read back.
   *
   * @throws the error of the job; `HDL_STEP_CHANGED` when the journal knows the step with another job or input.
   */
  readonly run: <I, O, V>(job: Job<I, O, V>, ...step: StepArguments<I>) => Promise<O>
  /** Waits this many milliseconds, also over restarts. */
  readonly sleep: (milliseconds: number) => Promise<void>
  /**
   * Waits for a signal to the run, sent by `heddle runs send` for instance, and returns its value.
   *
   * @throws `HDL_TIMEOUT` when there is none by its deadline.
   */
  readonly waitFor: <T = unknown>(signal: string, options?: SignalOptions) => Promise<T>
}

export type JobFunction<I, O, C extends JobContext = JobContext> = (
  input: I,
  context: C,
) => O | Promise<O>

export interface JobOptions<I = unknown> {
  /** Unique in its module. */
  readonly name: string
  /** `loop` when absent. */
  readonly place?: PlaceName
  /** `import.meta.url` of the defining module, or its `__filename`: how a thread or another machine finds the job. */
  readonly module?: string
  /** How often a failed attempt is tried again. The run's own value when absent. */
  readonly retries?: number
  /**
   * Milliseconds: before attempt n it waits uniform(0, min(retryBaseDelay × 2ⁿ, 60 s)). The run's own value when absent. An error
   * made by `retryAfter()` says it for itself.
   */
  readonly retryBaseDelay?: number
  /** Milliseconds an attempt may take, more than 0; `Infinity` for no limit. The run's own value when absent. */
  readonly timeout?: number
  /** Its permits while it runs, besides one permit of its place: see {@link Needs}. */
  readonly needs?: NeedsOf<I>
  /** 0 is first, 9 is last. */
  readonly priority?: number
  /**
   * The schema of an input: any schema that follows https://standardschema.dev (zod, valibot, TypeBox with its
   * adapter). A wrong input is refused with the path of the wrong field, before anything starts where it is known by
   * then; the job gets the output of the schema.
   */
  readonly input?: InputSchema
  /**
   * Which version of the work this is: another one makes results of earlier versions worthless. It is recorded with each
   * node; a run is not resumed with another version unless changes are allowed, and then its nodes run again.
   */
  readonly version?: string
  /** Served over HTTP, tenants that send the same input share one computation and its result. False when absent. */
  readonly shared?: boolean
  /**
   * What people are not shown. Names of fields, at any depth: in results that runs, exports and the dashboard show they
   * are `[redacted]`, and what these fields of the input hold is replaced in log lines, progress and errors of the job.
   * `true`: the whole result and every text. Callers of a served job get its result as it is, and stores hold the data
   * needed to continue: see docs/guide/guarantees.md.
   */
  readonly redact?: Redact
  /** The capabilities that a worker of the fleet must have to run it: `['gpu']`. For `place: 'fleet'`. */
  readonly capabilities?: readonly string[]
}

const optionNames = {
  name: 1,
  input: 1,
  version: 1,
  place: 1,
  module: 1,
  retries: 1,
  retryBaseDelay: 1,
  timeout: 1,
  needs: 1,
  priority: 1,
  shared: 1,
  redact: 1,
  capabilities: 1,
} satisfies OptionNames<JobOptions>

/**
 * The permits of an attempt besides one permit of its place, by name: a number of permits, or of starts of a rate
 * (`{ db: 1, api: 1 }`), or a key where the limit is one for each key (`{ tenant: 'acme' }`). Its own place among
 * them says how many permits of that it takes: `{ loop: 0 }` for a job that only waits. 0 of anything else is none of
 * it.
 */
export type Needs = Readonly<Record<string, number | string>>

/**
 * The same, or a function that computes it from the input. The input is made for the function and dropped again, so
 * that waiting nodes hold none; it is made once more for the attempt.
 */
export type NeedsOf<I> = Needs | ((input: I) => Needs)

/** The limits of attempts that both a job and a node of it can set. */
export type OwnLimits = Pick<
  JobOptions,
  'retries' | 'retryBaseDelay' | 'timeout' | 'needs' | 'priority'
>

/** @throws `HDL_BAD_OPTION`. Whether the run has these resources is checked when the run starts. */
export function checkOwnLimits(limits: OwnLimits): void {
  const { retries, retryBaseDelay, timeout, needs, priority } = limits
  if (retryBaseDelay !== undefined) checkDuration('retryBaseDelay', retryBaseDelay)
  if (retries !== undefined) checkCount('retries', retries, 0, true)
  if (timeout !== undefined) checkTimeout('timeout', timeout)
  if (priority !== undefined) checkPriority(priority)
  if (needs === undefined || typeof needs === 'function') return
  checkRecord('needs', needs, 'an object, { db: 1 }, or a function that makes it from the input')
}

declare const taken: unique symbol

/**
 * A named, typed unit of work. Made by {@link job}. `I` is its input, `V` the argument of its function: the same, or
 * the output of its schema.
 */
export interface Job<I = unknown, O = unknown, V = I> extends JobOptions<V> {
  readonly place: PlaceName
  readonly run: JobFunction<V, O>
  /** Exists only for the compiler. */
  readonly [taken]?: (input: I) => void
}

/** Jobs by module, then by name: how a thread finds the function after importing the module. */
interface Defined {
  readonly modules: Map<string, Map<string, Job>>
  /** Where each job was defined. Another version of the package may know nothing of it. */
  definitions?: WeakMap<Job, Definition>
  /** Called after each definition. Set by the entry of a thread. */
  onDefine: (() => void) | undefined
}

// A program may hold several copies of this package; a thread of one must find the jobs of all.
const registryKey = Symbol.for('heddle.jobs')
const globals = globalThis as { [registryKey]?: Defined }
const defined = (globals[registryKey] ??= { modules: new Map(), onDefine: undefined })

/**
 * Defines a job.
 *
 * A job with `place: 'thread'` is defined at the top level of its module and names that module, so
 * that a thread can import it. So the whole module is evaluated once more in each thread that runs one of its jobs:
 * its top level should define things and not do them. `run()` and `startRun()` there do nothing in a thread.
 * Moving a job to another place is changing one word.
 *
 * @throws `HDL_THREAD_MODULE` when a job that leaves the loop does not say where it is defined;
 *   `HDL_DUPLICATE_JOB` when its module has a job of that name already, and one of the two leaves
 *   the loop: a thread would find only one of them.
 * @example
 * const square = job({ name: 'square' }, (n: number) => n * n)
 */
export function job<V, O, I = V>(
  options: JobOptions<V> & { readonly place?: 'loop'; readonly input?: InputSchema<V, I> },
  run: JobFunction<V, O, LoopContext>,
): Job<I, O, V>
export function job<V, O, I = V>(
  options: JobOptions<V> & { readonly module: string; readonly input?: InputSchema<V, I> },
  run: JobFunction<V, O>,
): Job<I, O, V>
export function job<V, O>(options: JobOptions<V>, run: JobFunction<V, O, never>): Job<V, O> {
  checkOptions(options, optionNames)
  checkName('name', options.name)
  checkFunction('run', run)
  checkOwnLimits(options as OwnLimits)
  if (options.module !== undefined) checkText('module', options.module)
  if (options.capabilities !== undefined) checkCapabilities(options.capabilities)
  if (options.input !== undefined) checkSchema(options.input)
  if (options.version !== undefined) checkName('version', options.version)
  if (options.shared !== undefined) checkFlag('shared', options.shared)
  if (options.redact !== undefined) checkRedact(options.redact)
  const module = addressOf(options)
  const place = checkWord('place', options.place ?? 'loop', ['loop', 'thread', 'fleet'])
  if (place !== 'loop' && module === undefined) {
    throw new HeddleError('HDL_THREAD_MODULE', { job: options.name })
  }
  const made: Job<V, O> = { ...options, place, run: run as JobFunction<V, O> }
  if (module === undefined) return made
  const found: Job<V, O> = { ...made, module }
  define(module, found as Job)
  return found
}

/**
 * The address of the module that defines the job. `__filename`, which CommonJS has, becomes an address. Where `module` was given
 * and is empty, the job is in a CommonJS bundle whose `import.meta` is empty, and the bundle is its module.
 */
function addressOf(options: { readonly module?: string | undefined }): string | undefined {
  const { module } = options
  if (module === undefined) return 'module' in options ? bundleUrl : undefined
  return path.isAbsolute(module) ? pathToFileURL(module).href : module
}

function checkCapabilities(capabilities: readonly string[]): void {
  const isList =
    Array.isArray(capabilities) && capabilities.every((each) => typeof each === 'string')
  if (isList) return
  throw new HeddleError('HDL_BAD_OPTION', {
    option: 'capabilities',
    value: capabilities,
    expected: "a list of names, such as ['gpu']",
  })
}

function define(module: string, made: Job): void {
  let jobs = defined.modules.get(module)
  if (jobs === undefined) defined.modules.set(module, (jobs = new Map()))
  const definitions = (defined.definitions ??= new WeakMap())
  const definition = locateDefinition(module)
  const earlier = jobs.get(made.name)
  // Two loop jobs of one name do no harm: they are called directly and never looked up.
  if (earlier !== undefined && (earlier.place !== 'loop' || made.place !== 'loop')) {
    const known = definitions.get(earlier)
    const conflict = known && describeConflict(known, definition)
    if (conflict !== undefined) {
      throw new HeddleError('HDL_DUPLICATE_JOB', { job: made.name, module, ...conflict })
    }
  }
  definitions.set(made, definition)
  jobs.set(made.name, made)
  defined.onDefine?.()
}

/** The jobs a module has defined so far in this thread. */
export function jobsOf(module: string): ReadonlyMap<string, Job> {
  return defined.modules.get(module) ?? new Map<string, Job>()
}

/** Calls `listener` after each definition in this thread. There is one listener. */
export function onDefine(listener: () => void): void {
  defined.onDefine = listener
}
