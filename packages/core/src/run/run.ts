import type { RunnerContext } from '../attempts/attempt.ts'
import { attemptDefaults } from '../attempts/runner.ts'
import { HeddleError } from '../errors.ts'
import {
  isGraph,
  nameOfReference,
  sealGraph,
  type Graph,
  type GraphNode,
  type NodeRef,
  type OutputOf,
} from '../graph/graph.ts'
import { newRunId } from '../journal/run-id.ts'
import { checkName } from '../kernel/check.ts'
import type { Clock } from '../kernel/clock.ts'
import { kernelOf } from '../kernel/kernel.ts'
import { NameMap } from '../kernel/name-map.ts'
import { Slices } from '../kernel/slices.ts'
import { afterReactions } from '../kernel/turn.ts'
import type { Places } from '../places/find-place.ts'
import { loopPlace } from '../places/loop.ts'
import { sharedThreadPlace, threadPlace } from '../places/thread.ts'
import type { NodeContext } from '../scheduler/node-attempt.ts'
import type { RunResult } from '../scheduler/result.ts'
import {
  Scheduler,
  growthOf,
  type AddOptions,
  type SchedulerOptions,
} from '../scheduler/scheduler.ts'
import { parkedInThread } from '../threads/inside-thread.ts'
import { checkInputs } from './check-inputs.ts'
import { commitOutcome, withArtifacts } from './commit-outcome.ts'
import { Grower } from './grower.ts'
import type { AttemptContext } from './growth-host.ts'
import { runJob, withInput } from './job-input.ts'
import { addOptionsOf, withNodeName } from './node-limits.ts'
import { dependenciesOf, placeNodes, type PlacedNode, type PlacedNodes } from './placed.ts'
import { RunArtifacts } from './run-artifacts.ts'
import { checkRunOptions, type RunOptions } from './run-options.ts'
import { ownThreads, threadStopTime } from './run-threads.ts'
import type * as RunJournalModule from './run-journal.ts'
import type { RunJournal } from './run-journal.ts'
import type { Recorder } from './recorder.ts'
import type { EndedRun } from './run-opener.ts'

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
 * Runs a graph to its end. Resolves also when jobs failed: check `ok`.
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
  checkRunOptions(options)
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
    recordInputs: _recordInputs,
    labels,
    artifacts: artifactOptions = {},
    threads,
    ...limits
  } = options
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
  const runJournal = await openJournaledRun(graph, options, journaled)
  if (runJournal !== undefined && 'recorded' in runJournal) {
    const result = Promise.resolve(graphResult(runJournal.recorded, runJournal.runId, graph))
    const send = async (): Promise<never> => {
      throw new HeddleError('HDL_RUN_ENDED', { action: 'send()' })
    }
    return { id: runJournal.runId, isRecorded: true, isResumed: true, scheduler, result, send }
  }
  const growth = growthOf(scheduler)
  if (runJournal !== undefined) {
    growth.setIdentity(runJournal.runId)
    scheduler.observe(runJournal.recorder.observe)
    runJournal.steer(scheduler)
  }
  try {
    await addNodes(scheduler, nodes, runJournal, clock)
  } catch (error) {
    // The journal must not stay locked for that.
    await runJournal?.close()
    throw error
  }
  const store = artifactOptions.store ?? runJournal?.artifacts
  const artifacts =
    store &&
    new RunArtifacts(runJournal?.runId ?? newRunId(kernel), store, artifactOptions.quota, growth)
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
    journal: runJournal,
    record: (context, outcome, node, part) =>
      runJournal === undefined
        ? withArtifacts(artifacts, context, outcome)
        : commitOutcome(scheduler, context, outcome, leftovers, (value, guard) =>
            runJournal.recorder.partSucceeded(node, context.attempt, part, value, guard),
          ),
    addNode: (parent, placed, done) =>
      addNode(placed, done, (name, added) => growth.add(parent, name, added)),
  })
  const work = (name: string, given: NodeContext): unknown => {
    const context = given as AttemptContext
    const placed = nodes.get(name)!
    const call = (): unknown =>
      placed.node.grows === undefined
        ? execute(placed, context, runJournal?.recorder)
        : grower.run(placed, context)
    if (runJournal === undefined) return withArtifacts(artifacts, context, call())
    const outcome = runJournal.begin(context, runJournal.setAside.get(name) ?? 0, call)
    runJournal.recorder.writeStart()
    return commitOutcome(scheduler, context, outcome, leftovers, (value, guard) =>
      runJournal.recorder.succeeded(name, context.attempt, value, guard),
    )
  }
  const running = new Promise<void>(afterReactions).then(() =>
    scheduler.run(work, { signal, deadline }),
  )
  return {
    id: runJournal?.runId,
    isRecorded: false,
    isResumed: runJournal?.isResumed ?? false,
    scheduler,
    result: conclude(running, runJournal, graph, async () => {
      grower.close()
      await pool?.stop({ deadline: threadStopTime })
    }),
    send: async (name, value) => {
      checkName('name', name)
      if (scheduler.state === 'finished' || scheduler.state === 'cancelled') {
        throw new HeddleError('HDL_RUN_ENDED', { action: 'send()' })
      }
      if (runJournal === undefined) grower.receive(name, value)
      else await runJournal.send(name, value)
    },
  }
}

/** Kept: to ask the loader again takes 0.5 ms. */
let runJournalModule: typeof RunJournalModule | undefined

/** The connection to the journal. Loaded only here: most programs run without, and need not pay for it. */
async function openJournaledRun(
  graph: Graph,
  options: RunOptions,
  limits: Readonly<Record<string, unknown>>,
): Promise<RunJournal | EndedRun | undefined> {
  const { journal, resume, key, from } = options
  const isRecorded = journal !== undefined || key !== undefined || from !== undefined
  if (!isRecorded && !resume) return undefined
  runJournalModule ??= await import('./run-journal.ts')
  return runJournalModule.openRunJournal(graph, { ...options, limits }, kernelOf(options))
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
  runJournal: RunJournal | undefined,
  clock: Clock,
): Promise<void> {
  const slices = new Slices(clock)
  const add = (name: string, options: AddOptions): boolean => scheduler.add(name, options)
  for (const placed of nodes.values()) {
    const isDone = runJournal?.finished.has(placed.name) === true
    const done = isDone ? { value: runJournal.finished.get(placed.name) } : undefined
    addNode(placed, done, add)
    if (slices.due) await slices.next()
  }
  for (const { name, after, value } of runJournal?.ended ?? []) {
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

/** Everything is on disk before the caller gets the end. */
async function conclude(
  running: Promise<RunResult>,
  runJournal: RunJournal | undefined,
  graph: Graph,
  close: () => Promise<void>,
): Promise<GraphResult> {
  try {
    try {
      const ended = await running
      const { duration = ended.duration } = { duration: runJournal?.recorder.elapsed }
      return graphResult({ ...ended, duration }, runJournal?.runId, graph)
    } finally {
      await runJournal?.close()
    }
  } finally {
    await close()
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
  placed: PlacedNode,
  context: AttemptContext,
  recorder: Recorder | undefined,
): unknown {
  const { name, node, place } = placed
  const { job } = node
  // Most inputs are there already.
  if (typeof node.input !== 'function') {
    recorder?.started(name, node.input, job.redact)
    return runJob(job, node.input, place, context)
  }
  return withInput(placed, context.resultOf, (input) => {
    recorder?.started(name, input, job.redact)
    return runJob(job, input, place, context)
  })
}
