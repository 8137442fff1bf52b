import { shield, type RunnerContext } from '../attempts/attempt.ts'
import { final } from '../attempts/retry.ts'
import { attemptDefaults } from '../attempts/runner.ts'
import { HeddleError, isError } from '../errors.ts'
import {
  isGraph,
  nameOfReference,
  sealGraph,
  type Graph,
  type GraphNode,
  type NodeRef,
  type OutputOf,
} from '../graph/graph.ts'
import {
  checkFlag,
  checkFunction,
  checkMethods,
  checkName,
  checkOptions,
  checkRecord,
  checkText,
  type OptionNames,
} from '../kernel/check.ts'
import { isThenable } from '../kernel/call.ts'
import type { Clock } from '../kernel/clock.ts'
import { kernelOf } from '../kernel/kernel.ts'
import { NameMap } from '../kernel/name-map.ts'
import { Slices } from '../kernel/slices.ts'
import { afterReactions } from '../kernel/turn.ts'
import { checkWait } from '../kernel/waiters.ts'
import type { Places } from '../places/find-place.ts'
import { loopPlace } from '../places/loop.ts'
import { sharedThreadPlace, threadPlace } from '../places/thread.ts'
import type { NodeContext } from '../scheduler/attempt.ts'
import type { RunResult } from '../scheduler/result.ts'
import {
  Scheduler,
  growthOf,
  type AddOptions,
  type SchedulerOptions,
} from '../scheduler/scheduler.ts'
import { parkedInThread } from '../threads/inside.ts'
import { checkRunKey } from '../journal/checks.ts'
import type { CommitGuard } from '../journal/journal.ts'
import { retryOf } from '../journal/retry.ts'
import { newRunId } from '../journal/run-id.ts'
import { Grower } from './grower.ts'
import type { AttemptContext } from './growth-host.ts'
import {
  addOptionsOf,
  checkInputs,
  dependenciesOf,
  placeNodes,
  runJob,
  withInput,
  withNodeName,
  type PlacedNode,
  type PlacedNodes,
} from './placed.ts'
import { checkArtifacts, RunArtifacts, type ArtifactOptions } from './run-artifacts.ts'
import { checkThreads, ownThreads, threadStopTime, type ThreadOptions } from './run-threads.ts'
import type * as SessionModule from './session.ts'
import type { JournalOptions, RecordedRun, RunModule, Session } from './session.ts'

export interface RunOptions
  extends Omit<SchedulerOptions, 'unknown' | 'allowCycles' | 'keepOpen'>, JournalOptions {
  /** Aborting it cancels the run at once. */
  readonly signal?: AbortSignal
  /** Milliseconds from its start after which the run is cancelled; 0 has passed already. No limit when absent. */
  readonly deadline?: number
  /** Other places than this process's loop and its shared thread pool. */
  readonly places?: Places
  /** Threads of its own instead of those that all runs of the process share: how many, and how much memory each may take. */
  readonly threads?: ThreadOptions
  /** Limits and place of what jobs write with `ctx.artifact()`. */
  readonly artifacts?: ArtifactOptions
  /** Words that are recorded with the run and listed with it: what it was started from, by what. */
  readonly labels?: Readonly<Record<string, string>>
}

const optionNames = {
  concurrency: 1,
  retries: 1,
  retryBaseDelay: 1,
  timeout: 1,
  resources: 1,
  capacity: 1,
  aging: 1,
  cancelGrace: 1,
  abortGrace: 1,
  observer: 1,
  kernel: 1,
  journal: 1,
  key: 1,
  resume: 1,
  from: 1,
  allowChanges: 1,
  title: 1,
  module: 1,
  journalRetry: 1,
  onJournalTrouble: 1,
  signal: 1,
  deadline: 1,
  places: 1,
  labels: 1,
  artifacts: 1,
  threads: 1,
} satisfies OptionNames<RunOptions>

const placeNames = { loop: 1, thread: 1, fleet: 1 } satisfies OptionNames<Places>

