import { shield, type RunnerContext } from '../attempts/attempt.ts'
import { final } from '../attempts/retry.ts'
import { HeddleError, isError } from '../errors.ts'
import {
  nameOfReference,
  type Graph,
  type GraphNode,
  type NodeRef,
  type OutputOf,
} from '../graph/graph.ts'
import type { Needs, NeedsOf } from '../graph/job.ts'
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
import { findPlace, type Places } from '../places/find-place.ts'
import { loopPlace } from '../places/loop.ts'
import type { Place } from '../places/place.ts'
import { sharedThreadPlace } from '../places/thread.ts'
import type { NodeContext } from '../scheduler/attempt.ts'
import type { RunResult } from '../scheduler/result.ts'
import {
  Scheduler,
  type AddOptions,
  type NeedsFunction,
  type SchedulerOptions,
} from '../scheduler/scheduler.ts'
import { parkedInThread } from '../threads/inside.ts'
import type { CommitGuard } from '../journal/journal.ts'
import { retryOf } from '../journal/retry.ts'
import type * as SessionModule from './session.ts'
import type { JournalOptions, RecordedRun, Session } from './session.ts'

export interface RunOptions
  extends Omit<SchedulerOptions, 'unknown' | 'allowCycles' | 'keepOpen'>, JournalOptions {
  /** Aborting it cancels the run at once. */
  readonly signal?: AbortSignal
  /** Milliseconds from its start after which the run is cancelled; 0 has passed already. No limit when absent. */
  readonly deadline?: number
  /** Other places than this process's loop and its shared thread pool. */
  readonly places?: Places
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
  allowChanges: 1,
  title: 1,
  journalRetry: 1,
  onJournalTrouble: 1,
  signal: 1,
  deadline: 1,
  places: 1,
  labels: 1,
} satisfies OptionNames<RunOptions>

const placeNames = { loop: 1, thread: 1, fleet: 1 } satisfies OptionNames<Places>

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
  if (options.key !== undefined) checkName('key', options.key)
  if (options.journalRetry !== undefined) retryOf(options.journalRetry)
  if (options.onJournalTrouble !== undefined) {
    checkFunction('onJournalTrouble', options.onJournalTrouble)
  }
  if (allowChanges !== undefined) checkFlag('allowChanges', allowChanges)
  if (title !== undefined) checkText('title', title)
  if (options.labels !== undefined) {
    checkRecord('labels', options.labels, "an object of texts: { graph: 'nightly' }")
    for (const [name, text] of Object.entries(options.labels)) checkText(`labels.${name}`, text)
  }
}

