import { HeddleError } from '../errors.ts'
import type { Graph, GraphNode, NodeRef, OutputOf } from '../graph/graph.ts'
import type { JobContext, PlaceName } from '../graph/job.ts'
import { loopPlace } from '../places/loop.ts'
import type { Place } from '../places/place.ts'
import { sharedThreadPlace } from '../places/thread.ts'
import type { NodeContext } from '../scheduler/attempt.ts'
import type { RunResult } from '../scheduler/result.ts'
import { Scheduler, type SchedulerOptions } from '../scheduler/scheduler.ts'
import { parkedInThread } from '../threads/inside.ts'

export interface RunOptions extends Omit<SchedulerOptions, 'unknown' | 'allowCycles' | 'keepOpen'> {
  /** Aborting it cancels the run at once. */
  readonly signal?: AbortSignal
  /** Other places than this process's loop and its shared thread pool. */
  readonly places?: Partial<Readonly<Record<PlaceName, Place>>>
}

/** How a graph's run ended, with typed access to results. */
export interface GraphResult extends RunResult {
  /**
   * What a node returned.
   * @throws `HDL_NO_RESULT` when it did not succeed, with its error as cause.
   */
  of<R extends NodeRef>(node: R): OutputOf<R>
}

/** A run under way: pause, resume, cancel and explain through its scheduler. */
export interface Run {
  readonly scheduler: Scheduler
  readonly result: Promise<GraphResult>
}

/**
 * Runs a graph to its end. Resolves also when jobs failed: look at `ok`.
 *
 * *Cancellation*: aborting `signal` cancels the run; the promise still resolves, with `ok: false`.
 * *Fairness*: first ready, first started, within a priority.
 * @throws `HDL_PLACE_UNAVAILABLE` before anything has started.
 */
export function run(graph: Graph, options: RunOptions = {}): Promise<GraphResult> {
  // A program and its thread jobs may share one file. A thread that imports the file to get at a job
  // must not run the program again: there, this call simply never returns.
  if (parkedInThread()) return new Promise(() => {})
  try {
    return startRun(graph, options).result
  } catch (error) {
    return Promise.reject(error)
  }
}

/** Starts a graph and returns at once, for those who want to control the run. */
export function startRun(graph: Graph, options: RunOptions = {}): Run {
  const { signal, places = {}, ...schedulerOptions } = options
  const scheduler = new Scheduler(schedulerOptions)
  const nodes = new Map<string, { node: GraphNode; place: Place }>()
  for (const node of graph.nodes()) {
    nodes.set(node.name, { node, place: placeFor(node, places) })
    const { job, after } = node
    scheduler.add(node.name, { ...limitsOf(job), ...limitsOf(node.options), after })
  }
  const work = (name: string, context: NodeContext): unknown => {
    const { node, place } = nodes.get(name)!
    return execute(node, place, context)
  }
  const result = scheduler.run(work, signal === undefined ? {} : { signal }).then((ended) => ({
    ...ended,
    of: <R extends NodeRef>(node: R) => ended.valueOf(node.name) as OutputOf<R>,
  }))
  return { scheduler, result }
}

function placeFor(node: GraphNode, places: Partial<Readonly<Record<PlaceName, Place>>>): Place {
  const name = node.job.place
  const given = places[name]
  if (given !== undefined) return given
  if (name === 'loop') return loopPlace
  if (name === 'thread') return sharedThreadPlace()
  throw new HeddleError('HDL_PLACE_UNAVAILABLE', { node: node.name, place: name })
}

type Limits = Pick<GraphNode['options'], 'retries' | 'timeout' | 'needs' | 'priority'>

/** Only what is set: a node's own values go over those of its job, and those over the run's. */
function limitsOf({ retries, timeout, needs, priority }: Limits): Limits {
  return {
    ...(retries !== undefined && { retries }),
    ...(timeout !== undefined && { timeout }),
    ...(needs !== undefined && { needs }),
    ...(priority !== undefined && { priority }),
  }
}

function execute(node: GraphNode, place: Place, context: JobContext & NodeContext): unknown {
  const { input } = node
  if (typeof input !== 'function') return place.run(node.job, input, context)
  const made: unknown = input((dependency: NodeRef) => read(node, dependency, context))
  if (!(made instanceof Promise)) return place.run(node.job, made, context)
  return made.then((value: unknown) => place.run(node.job, value, context))
}

function read(node: GraphNode, dependency: NodeRef, context: NodeContext): unknown {
  if (!node.after.includes(dependency.name)) {
    throw new HeddleError('HDL_NOT_A_DEPENDENCY', { node: node.name, dependency: dependency.name })
  }
  return context.resultOf(dependency.name)
}