const moduleNames = { file: 1, args: 1 } satisfies OptionNames<RunModule>

/** The values that the scheduler does not check itself: before the journal has anything of the run. */
function checkValues(options: RunOptions): void {
  const { signal, deadline, places = {}, journal, resume = false, allowChanges, title } = options
  checkWait({ signal, deadline })
  checkOptions(places, placeNames, 'places')
  for (const [name, place] of Object.entries(places)) {
    if (place !== undefined) checkMethods(`places.${name}`, place, ['run'], 'a place')
  }
  if (journal !== undefined && typeof journal !== 'string') {
    const expected = "an address ('memory', 'sqlite:runs.db'), or a journal that is open"
    checkMethods('journal', journal, ['openRun', 'resumeRun'], expected)
  }
  if (typeof resume !== 'boolean' && typeof resume !== 'string') {
    const expected = 'the id of a run, or true for the last one'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'resume', value: resume, expected })
  }
  if (options.key !== undefined) checkRunKey(options.key)
  if (options.from !== undefined) checkName('from', options.from)
  if (options.journalRetry !== undefined) retryOf(options.journalRetry)
  if (options.onJournalTrouble !== undefined) {
    checkFunction('onJournalTrouble', options.onJournalTrouble)
  }
  if (allowChanges !== undefined) checkFlag('allowChanges', allowChanges)
  if (title !== undefined) checkText('title', title)
  if (options.module !== undefined) checkModule(options.module)
  if (options.artifacts !== undefined) checkArtifacts(options.artifacts)
  if (options.threads !== undefined) checkThreads(options.threads)
  if (options.labels !== undefined) {
    checkRecord('labels', options.labels, "an object of texts: { graph: 'nightly' }")
    for (const [name, text] of Object.entries(options.labels)) checkText(`labels.${name}`, text)
  }
}

function checkModule(module: RunModule): void {
  checkRecord('module', module, "an object: { file: '/work/build.ts', args: [] }")
  checkOptions(module, moduleNames, 'module')
  checkText('module.file', module.file)
  for (const [i, arg] of (module.args ?? []).entries()) checkText(`module.args[${i}]`, arg)
}

function checkGraph(graph: Graph): void {
  if (isGraph(graph)) return
  const expected = 'a graph: new Graph()'
  throw new HeddleError('HDL_BAD_OPTION', { option: 'graph', value: graph, expected })
}

/** How a graph's run ended, with typed access to results. */
export interface GraphResult extends RunResult {
  /** Its id in the journal, where there is one. */
  readonly run: string | undefined
  /**
   * What a node returned.
   * @throws `HDL_NO_RESULT` when it did not succeed, with its error as cause; `HDL_UNKNOWN_NODE` for a reference that
   *   belongs to another graph.
   */
  of<R extends NodeRef>(node: R): OutputOf<R>
}

/** A run under way: pause, resume, cancel and explain through its scheduler. */
export interface Run {
  /** Its id in the journal, where there is one. */
  readonly id: string | undefined
  /** True when nothing runs here: the result is that of a run that has ended. Its scheduler is empty. */
  readonly isRecorded: boolean
  /** Whether an earlier process has begun the run. */
  readonly isResumed: boolean
  readonly scheduler: Scheduler
  readonly result: Promise<GraphResult>
  /**
   * Sends a signal: the job that waits for it with `ctx.waitFor(name)` continues with the value. One that no job waits for
   * yet is kept. With a journal it is durable when this resolves, and delivered once, also after a restart.
   *
   * *Cancellation*: none; it writes one message.
   * @throws `HDL_RUN_ENDED` after the end of the run; `HDL_NOT_CLONEABLE` for a value that a journal cannot keep.
   */
  send(name: string, value?: unknown): Promise<void>
}