/** Another copy of the package has another class: what counts is what a graph can do. */
function checkGraph(graph: Graph): void {
  if (typeof graph?.nodes === 'function') return
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
  readonly scheduler: Scheduler
  readonly result: Promise<GraphResult>
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
    allowChanges: _allowChanges,
    title: _title,
    journalRetry: _journalRetry,
    onJournalTrouble: _onJournalTrouble,
    labels,
    ...limits
  } = options
  checkValues(options)
  const { clock } = kernelOf(options)
  const nodes = await placeNodes(graph, places, clock)
  const scheduler = new Scheduler(limits)
  const recorded = plainLimits(limits)
  const journaled = labels === undefined ? recorded : { ...recorded, labels: { ...labels } }
  // What add() would refuse is found before the journal has anything of the run.
  if (journal !== undefined) await checkLimits(nodes, recorded, clock)
  const session = await connect(graph, options, journaled)
  if (session !== undefined && 'recorded' in session) {
    const result = Promise.resolve(graphResult(session.recorded, session.runId, nodes))
    return { id: session.runId, isRecorded: true, scheduler, result }
  }
  if (session !== undefined) {
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
  const work = (name: string, given: NodeContext): unknown => {
    const context = given as NodeContext & RunnerContext
    const outcome = execute(nodes.get(name)!, context, nodes)
    return session === undefined ? outcome : record(session, scheduler, context, outcome)
  }
  const running = new Promise<void>(afterReactions).then(() =>
    scheduler.run(work, { signal, deadline }),
  )
  return {
    id: session?.runId,
    isRecorded: false,
    scheduler,
    result: conclude(running, session, nodes),
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
  const { journal, resume, key } = options
  if (journal === undefined && !resume && key === undefined) return undefined
  sessionModule ??= await import('./session.ts')
  return sessionModule.openSession(graph, { ...options, limits }, kernelOf(options))
}

interface PlacedNode {
  readonly name: string
  readonly node: GraphNode
  readonly place: Place
}

type PlacedNodes = NameMap<PlacedNode>

async function placeNodes(graph: Graph, places: Places, clock: Clock): Promise<PlacedNodes> {
  const nodes = new NameMap<PlacedNode>()
  const available = { loop: loopPlace, thread: sharedThreadPlace(), ...places }
  const slices = new Slices(clock)
  for (const node of graph.nodes()) {
    nodes.add({ name: node.name, node, place: findPlace(node.name, node.job.place, available) })
    if (slices.due) await slices.next()
  }
  return nodes
}

async function checkLimits(
  nodes: PlacedNodes,
  limits: SchedulerOptions,
  clock: Clock,
): Promise<void> {
  const trial = new Scheduler(limits)
  const slices = new Slices(clock)
  for (const { node, place } of nodes.values()) {
    const own = limitsOf(node, nodes)
    if (own !== undefined) addNode(trial, node.name, { ...own, ...placement(place, node) })
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
  for (const { node, place } of nodes.values()) {
    const { name, after } = node
    const limits = limitsOf(node, nodes)
    const isDone = session?.finished.has(name) === true
    if (limits === undefined && !isDone && place === loopPlace) addNode(scheduler, name, { after })
    else {
      const done = isDone ? { done: true, value: session.finished.get(name) } : undefined
      addNode(scheduler, name, { ...limits, ...placement(place, node), ...done, after })
    }
    if (slices.due) await slices.next()
  }
}

/** A wrong limit is told with the node that has it. */
function addNode(scheduler: Scheduler, name: string, options: AddOptions): void {
  try {
    scheduler.add(name, options)
  } catch (error) {
    if (!isError(error, 'HDL_BAD_OPTION')) throw error
    const { option, value, expected } = error.details
    throw new HeddleError('HDL_BAD_OPTION', {
      option: `${option} of ${name}`,
      value,
      expected,
    })
  }
}

function graphResult(ended: RunResult, id: string | undefined, nodes: PlacedNodes): GraphResult {
  const find = (name: string): GraphNode | undefined => nodes.get(name)?.node
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
  nodes: PlacedNodes,
): Promise<GraphResult> {
  try {
    return graphResult(await running, session?.runId, nodes)
  } finally {
    await session?.close()
  }
}

/**
 * A success counts once it is in the journal. A journal that cannot be written ends the run.
 *
 * From the moment in which its value is encoded nothing else can end the attempt: a timeout or a cancel would then
 * make a failure of what the journal holds as a success. Before, they end it, and nothing is written
 * (docs/decisions/0116).
 */
function record(
  session: Session,
  scheduler: Scheduler,
  context: RunnerContext,
  outcome: unknown,
): unknown {
  const fail = (error: unknown): never => {
    if (!isError(error, 'HDL_NOT_CLONEABLE')) {
      scheduler.cancel({ source: 'shutdown', reason: 'the journal cannot be written', abort: true })
    }
    throw final(error as Error)
  }
  const commit = (value: unknown): unknown => {
    // How an aborted attempt has ended is known. Any other ends with this error: not by the cancel that follows.
    const onFailure = (error: unknown): unknown => (shield(context) ? fail(error) : value)
    if (context.cancelled) return value
    try {
      const guard = new ShieldGuard(context)
      const durable = session.recorder.succeeded(context.name, context.attempt, value, guard)
      return durable.then(() => value, onFailure)
    } catch (error) {
      return onFailure(error)
    }
  }
  // Awaiting what is there already would cost a job that does little as much as the job itself.
  return isThenable(outcome) ? Promise.resolve(outcome).then(commit) : commit(outcome)
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

type Limits = Pick<GraphNode['options'], 'retries' | 'timeout' | 'needs' | 'priority'>

/** Which permits of the process a node takes. */
function placement(place: Place, { job }: GraphNode): Pick<AddOptions, 'place'> {
  if (place === loopPlace) return {}
  return { place: place.permitsOf?.(job) ?? { place: job.place, shared: 'none' } }
}

/** A node's own limits go over those of its job, and those over the run's. Most nodes have none. */
function limitsOf(node: GraphNode, nodes: PlacedNodes): Omit<AddOptions, 'after'> | undefined {
  const { job, options } = node
  if (!hasLimits(job) && !hasLimits(options)) return undefined
  const limits = { ...whatIsSet(job), ...whatIsSet(options) }
  const needs = mergeNeeds(job.needs, options.needs)
  if (typeof needs !== 'function') return needs === undefined ? limits : { ...limits, needs }
  return {
    ...limits,
    // The input is made here for the function alone, and again for the attempt: what waits holds none.
    needs: (resultOf) => withInput(node, { resultOf, nodes }, needs) as ReturnType<NeedsFunction>,
  }
}

/** What a node needs goes over what its job needs, name by name. */
function mergeNeeds(
  ofJob: NeedsOf<unknown> | undefined,
  ofNode: NeedsOf<unknown> | undefined,
): NeedsOf<unknown> | undefined {
  if (ofJob === undefined || ofNode === undefined) return ofNode ?? ofJob
  if (typeof ofJob !== 'function' && typeof ofNode !== 'function') return { ...ofJob, ...ofNode }
  return (input) => ({ ...answerOf(ofJob, input), ...answerOf(ofNode, input) })
}

function answerOf(needs: NeedsOf<unknown>, input: unknown): Needs | undefined {
  if (typeof needs !== 'function') return needs
  const answer: Needs | undefined = needs(input)
  return answer === undefined ? answer : checkRecord('needs', answer, 'an object: { db: 1 }')
}

function hasLimits({ retries, timeout, needs, priority }: Limits): boolean {
  return (
    retries !== undefined || timeout !== undefined || needs !== undefined || priority !== undefined
  )
}

function whatIsSet({ retries, timeout, priority }: Limits): Omit<Limits, 'needs'> {
  return {
    ...(retries !== undefined && { retries }),
    ...(timeout !== undefined && { timeout }),
    ...(priority !== undefined && { priority }),
  }
}

/** The limits as the journal keeps them: without functions and clocks. */
function plainLimits(
  limits: SchedulerOptions,
): Omit<SchedulerOptions, 'kernel' | 'observer' | 'capacity'> {
  const { kernel: _kernel, observer: _observer, capacity: _capacity, ...plain } = limits
  return plain
}

function execute(
  { node, place }: PlacedNode,
  context: NodeContext & RunnerContext,
  nodes: PlacedNodes,
): unknown {
  if (typeof node.input !== 'function') return place.run(node.job, node.input, context)
  return withInput(node, { resultOf: context.resultOf, nodes }, (input) =>
    place.run(node.job, input, context),
  )
}

/**
 * Calls `use` with the input of a node. What an input function returns is awaited once when it is a promise, for
 * `needs` as for the job; an input that is not made by a function is given as it is.
 */
function withInput(
  { input }: GraphNode,
  { resultOf, nodes }: { resultOf: (name: string) => unknown; nodes: PlacedNodes },
  use: (input: unknown) => unknown,
): unknown {
  if (typeof input !== 'function') return use(input)
  const find = (name: string): GraphNode | undefined => nodes.get(name)?.node
  const made: unknown = input((dependency: NodeRef) => resultOf(nameOfReference(dependency, find)))
  return isThenable(made) ? Promise.resolve(made).then(use) : use(made)
}
