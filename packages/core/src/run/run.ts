import type { RunnerContext } from '../attempts/attempt.ts'
import { final } from '../attempts/retry.ts'
import { HeddleError, isError } from '../errors.ts'
import type { Graph, GraphNode, NodeRef, OutputOf } from '../graph/graph.ts'
import { checkOptions, type OptionNames } from '../kernel/check.ts'
import type { Clock } from '../kernel/clock.ts'
import { systemKernel } from '../kernel/kernel.ts'
import { NameMap } from '../kernel/name-map.ts'
import { Slices } from '../kernel/slices.ts'
import { afterReactions } from '../kernel/turn.ts'
import { findPlace, type Places } from '../places/find-place.ts'
import { loopPlace } from '../places/loop.ts'
import type { Place } from '../places/place.ts'
import { sharedThreadPlace } from '../places/thread.ts'
import type { NodeContext } from '../scheduler/attempt.ts'
import type { RunResult } from '../scheduler/result.ts'
import { Scheduler, type AddOptions, type SchedulerOptions } from '../scheduler/scheduler.ts'
import { parkedInThread } from '../threads/inside.ts'
import type * as SessionModule from './session.ts'
import type { JournalOptions, Session } from './session.ts'

export interface RunOptions
  extends Omit<SchedulerOptions, 'unknown' | 'allowCycles' | 'keepOpen'>, JournalOptions {
  /** Aborting it cancels the run at once. */
  readonly signal?: AbortSignal
  /** Milliseconds from its start after which the run is cancelled. No limit when absent. */
  readonly deadline?: number
  /** Other places than this process's loop and its shared thread pool. */
  readonly places?: Places
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
  resume: 1,
  allowChanges: 1,
  title: 1,
  signal: 1,
  deadline: 1,
  places: 1,
} satisfies OptionNames<RunOptions>

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
   * @throws `HDL_NO_RESULT` when it did not succeed, with its error as cause.
   */
  of<R extends NodeRef>(node: R): OutputOf<R>
}

/** A run under way: pause, resume, cancel and explain through its scheduler. */
export interface Run {
  /** Its id in the journal, where there is one. */
  readonly id: string | undefined
  readonly scheduler: Scheduler
  readonly result: Promise<GraphResult>
}

/**
 * Runs a graph to its end. Resolves also when jobs failed: look at `ok`.
 *
 * *Cancellation*: aborting `signal`, or `deadline` running out, cancels the run; the promise still
 * resolves, with `ok: false`.
 * *Fairness*: first ready, first started, within a priority.
 * @throws `HDL_PLACE_UNAVAILABLE` before anything has started; with a journal also `HDL_LOCKED`,
 * `HDL_UNKNOWN_RUN`, `HDL_RUN_FINISHED`, `HDL_GRAPH_CHANGED`, and `HDL_STORE_FAILED` when it cannot be
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
  const { signal, deadline, places = {}, journal, resume, allowChanges, title, ...limits } = options
  const { clock } = options.kernel ?? systemKernel
  const nodes = await placeNodes(graph, places, clock)
  const scheduler = new Scheduler(limits)
  const recorded = plainLimits(limits)
  // What add() would refuse is found before the journal has anything of the run.
  if (journal !== undefined) await checkLimits(nodes, recorded, clock)
  const session = await connect(graph, options, recorded)
  if (session !== undefined) scheduler.observe(session.recorder.observe)
  try {
    await addNodes(scheduler, nodes, session, clock)
  } catch (error) {
    // The journal must not stay locked for that.
    await session?.close()
    throw error
  }
  const work = (name: string, given: NodeContext): unknown => {
    const context = given as NodeContext & RunnerContext
    const outcome = execute(nodes.get(name)!, context)
    return session === undefined ? outcome : record(session, scheduler, context, outcome)
  }
  const running = new Promise<void>(afterReactions).then(() =>
    scheduler.run(work, { signal, deadline }),
  )
  return { id: session?.runId, scheduler, result: conclude(running, session) }
}

/** Kept: to ask the loader again takes 0.5 ms. */
let sessionModule: typeof SessionModule | undefined