/**
 * Runs a graph to its end. Resolves also when jobs failed: look at `ok`.
 *
 * *Cancellation*: aborting `signal`, or `deadline` running out, cancels the run; the promise still
 * resolves, with `ok: false`.
 * While it waits for a run of another process with its key, `signal` ends the wait with `HDL_CANCELLED`, and the run
 * is not touched.
 * *Fairness*: first ready, first started, within a priority.
 * @throws `HDL_PLACE_UNAVAILABLE` before anything has started; with a journal also `HDL_LOCKED`,
 * `HDL_UNKNOWN_RUN`, `HDL_GRAPH_CHANGED`, and `HDL_STORE_FAILED` when it cannot be
 * written.
 */
export async function run(graph: Graph, options: RunOptions = {}): Promise<GraphResult> {
  const started = await startRun(graph, options)
  return started.result
}

/**
 * Starts a graph and gives control over the run.
 *
 * Nothing has started when it resolves: the first nodes start as soon as the code that was waiting for it
 * gives the loop back. So the id is known, and the run can be paused, before there is anything to see.
 *
 * *Cancellation*: waits only for the journal to open; cancel the run through `signal` or its scheduler.
 * *Fairness*: none needed.
 */
export async function startRun(graph: Graph, options: RunOptions = {}): Promise<Run> {
  // A program and its thread jobs may share one file. A thread that imports the file to get at a job
  // must not run the program again: there, this call simply never returns.
  if (parkedInThread()) return new Promise(() => {})
  checkOptions(options, optionNames)
  checkGraph(graph)
  const {
    signal,
    deadline,
    places = {},
    journal,
    key: _key,
    resume: _resume,
    from: _from,
    allowChanges: _allowChanges,
    title: _title,
    module: _module,
    journalRetry: _journalRetry,
    onJournalTrouble: _onJournalTrouble,
    labels,
    artifacts: artifactOptions = {},
    threads,
    ...limits
  } = options
  checkValues(options)
  const kernel = kernelOf(options)
  const { clock } = kernel
  sealGraph(graph)
  const pool = threads && ownThreads(threads)
  const thread = pool === undefined ? sharedThreadPlace() : threadPlace(pool)
  const available: Places = { loop: loopPlace, thread, ...places }
  const nodes: PlacedNodes = new NameMap<PlacedNode>()
  await placeNodes(nodes, { graph, prefix: '', level: 0 }, available, clock)
  const scheduler = new Scheduler(limits)
  await checkInputs(nodes.values(), clock, limits.timeout ?? attemptDefaults.timeout, signal)
  const recorded = plainLimits(limits)
  const journaled = {
    ...recorded,
    ...(labels !== undefined && { labels: { ...labels } }),
    ...(threads !== undefined && { threads: { ...threads } }),
  }
  // What add() would refuse is found before the journal has anything of the run.
  if (journal !== undefined) await checkLimits(nodes, recorded, clock)
  const session = await connect(graph, options, journaled)
  if (session !== undefined && 'recorded' in session) {
    const result = Promise.resolve(graphResult(session.recorded, session.runId, graph))
    const send = async (): Promise<never> => {
      throw new HeddleError('HDL_RUN_ENDED', { action: 'send()' })
    }
    return { id: session.runId, isRecorded: true, isResumed: true, scheduler, result, send }
  }
  const growth = growthOf(scheduler)
  if (session !== undefined) {
    growth.setIdentity(session.runId)
    scheduler.observe(session.recorder.observe)
    session.steer(scheduler)
  }
  try {
    await addNodes(scheduler, nodes, session, clock)
  } catch (error) {
    // The journal must not stay locked for that.
    await session?.close()
    throw error
  }
  const store = artifactOptions.store ?? session?.artifacts
  const artifacts =
    store &&
    new RunArtifacts(session?.runId ?? newRunId(kernel), store, artifactOptions.quota, growth)
  const leftovers = (context: RunnerContext): Promise<unknown> | undefined => {
    const objection = growth.objectionTo(context as AttemptContext)
    if (objection !== undefined) throw objection
    return artifacts?.pending(context)
  }
  const grower = new Grower({
    growth,
    clock,
    nodes,
    places: available,
    session,
    record: (context, outcome, node, part) =>
      session === undefined
        ? withArtifacts(artifacts, context, outcome)
        : record(scheduler, context, outcome, leftovers, (value, guard) =>
            session.recorder.partSucceeded(node, context.attempt, part, value, guard),
          ),
    addNode: (parent, placed, done) =>
      addNode(placed, done, (name, added) => growth.add(parent, name, added)),
  })
  const work = (name: string, given: NodeContext): unknown => {
    const context = given as AttemptContext
    const placed = nodes.get(name)!
    const call = (): unknown =>
      placed.node.grows === undefined ? execute(placed, context) : grower.run(placed, context)
    if (session === undefined) return withArtifacts(artifacts, context, call())
    const outcome = session.begin(context, session.setAside.get(name) ?? 0, call)
    return record(scheduler, context, outcome, leftovers, (value, guard) =>
      session.recorder.succeeded(name, context.attempt, value, guard),
    )
  }
  const running = new Promise<void>(afterReactions).then(() =>
    scheduler.run(work, { signal, deadline }),
  )
  return {
    id: session?.runId,
    isRecorded: false,
    isResumed: session?.isResumed ?? false,
    scheduler,
    result: conclude(running, session, graph, async () => {
      grower.close()
      await pool?.stop({ deadline: threadStopTime })
    }),
    send: async (name, value) => {
      checkName('name', name)
      if (scheduler.state === 'finished' || scheduler.state === 'cancelled') {
        throw new HeddleError('HDL_RUN_ENDED', { action: 'send()' })
      }
      if (session === undefined) grower.receive(name, value)
      else await session.send(name, value)
    },
  }
}

/** Kept: to ask the loader again takes 0.5 ms. */
let sessionModule: typeof SessionModule | undefined

/** The connection to the journal. Loaded only here: most programs run without, and need not pay for it. */
async function connect(
  graph: Graph,
  options: RunOptions,
  limits: Readonly<Record<string, unknown>>,
): Promise<Session | RecordedRun | undefined> {
  const { journal, resume, key, from } = options
  const isRecorded = journal !== undefined || key !== undefined || from !== undefined
  if (!isRecorded && !resume) return undefined
  sessionModule ??= await import('./session.ts')
  return sessionModule.openSession(graph, { ...options, limits }, kernelOf(options))
}

async function checkLimits(
  nodes: PlacedNodes,
  limits: SchedulerOptions,
  clock: Clock,
): Promise<void> {
  const trial = new Scheduler(limits)
  const slices = new Slices(clock)
  for (const placed of nodes.values()) {
    const own = addOptionsOf(placed)
    if (own !== undefined) withNodeName(placed.name, () => trial.add(placed.name, own))
    if (slices.due) await slices.next()
  }
}

async function addNodes(
  scheduler: Scheduler,
  nodes: PlacedNodes,
  session: Session | undefined,
  clock: Clock,
): Promise<void> {
  const slices = new Slices(clock)
  const add = (name: string, options: AddOptions): boolean => scheduler.add(name, options)
  for (const placed of nodes.values()) {
    const isDone = session?.finished.has(placed.name) === true
    const done = isDone ? { value: session.finished.get(placed.name) } : undefined
    addNode(placed, done, add)
    if (slices.due) await slices.next()
  }
  for (const { name, after, value } of session?.ended ?? []) {
    scheduler.add(name, { after, done: true, value })
    if (slices.due) await slices.next()
  }
}

function addNode(
  placed: PlacedNode,
  done: { readonly value: unknown } | undefined,
  add: (name: string, options: AddOptions) => boolean,
): void {
  const after = dependenciesOf(placed)
  const own = addOptionsOf(placed)
  const end = done === undefined ? undefined : { done: true, value: done.value }
  const options = own === undefined && end === undefined ? { after } : { ...own, ...end, after }
  withNodeName(placed.name, () => add(placed.name, options))
}