/** The connection to the journal. Loaded only here: most programs run without, and need not pay for it. */
async function connect(
  graph: Graph,
  options: RunOptions,
  limits: Readonly<Record<string, unknown>>,
): Promise<Session | undefined> {
  if (options.journal === undefined && !options.resume) return undefined
  sessionModule ??= await import('./session.ts')
  return sessionModule.openSession(graph, { ...options, limits }, options.kernel ?? systemKernel)
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
    const own = limitsOf(node)
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
    const limits = limitsOf(node)
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

/** Everything is on disk before the caller hears of the end. */
async function conclude(
  running: Promise<RunResult>,
  session: Session | undefined,
): Promise<GraphResult> {
  try {
    const ended = await running
    return {
      ...ended,
      run: session?.runId,
      of: <R extends NodeRef>(node: R) => ended.valueOf(node.name) as OutputOf<R>,
    }
  } finally {
    await session?.close()
  }
}

/**
 * A success counts once it is in the journal. A journal that cannot be written ends the run.
 *
 * While it is being written nothing else can end the attempt: a timeout or a cancel in this moment would
 * make a failure of what the journal holds as a success.
 */
function record(
  session: Session,
  scheduler: Scheduler,
  context: RunnerContext,
  outcome: unknown,
): unknown {
  const onFailure = (error: unknown): never => {
    if (!isError(error, 'HDL_NOT_CLONEABLE')) {
      scheduler.cancel({ source: 'shutdown', reason: 'the journal cannot be written', abort: true })
    }
    throw final(error as Error)
  }
  const commit = (value: unknown): unknown => {
    if (!context.shield()) return value
    try {
      const durable = session.recorder.succeeded(context.name, context.attempt, value)
      return durable.then(() => value, onFailure)
    } catch (error) {
      return onFailure(error)
    }
  }
  // Awaiting what is there already would cost a job that does little as much as the job itself.
  return isThenable(outcome) ? Promise.resolve(outcome).then(commit) : commit(outcome)
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === 'function'
}

type Limits = Pick<GraphNode['options'], 'retries' | 'timeout' | 'needs' | 'priority'>

/** Which permits of the process a node takes. */
function placement(place: Place, { job }: GraphNode): Pick<AddOptions, 'place'> {
  if (place === loopPlace) return {}
  return { place: place.permitsOf?.(job) ?? { place: job.place, shared: 'none' } }
}

/** A node's own limits go over those of its job, and those over the run's. Most nodes have none. */
function limitsOf(node: GraphNode): Omit<AddOptions, 'after'> | undefined {
  const { job, options } = node
  if (!hasLimits(job) && !hasLimits(options)) return undefined
  const { needs, ...limits } = { ...whatIsSet(job), ...whatIsSet(options) }
  if (typeof needs !== 'function') return needs === undefined ? limits : { ...limits, needs }
  return {
    ...limits,
    // The input is made here for the function alone, and again for the attempt: what waits holds none.
    needs: (resultOf) => {
      const input = makeInput(node, resultOf)
      return isThenable(input) ? input.then((made) => needs(made)) : needs(input)
    },
  }
}

function hasLimits({ retries, timeout, needs, priority }: Limits): boolean {
  return (
    retries !== undefined || timeout !== undefined || needs !== undefined || priority !== undefined
  )
}

function whatIsSet({ retries, timeout, needs, priority }: Limits): Limits {
  return {
    ...(retries !== undefined && { retries }),
    ...(timeout !== undefined && { timeout }),
    ...(needs !== undefined && { needs }),
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

function execute({ node, place }: PlacedNode, context: NodeContext & RunnerContext): unknown {
  if (typeof node.input !== 'function') return place.run(node.job, node.input, context)
  const input = makeInput(node, context.resultOf)
  if (!(input instanceof Promise)) return place.run(node.job, input, context)
  return input.then((value: unknown) => place.run(node.job, value, context))
}

function makeInput({ input }: GraphNode, resultOf: (name: string) => unknown): unknown {
  if (typeof input !== 'function') return input
  return input((dependency: NodeRef) => resultOf(dependency.name)) as unknown
}