function graphResult(ended: RunResult, id: string | undefined, graph: Graph): GraphResult {
  const find = (name: string): GraphNode | undefined => graph.get(name)
  return {
    ...ended,
    run: id,
    of: <R extends NodeRef>(node: R) => ended.valueOf(nameOfReference(node, find)) as OutputOf<R>,
  }
}

/** Everything is on disk before the caller hears of the end. */
async function conclude(
  running: Promise<RunResult>,
  session: Session | undefined,
  graph: Graph,
  close: () => Promise<void>,
): Promise<GraphResult> {
  try {
    try {
      const ended = await running
      const { duration = ended.duration } = { duration: session?.recorder.elapsed }
      return graphResult({ ...ended, duration }, session?.runId, graph)
    } finally {
      await session?.close()
    }
  } finally {
    await close()
  }
}

/**
 * A success counts once it is in the journal. A journal that cannot be written ends the run.
 *
 * From the moment in which its value is encoded nothing else can end the attempt: a timeout or a cancel would then
 * make a failure of what the journal holds as a success. Before, they end it, and nothing is written
 * (docs/decisions/0116).
 *
 * `leftovers`: what the attempt still writes when its job has returned; it throws when the job must not have returned yet.
 */
function record(
  scheduler: Scheduler,
  context: RunnerContext,
  outcome: unknown,
  leftovers: (context: RunnerContext) => Promise<unknown> | undefined,
  makeDurable: (value: unknown, guard: CommitGuard) => Promise<void>,
): unknown {
  const fail = (error: unknown): never => {
    if (!isError(error, 'HDL_NOT_CLONEABLE')) {
      scheduler.cancel({ source: 'shutdown', reason: 'the journal cannot be written', abort: true })
    }
    throw final(error as Error)
  }
  const commit = (value: unknown): unknown => {
    const pending = leftovers(context)
    return pending === undefined ? write(value) : pending.then(() => commit(value))
  }
  const write = (value: unknown): unknown => {
    // How an aborted attempt has ended is known. Any other ends with this error: not by the cancel that follows.
    const onFailure = (error: unknown): unknown => (shield(context) ? fail(error) : value)
    if (context.cancelled) return value
    try {
      return makeDurable(value, new ShieldGuard(context)).then(() => value, onFailure)
    } catch (error) {
      return onFailure(error)
    }
  }
  // Awaiting what is there already would cost a job that does little as much as the job itself.
  return isThenable(outcome) ? Promise.resolve(outcome).then(commit) : commit(outcome)
}

/** A job has ended when its artifacts are written, too. Without a journal, which waits for them itself. */
function withArtifacts(
  artifacts: RunArtifacts | undefined,
  context: RunnerContext,
  outcome: unknown,
): unknown {
  if (artifacts === undefined) return outcome
  const finish = (value: unknown): unknown => {
    const pending = artifacts.pending(context)
    return pending === undefined ? value : pending.then(() => finish(value))
  }
  return isThenable(outcome) ? Promise.resolve(outcome).then(finish) : finish(outcome)
}

/** Shields the attempt when its result is encoded. */
class ShieldGuard implements CommitGuard {
  readonly #context: RunnerContext

  constructor(context: RunnerContext) {
    this.#context = context
  }

  get cancelled(): boolean {
    return this.#context.cancelled
  }

  close(): boolean {
    return shield(this.#context)
  }
}

/** The limits as the journal keeps them: without functions and clocks. */
function plainLimits(
  limits: SchedulerOptions,
): Omit<SchedulerOptions, 'kernel' | 'observer' | 'capacity'> {
  const { kernel: _kernel, observer: _observer, capacity: _capacity, ...plain } = limits
  return plain
}

function execute(placed: PlacedNode, context: AttemptContext): unknown {
  const { node, place } = placed
  // Most inputs are there already.
  if (typeof node.input !== 'function') return runJob(node.job, node.input, place, context)
  return withInput(placed, context.resultOf, (input) => runJob(node.job, input, place, context))
}
