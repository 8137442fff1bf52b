// oxlint-disable no-unused-private-class-members -- the rule does not see uses in the class inside; the compiler does
import { randomUUID } from 'node:crypto'
import type { AttemptLimits, AttemptSteps } from '../attempts/attempt.ts'
import { idempotencyKey } from '../attempts/idempotency.ts'
import { AttemptRunner, attemptDefaults, type AttemptHost } from '../attempts/runner.ts'
import { processCapacity, type Capacity } from '../capacity/capacity.ts'
import type { Lane } from '../capacity/lane.ts'
import type { PlacePermits } from '../capacity/lane-table.ts'
import { Lanes } from '../capacity/lanes.ts'
import { placeNames, type Concurrency, type Resources } from '../capacity/resources.ts'
import {
  HeddleError,
  cancelSources,
  cancelled as cancelledError,
  isError,
  type CancelSource,
} from '../errors.ts'
import type { Needs, PlaceName } from '../graph/job.ts'
import {
  checkCount,
  checkDuration,
  checkFlag,
  checkFunction,
  checkMethods,
  checkName,
  checkOptions,
  checkText,
  checkTimeout,
  checkWord,
  type OptionNames,
} from '../kernel/check.ts'
import { AbortCallback } from '../kernel/abort.ts'
import type { Clock, Timer } from '../kernel/clock.ts'
import { keepAlive } from '../kernel/keep-alive.ts'
import { kernelOf, type Kernel } from '../kernel/kernel.ts'
import { NameMap } from '../kernel/name-map.ts'
import { PieceList } from '../kernel/piece-list.ts'
import { Slices } from '../kernel/slices.ts'
import { suggest } from '../kernel/suggest.ts'
import { checkWait, type WaitOptions } from '../kernel/waiters.ts'
import { parkedInThread } from '../threads/inside-thread.ts'
import { AskedNeeds } from './asked-needs.ts'
import { NodeAttempt, NodeControl, type NodeContext, type PutArtifact } from './node-attempt.ts'
import { findCycle } from './cycles.ts'
import { Dependencies, noEdge } from './dependencies.ts'
import {
  Observers,
  type JoinedNode,
  type NodeEvent,
  type Observer,
  type RunEvent,
  type RunState,
} from './events.ts'
import { explainNode, type Explanation, type Suspension } from './explain.ts'
import {
  criticalPath,
  whatIf,
  type CriticalPath,
  type Forecast,
  type Past,
  type WhatIfOptions,
} from './insight.ts'
import {
  Node,
  blocked,
  cancelled,
  failed,
  move,
  ready,
  retrying,
  running,
  skipped,
  succeeded,
  suspended,
  waiting,
  type NodeState,
} from './node.ts'
import { Part, Parts, type PartOptions } from './part.ts'
import { ResultBuilder, type RunResult } from './result.ts'
import { Timeline } from './timeline.ts'

/*
 * The scheduler: names, dependencies, and a function to call for each name.
 *
 * A node that succeeds lowers the counter of each dependent; a counter at zero makes the dependent
 * ready; a ready node starts as soon as its permits are free. There are no levels and no workers: a
 * permit that comes back is a slot. Graph, states, waves and results are kept here; permits, timeouts,
 * retries and grace are the attempt runner's (attempts/runner.ts).
 *
 * The run itself:
 *
 *     idle ──run()──▶ running ◀──pause()/resume()──▶ paused
 *                        │                              │
 *                        ├──────────── cancel() ────────┤
 *                        ▼                              ▼
 *                    finished                  draining ──▶ cancelled
 *
 * The states of a node are drawn in node.ts.
 *
 * Invariants, quoted by the tests:
 *  I1  Every node that was added ends in exactly one of succeeded, failed, blocked, skipped, cancelled,
 *      and the run ends only then.
 *  I2  A node starts only after all its dependencies have succeeded; a clean-up node after they have ended.
 *  I3  The permits in use never exceed the capacity of a resource, unless it was lowered meanwhile.
 *  I4  Nothing starts while the run is paused or draining: the check and the start are one step. While it drains,
 *      clean-up nodes and steps of jobs that run do start (docs/design/growing.md, G7).
 *  I5  At most one attempt of a node is under way, and a new one begins only when the last has settled.
 *  I6  After the run no timer, no listener and no queue entry is left.
 *  I7  No uninterrupted stretch of the scheduler's own work is much longer than `sliceBudget`.
 *
 * I7 is why nothing here walks the whole graph in one go. Long work (a root with a million dependents, a
 * failure that blocks a million nodes, a cancel that skips them) is kept as a wave and done in slices.
 *
 * Known limits: names and states are kept until the scheduler is dropped, about 300 bytes a node. A
 * callback that ignores its signal cannot be stopped on the loop; it is abandoned after `abortGrace`.
 */

export interface SchedulerOptions {
  /** How many nodes run at once: over all places, or `{ loop, thread, fleet }` at each. Default 5. `Infinity` for no limit. */
  readonly concurrency?: Concurrency
  /** How often a failed attempt is tried again. Default 0. */
  readonly retries?: number
  /** Milliseconds: attempt n waits uniform(0, min(retryBaseDelay * 2^n, 60 s)). Default 1,000. */
  readonly retryBaseDelay?: number
  /**
   * Milliseconds one attempt may take, from its start, more than 0; queueing and back-off do not count. Default 600,000.
   * `Infinity` for no limit.
   */
  readonly timeout?: number
  /**
   * What nodes may `need` besides their place, by name: a number of permits, a rate `{ limit, per }`, or a
   * limit for each key `{ each }`. They hold for this run; those of `capacity` hold for the process.
   */
  readonly resources?: Resources
  /** The permits of the process that this run counts in as well. Those of this process when absent. */
  readonly capacity?: Capacity
  /** Milliseconds of waiting that raise a ready node by one priority. Default 30,000. */
  readonly aging?: number
  /** A dependency that was never added is refused (`error`, the default) or taken as satisfied (`ignore`). */
  readonly unknown?: 'ignore' | 'error'
  /** Instead of refusing a graph with cycles, fail their members and run the rest. Default false. */
  readonly allowCycles?: boolean
  /** The run waits for more nodes until close() is called. Default false. */
  readonly keepOpen?: boolean
  /** Milliseconds between a graceful cancel and the abort of what still runs. Default 30,000. */
  readonly cancelGrace?: number
  /** Milliseconds an aborted attempt has to settle before it is abandoned. Default 2,000. */
  readonly abortGrace?: number
  /** Called with every event. More can be added with observe(). */
  readonly observer?: Observer
  readonly kernel?: Kernel
}

const optionNames = {
  concurrency: 1,
  retries: 1,
  retryBaseDelay: 1,
  timeout: 1,
  resources: 1,
  capacity: 1,
  aging: 1,
  unknown: 1,
  allowCycles: 1,
  keepOpen: 1,
  cancelGrace: 1,
  abortGrace: 1,
  observer: 1,
  kernel: 1,
} satisfies OptionNames<SchedulerOptions>

export interface AddOptions {
  /** Names that must succeed first. They may be added later, as long as the run has not started. */
  readonly after?: readonly string[]
  /**
   * Its permits while it runs, besides one permit of its place: `{ db: 1, tenant: 'acme' }`. Its own place
   * among them says how many of that: `{ loop: 0 }` for a node that only waits. A function is asked when the
   * node becomes ready, before each attempt; its promise is awaited for as long as an attempt may take.
   */
  readonly needs?: Needs | NeedsFunction
  /** Where it runs: which permits it takes. `loop` when absent. */
  readonly place?: PlaceName | PlacePermits
  /** 0 is first, 9 is last. Default 1. */
  readonly priority?: number
  readonly retries?: number
  /** Milliseconds of the first back-off. That of the run when absent. */
  readonly retryBaseDelay?: number
  readonly timeout?: number
  /** `always`: it starts when its dependencies have ended, however they ended, also after a graceful cancel. */
  readonly when?: 'always'
  /** Already done, for instance in an earlier run: not called, dependents may start. */
  readonly done?: boolean
  /** The value that resultOf() gives to dependents; for `done`. */
  readonly value?: unknown
}

const addOptionNames = {
  after: 1,
  needs: 1,
  place: 1,
  priority: 1,
  retries: 1,
  retryBaseDelay: 1,
  timeout: 1,
  when: 1,
  done: 1,
  value: 1,
} satisfies OptionNames<AddOptions>

/** Computes the needs of a node from the results of its dependencies. */
export type NeedsFunction = (
  resultOf: (name: string) => unknown,
) => Needs | undefined | PromiseLike<Needs | undefined>

export interface RemoveOptions {
  /**
   * `block` (default): dependents cannot run any more. `detach`: they run without this node, once
   * its own dependencies are done.
   */
  readonly dependents?: 'block' | 'detach'
}

export interface CancelOptions {
  readonly reason?: string
  readonly by?: string
  readonly source?: CancelSource
  /** Abort running nodes at once, as a second cancel() does. */
  readonly abort?: boolean
}

const removeOptionNames = { dependents: 1 } satisfies OptionNames<RemoveOptions>

const cancelOptionNames = {
  reason: 1,
  by: 1,
  source: 1,
  abort: 1,
} satisfies OptionNames<CancelOptions>

function checkCancel(options: CancelOptions): void {
  checkOptions(options, cancelOptionNames)
  const { reason, by, source, abort } = options
  if (reason !== undefined) checkText('reason', reason)
  if (by !== undefined) checkText('by', by)
  if (source !== undefined) checkWord('source', source, cancelSources)
  if (abort !== undefined) checkFlag('abort', abort)
}

/** Another copy of the package has another class: its methods are checked instead. */
function checkCapacity(capacity: Capacity): Capacity {
  const expected = 'the permits of a process: new Capacity()'
  return checkMethods('capacity', capacity, ['place', 'resource', 'permitsOf'], expected)
}

export type NodeFunction = (name: string, context: NodeContext) => unknown

export interface SchedulerStats {
  readonly state: RunState
  readonly nodes: number
  readonly unfinished: number
  readonly ready: number
  readonly running: number
  readonly retrying: number
  readonly suspended: number
  readonly succeeded: number
  readonly failed: number
  readonly blocked: number
  readonly skipped: number
  readonly cancelled: number
}

/** Dependents of one node that are still to be notified. `cause` = blocked by it; otherwise released. */
interface Wave {
  edge: number
  readonly cause: Node | undefined
}

/**
 * What a run asks of its scheduler while its graph grows (docs/design/growing.md). Not for users: a function and not
 * methods, so that it is not part of the scheduler they see.
 */
export interface Growth {
  /** Starts a part of a running node. @throws the refusal of a wrong need or limit. */
  startPart(parent: NodeAttempt, options: PartOptions): Part
  stopPart(part: Part, reason: unknown): void
  /** Adds a node of a sub-graph, which starts while the run drains when its parent does. */
  add(parent: NodeAttempt, name: string, options: AddOptions): boolean
  /** Calls back when a node has ended, once. */
  watchEnd(name: string, onEnd: (state: NodeState) => void): void
  /** What explain() says of a node while it is suspended. */
  describe(attempt: NodeAttempt, text: () => string, waitsFor?: Suspension['waitsFor']): void
  /** Why the run ends, when nothing new of this node may start; undefined while it may. */
  refusal(attempt: NodeAttempt): unknown
  /** Ends an attempt as cancelled, because of {@link refusal}. */
  cancelNode(attempt: NodeAttempt, reason: unknown): void
  /** The prefix of idempotency keys of this run. */
  setIdentity(identity: string): void
  /** Reports nodes of a sub-graph that have joined the run. */
  joined(parent: string, added: readonly JoinedNode[]): void
  /** Calls back when the run begins to drain. */
  onDrain(callback: () => void): void
  /** Calls back when an attempt has ended, also when it is tried again, once. */
  onAttemptEnd(attempt: NodeAttempt, callback: () => void): void
  /** Makes the durable steps of an attempt, when its job asks for them first. */
  setSteps(stepsOf: (attempt: NodeAttempt) => AttemptSteps): void
  /** A job has returned. Why it has failed all the same, if it has: before its success is recorded. */
  objectionTo(attempt: NodeAttempt): Error | undefined
  /** Writes the artifacts of attempts. */
  setArtifacts(put: PutArtifact): void
  /** The result of a node that has succeeded, or the last error of one that has not. */
  valueOf(name: string): unknown
  errorOf(name: string): unknown
  /** Takes nodes of a sub-graph out of the run, soon: in slices, and never one inside the removal of another. */
  removeNodes(names: readonly string[]): void
}

let makeGrowth: (scheduler: Scheduler) => Growth

/** See {@link Growth}. */
export function growthOf(scheduler: Scheduler): Growth {
  return makeGrowth(scheduler)
}

/** The limits of an entry: its own over those of the run. The run's own object for most of them. */
function limitsOf(own: Pick<AddOptions, keyof AttemptLimits>, run: AttemptLimits): AttemptLimits {
  const { retries, timeout, retryBaseDelay } = own
  if (retries === undefined && timeout === undefined && retryBaseDelay === undefined) return run
  return {
    retries: checkCount('retries', retries ?? run.retries, 0, true),
    timeout: checkTimeout('timeout', timeout ?? run.timeout),
    ...(retryBaseDelay !== undefined && {
      retryBaseDelay: checkDuration('retryBaseDelay', retryBaseDelay),
    }),
  }
}

const none: readonly never[] = []
/** How many dependents are notified at once; more become a wave. */
const smallFan = 256

export class Scheduler {
  readonly #clock: Clock
  readonly #limits: AttemptLimits
  readonly #cancelGrace: number
  readonly #unknown: 'ignore' | 'error'
  readonly #allowCycles: boolean

  readonly #nodes = new NameMap<Node>()
  readonly #lanes: Lanes<Node>
  /** Nodes that compute their needs when they become ready. */
  readonly #needsOf = new Map<Node, NeedsFunction>()
  readonly #askedNeeds: AskedNeeds
  /** The error of such a function, until its attempt fails with it. */
  readonly #needsFailures = new Map<Node, unknown>()
  readonly #timeline = new Timeline()
  readonly #observers: Observers
  readonly #result = new ResultBuilder()
  readonly #attempts: AttemptRunner<Node, NodeAttempt>
  readonly #nodeControl: NodeControl
  readonly #graph = new Dependencies(this.#nodes)
  readonly #waves: Wave[] = []
  /** Nodes that named a dependency before it was added. */
  readonly #forward = new Map<string, Node[]>()
  #hadForward = false
  readonly #parts: Parts
  /** Nodes that start when their dependencies have ended, and those that start while the run drains. */
  readonly #always = new Set<Node>()
  readonly #drainable = new Set<Node>()
  readonly #endWatch = new Map<Node, (state: NodeState) => void>()
  readonly #suspendedFor = new WeakMap<Node, Suspension>()
  readonly #onDrain: (() => void)[] = []
  /**
   * Keyed by nodes that built graphs: the indexes of the nodes in these graphs. The critical path
   * reads it.
   */
  readonly #built = new Map<Node, PieceList<number>>()
  readonly #attemptEnds = new Map<Node, readonly (() => void)[]>()
  #isAborting = false
  /** The name of this run's work for other systems. */
  #identity: string | undefined

  static {
    makeGrowth = (scheduler) => ({
      startPart: (parent, options) => scheduler.#parts.start(parent, options),
      stopPart: (part, reason) => scheduler.#parts.stop(part, reason),
      add: (parent, name, options) => {
        const isNew = scheduler.#add(name, options, scheduler.#isDrainable(parent.entry))
        if (isNew) scheduler.#noteBuilt(parent.entry)
        return isNew
      },
      watchEnd: (name, onEnd) => scheduler.#watchEnd(name, onEnd),
      describe: ({ entry }, text, waitsFor) =>
        void scheduler.#suspendedFor.set(entry, { text, waitsFor }),
      refusal: ({ entry }) => scheduler.#refusal(entry, false),
      cancelNode: (attempt, reason) => void scheduler.#attempts.abort(attempt, reason),
      setIdentity: (identity) => void (scheduler.#identity = identity),
      joined: (name, added) => {
        if (!scheduler.#observers.wanted) return
        scheduler.#emit({ type: 'nodes', at: scheduler.#clock.now(), name, added })
      },
      onAttemptEnd: ({ entry }, callback) => {
        const others = scheduler.#attemptEnds.get(entry)
        scheduler.#attemptEnds.set(entry, others === undefined ? [callback] : [...others, callback])
      },
      setSteps: (stepsOf) => scheduler.#nodeControl.setSteps(stepsOf),
      objectionTo: (attempt) => scheduler.#nodeControl.objectionTo(attempt),
      setArtifacts: (put) => scheduler.#nodeControl.setArtifacts(put),
      valueOf: (name) => scheduler.#nodes.get(name)?.value,
      errorOf: (name) => scheduler.#nodes.get(name)?.errors.at(-1),
      removeNodes: (names) => {
        for (let index = names.length - 1; index >= 0; index--) {
          scheduler.#toRemove.push(names[index]!)
        }
        scheduler.#pumpSoon()
      },
      onDrain: (callback) => void scheduler.#onDrain.push(callback),
    })
  }

  #state: RunState = 'idle'
  #paused = false
  #open: boolean
  #unfinished = 0
  #work: NodeFunction = () => undefined
  #settled: PromiseWithResolvers<RunResult> | undefined
  #startedAt = 0
  #cancelCause: HeddleError<'HDL_CANCELLED'> | undefined
  #graceTimer: Timer | undefined
  #hold: Disposable | undefined
  #skipCursor: Iterator<Node> | undefined
  /** Attempts that are still to be aborted by a hard cancel, the next one last. */
  #toAbort: NodeAttempt[] = []
  /** Nodes of sub-graphs that were stopped, the next one last. One that is a sub-graph adds its own nodes. */
  readonly #toRemove: string[] = []

  constructor(options: SchedulerOptions = {}) {
    checkOptions(options, optionNames)
    const kernel = kernelOf(options)
    this.#clock = kernel.clock
    this.#limits = {
      retries: checkCount('retries', options.retries ?? 0, 0, true),
      timeout: checkTimeout('timeout', options.timeout ?? attemptDefaults.timeout),
    }
    this.#cancelGrace = checkDuration('cancelGrace', options.cancelGrace ?? 30_000)
    this.#unknown = checkWord('unknown', options.unknown ?? 'error', ['error', 'ignore'])
    this.#allowCycles = checkFlag('allowCycles', options.allowCycles ?? false)
    this.#open = checkFlag('keepOpen', options.keepOpen ?? false)
    this.#lanes = new Lanes<Node>({
      capacity:
        options.capacity === undefined ? processCapacity() : checkCapacity(options.capacity),
      clock: this.#clock,
      concurrency: options.concurrency ?? 5,
      resources: options.resources ?? {},
      aging: checkDuration('aging', options.aging ?? 30_000),
      sinceOf: (node) =>
        node.index < 0 ? (node as Part).readyAt : this.#timeline.readyAt(node.index),
      onRoom: () => this.#pumpSoon(),
    })
    // A run that has not started keeps no other run waiting for permits of the process.
    this.#lanes.withdraw()
    this.#observers = new Observers(
      options.observer === undefined ? [] : [checkFunction('observer', options.observer)],
    )
    const { retryBaseDelay, abortGrace } = attemptDefaults
    this.#attempts = new AttemptRunner(this.#lanes, new Scheduler.#Host(this), {
      kernel,
      retryBaseDelay: checkDuration('retryBaseDelay', options.retryBaseDelay ?? retryBaseDelay),
      abortGrace: checkDuration('abortGrace', options.abortGrace ?? abortGrace),
    })
    this.#askedNeeds = new AskedNeeds(
      this.#clock,
      (node, needs) => this.#onNeeds(node, needs),
      (node, error) => this.#onNeedsFailed(node, error),
    )
    this.#nodeControl = new NodeControl(this.#attempts, this.#findDependencies)
    this.#parts = new Parts({
      lanes: this.#lanes,
      attempts: this.#attempts,
      limits: this.#limits,
      count: (by) => void (this.#unfinished += by),
      refusal: (part) => this.#refusal(part, part.drains),
      report: (part, at, more) => {
        if (this.#observers.wanted) this.#emitNode(part, at, more)
      },
      pumpSoon: () => this.#pumpSoon(),
    })
  }

  // ── Building the graph ────────────────────────────────────────────────────────────────────────

  /**
   * Adds a node, also during the run. False when the name is known already.
   *
   * A node whose dependency has failed, was blocked or removed is blocked at once (P6, P7).
   * @throws `HDL_UNKNOWN_DEPENDENCY` for names that are unknown once the run has started, unless `unknown` is `ignore`.
   */
  add(name: string, options: AddOptions = {}): boolean {
    return this.#add(name, options, false)
  }

  #add(name: string, options: AddOptions, isDrainable: boolean): boolean {
    if (this.#nodes.has(checkName('name', name))) return false
    this.#refuseWhenEnded('add()')
    if (!hasOnlyAfter(options)) checkOptions(options, addOptionNames)
    const limits = limitsOf(options, this.#limits)
    const { needs } = options
    const isAsked = typeof needs === 'function'
    const at = options.place === undefined ? undefined : permitsAt(options.place)
    const isDone = options.done !== undefined && checkFlag('done', options.done)
    const isAlways =
      options.when !== undefined && checkWord('when', options.when, ['always']) !== undefined
    const lane = this.#laneFor(name, isAsked ? undefined : needs, options.priority, at)
    const after = checkAfter(name, options.after)
    if (this.#hasStarted && after.includes(name)) {
      throw new HeddleError('HDL_CYCLE', { path: [name, name] })
    }
    if (this.#hasStarted && this.#unknown === 'error') this.#refuseUnknown(name, after)

    const node = new Node(this.#nodes.size, name, lane, limits)
    this.#nodes.add(node)
    this.#graph.add(node)
    this.#timeline.add(node.index)
    this.#unfinished++
    if (isAsked) this.#needsOf.set(node, needs)
    if (isAlways) this.#always.add(node)
    if (isAlways || isDrainable) this.#drainable.add(node)
    const obstacleOf = after.length === 0 ? undefined : this.#link(node, after)
    const blockedBy = isAlways ? undefined : obstacleOf
    if (this.#forward.size > 0) this.#resolveForward(node)

    if (isDone) this.#markDone(node, options.value)
    else if (this.#refusal(node, false) !== undefined) this.#skip(node)
    else if (blockedBy !== undefined) this.#block(node, blockedBy)
    else if (this.#graph.isFree(node)) {
      if (after.length > 0) node.depth = this.#graph.depth(node)
      this.#becomeReady(node, this.#attempts.now())
    }
    this.#pumpSoon()
    return true
  }

  /**
   * Takes a node out of the run. False when it is unknown or has ended already.
   *
   * A node that has not started is skipped. A running one is aborted; it ends as cancelled when its
   * callback settles. What happens to its dependents is decided now, by `dependents`. It is too late, and
   * false, for a node whose success is being recorded.
   */
  remove(name: string, options: RemoveOptions = {}): boolean {
    checkOptions(options, removeOptionNames)
    const how = checkWord('dependents', options.dependents ?? 'block', ['block', 'detach'])
    const node = this.#nodes.get(name)
    if (node === undefined || node.ended || node.removed) return false
    const attempt = node.current
    if (attempt?.isShielded) return false
    const detach = how === 'detach'
    node.trouble.relays = detach && node.state === waiting
    const dependents = node.relays ? noEdge : this.#graph.takeDependents(node)
    if (attempt === undefined) this.#skip(node, removed(node))
    else {
      node.trouble.removed = true
      this.#attempts.abort(attempt, removed(node))
    }
    this.#startWave(dependents, detach ? undefined : node)
    this.#pumpSoon()
    return true
  }

  /** With `keepOpen`: no more nodes will come, the run may end. */
  close(): void {
    this.#open = false
    this.#updateHold()
    this.#finishIfDone()
  }

  // ── Running ───────────────────────────────────────────────────────────────────────────────────

  /**
   * Calls `work` for each node as soon as its dependencies have succeeded and a slot is free.
   *
   * Resolves when every node has ended, also when some failed: check `ok`.
   *
   * *Cancellation*: aborting `signal`, or `deadline` running out, is a hard cancel(); the promise still
   * resolves, with `ok: false`.
   * *Fairness*: first ready, first started, within a priority; waiting raises the priority.
   * @throws `HDL_CYCLE`, `HDL_UNKNOWN_DEPENDENCY` (unless `unknown` is `ignore`) before anything has started,
   * `HDL_ALREADY_RUN` the second time.
   * @example
   * const s = new Scheduler({ concurrency: 2 })
   * s.add('core')
   * s.add('plugin', { after: ['core'] })
   * const result = await s.run(async (name) => name.length)
   * result.succeeded // => ['core', 'plugin']
   */
  async run(work: NodeFunction, options: WaitOptions = {}): Promise<RunResult> {
    // A thread that loads a program for one of its jobs must not run the program again.
    if (parkedInThread()) return new Promise(() => {})
    if (typeof work !== 'function') {
      throw new HeddleError('HDL_BAD_OPTION', {
        option: 'work',
        value: work,
        expected: 'a function that is called for each node',
      })
    }
    checkWait(options)
    const { signal, deadline = Infinity } = options
    if (this.#hasStarted) throw new HeddleError('HDL_ALREADY_RUN', undefined)
    const settled = (this.#settled = Promise.withResolvers<RunResult>())
    this.#work = work
    this.#startedAt = this.#attempts.now()
    if (this.#hadForward) {
      const slices = new Slices(this.#clock)
      await this.#settleForward(slices)
      await this.#refuseCycles(slices)
    }
    this.#setState(this.#paused ? 'paused' : 'running')
    if (this.#observers.wanted) {
      this.#emit({ type: 'start', at: this.#attempts.now(), nodes: this.#nodes.size })
    }
    if (this.#cancelCause !== undefined) this.#drain()

    using _outer = this.#obey(signal)
    using _end = this.#endAfter(deadline)
    this.#pump()
    return await settled.promise
  }

  /** Starts nothing new until resume(). Running nodes continue, and so do their timeouts. */
  pause(): void {
    if (this.#paused || this.#isEnding) return
    this.#paused = true
    if (this.#state === 'running') this.#setState('paused')
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    if (this.#state === 'paused') this.#setState('running')
    this.#pump()
  }

  /**
   * Graceful: running jobs may finish, the rest is skipped. A second call, `abort: true`, or `cancelGrace`
   * running out aborts what still runs. A cancelled run is never `ok`.
   */
  cancel(options: CancelOptions = {}): void {
    checkCancel(options)
    if (this.#state === 'finished' || this.#state === 'cancelled') return
    const again = this.#cancelCause !== undefined
    this.#cancelCause ??= new HeddleError('HDL_CANCELLED', {
      what: 'The run',
      source: options.source ?? 'user',
      reason: options.reason,
      by: options.by,
    })
    if (this.#state === 'idle') return
    if (!again) this.#drain()
    if (again || options.abort === true) this.#abortAll()
    this.#pump()
  }

  // ── Looking at it ─────────────────────────────────────────────────────────────────────────────

  get state(): RunState {
    return this.#state === 'idle' && this.#paused ? 'paused' : this.#state
  }

  /** How many nodes run at once. Lowering it lets running nodes finish. */
  get concurrency(): Concurrency {
    return this.#lanes.concurrency
  }

  set concurrency(limit: Concurrency) {
    const limits = typeof limit === 'object' ? limit : { concurrency: limit }
    for (const [name, permits] of Object.entries(limits)) this.resize(name, permits)
  }

  /** Changes the permits of a resource or a place during the run. */
  resize(resource: string, permits: number): void {
    this.#lanes.resize(resource, permits)
    this.#pumpSoon()
  }

  /** Adds an observer. Dispose of the returned object to remove it. */
  observe(observer: Observer): Disposable {
    return this.#observers.add(checkFunction('observer', observer))
  }

  /** How a node stands, or undefined when there is none of that name. */
  stateOf(name: string): NodeState | undefined {
    return this.#nodes.get(name)?.stateName
  }

  /** All nodes in order of addition. */
  *nodes(): IterableIterator<{ readonly name: string; readonly state: NodeState }> {
    for (const node of this.#nodes.values()) yield { name: node.name, state: node.stateName }
  }

  /**
   * Why a node does not run: the exact dependency, permit and its holders, pause or back-off.
   * @throws `HDL_UNKNOWN_NODE`.
   */
  explain(name: string): Explanation {
    const node = this.#nodes.get(name)
    if (node === undefined) {
      throw new HeddleError('HDL_UNKNOWN_NODE', {
        node: name,
        suggestion: suggest(name, this.#nodes.keys()),
      })
    }
    return explainNode(node, {
      now: this.#attempts.now(),
      state: this.state,
      attempts: this.#attempts.attempts,
      lanes: this.#lanes,
      graph: this.#graph,
      timeline: this.#timeline,
      retryAt: this.#attempts.retryAt(node),
      askedAt: this.#askedNeeds.askedAt(node),
      suspendedFor: this.#suspendedFor.get(node),
    })
  }

  /**
   * The chain of dependencies that took longest, and how much later each node could have ended.
   *
   * *Cancellation*: none; the work is bounded by the size of the graph and yields to I/O.
   */
  criticalPath(): Promise<CriticalPath> {
    return criticalPath(this.#past, this.#clock)
  }

  /**
   * How long this run would have taken with other limits, from its recorded durations.
   *
   * *Cancellation*: none; the work is bounded by the size of the graph and yields to I/O.
   * @throws `HDL_BAD_OPTION`; `HDL_WOULD_DEADLOCK` when a node that ran needs more permits than that.
   */
  whatIf(limits: WhatIfOptions): Promise<Forecast> {
    return whatIf(this.#past, this.#lanes, limits, this.#clock)
  }

  get #past(): Past {
    return { graph: this.#graph, timeline: this.#timeline, built: this.#built }
  }

  /** The newest node belongs to the graph that this one has built. */
  #noteBuilt(builder: Node): void {
    let nodes = this.#built.get(builder)
    if (nodes === undefined) this.#built.set(builder, (nodes = new PieceList()))
    nodes.push(this.#nodes.size - 1)
  }

  stats(): SchedulerStats {
    return {
      state: this.state,
      nodes: this.#nodes.size,
      unfinished: this.#unfinished,
      ready: this.#lanes.size + this.#askedNeeds.size,
      running: this.#attempts.running,
      retrying: this.#attempts.retrying,
      suspended: this.#attempts.suspended,
      succeeded: this.#result.succeeded.size + this.#result.reused.size,
      failed: this.#result.failed.size,
      blocked: this.#result.blocked.size,
      skipped: this.#result.skipped.size,
      cancelled: this.#result.cancelled.size,
    }
  }

  // ── Dependencies ──────────────────────────────────────────────────────────────────────────────

  /** Connects a new node. Returns the ended dependency that keeps it from ever running, if there is one. */
  #link(node: Node, names: readonly string[]): Node | undefined {
    let blockedBy: Node | undefined
    for (const name of names) {
      const dependency = this.#nodes.indexOf(name)
      if (dependency < 0 || dependency === node.index) {
        if (!this.#hasStarted) this.#expect(name, node)
        continue
      }
      this.#graph.connect(dependency, node.index)
      if (this.#graph.hasEnded(dependency)) blockedBy ??= obstacle(this.#nodes.at(dependency)!)
    }
    return blockedBy
  }

  /** Remembers that `node` waits for a name that may still be added. */
  #expect(name: string, node: Node): void {
    this.#hadForward = true
    this.#graph.expect(node)
    const waitingFor = this.#forward.get(name)
    if (waitingFor === undefined) this.#forward.set(name, [node])
    else waitingFor.push(node)
  }

  #resolveForward(added: Node): void {
    const waitingFor = this.#forward.get(added.name)
    if (waitingFor === undefined) return
    this.#forward.delete(added.name)
    for (const node of waitingFor) {
      this.#graph.satisfy(node)
      this.#graph.connect(added.index, node.index)
    }
  }

  /** Names that are still missing when the run starts are ignored or refused. */
  async #settleForward(slices: Slices): Promise<void> {
    for (const [name, nodes] of this.#forward) {
      if (this.#unknown === 'error') {
        throw this.#unknownDependency(nodes[0]!.name, name)
      }
      // Before the first wait: a node of that name that is added meanwhile is not a dependency any more.
      this.#forward.delete(name)
      for (const node of nodes) {
        if (this.#graph.satisfy(node)) this.#onFree(node, this.#startedAt)
        if (slices.due) await slices.next()
      }
    }
  }

  #refuseUnknown(name: string, after: readonly string[]): void {
    const missing = after.find((dependency) => !this.#nodes.has(dependency))
    if (missing !== undefined) throw this.#unknownDependency(name, missing)
  }

  #unknownDependency(node: string, dependency: string): HeddleError {
    return new HeddleError('HDL_UNKNOWN_DEPENDENCY', {
      node,
      dependency,
      suggestion: suggest(dependency, this.#nodes.keys()),
    })
  }

  /** Only names used before they were added can close a cycle, so most runs never come here. */
  async #refuseCycles(slices: Slices): Promise<void> {
    const cycle = await findCycle(this.#graph, slices)
    if (cycle === undefined) return
    const error = new HeddleError('HDL_CYCLE', { path: cycle.path })
    if (!this.#allowCycles) throw error
    for (const node of cycle.members) {
      if (node.state !== waiting) continue
      node.trouble.errors.push(error)
      this.#endFailed(node, error, this.#attempts.now())
    }
  }

  /** The lane of a node. A node that could never start is reported with its name. */
  #laneFor(
    node: string,
    needs: Needs | undefined,
    priority: number | undefined,
    at: PlacePermits | undefined,
  ): Lane<Node> {
    try {
      return this.#lanes.laneFor(needs, priority, at)
    } catch (error) {
      if (!isError(error, 'HDL_WOULD_DEADLOCK')) throw error
      throw new HeddleError('HDL_WOULD_DEADLOCK', { ...error.details, node })
    }
  }

  #markDone(node: Node, value: unknown): void {
    move(node, succeeded)
    node.value = value
    this.#result.reused.push(node.name)
    const now = this.#attempts.now()
    this.#release(this.#ended(node, now), now)
  }

  // ── Waves: telling dependents, in slices ──────────────────────────────────────────────────────

  /** Satisfies a list of dependents, the first ones at once. */
  #release(first: number, now: number): void {
    let edge = first
    for (let satisfied = 0; edge !== noEdge; satisfied++) {
      if (satisfied === smallFan) return this.#startWave(edge, undefined)
      this.#satisfyEdge(edge, now)
      edge = this.#graph.following(edge)
    }
  }

  #satisfyEdge(edge: number, now: number): void {
    const freed = this.#graph.satisfyEdge(edge)
    if (freed !== undefined) this.#onFree(freed, now)
  }

  /** Nothing is left that a node waits for. */
  #onFree(node: Node, now: number): void {
    if (node.state === waiting) this.#becomeReady(node, now)
    // Relayed as a wave, however few they are: a long chain of removed nodes must not become a deep
    // recursion.
    else if (node.relays) this.#startWave(this.#graph.takeDependents(node), undefined)
  }

  #startWave(edge: number, cause: Node | undefined): void {
    if (edge !== noEdge) this.#waves.push({ edge, cause })
  }

  /** Works on the waves until none is left or the slice is over. True when all is done. */
  #spread(): boolean {
    if (
      this.#waves.length === 0 &&
      this.#skipCursor === undefined &&
      this.#toAbort.length === 0 &&
      this.#toRemove.length === 0
    ) {
      return true
    }
    let steps = 0
    let now = this.#attempts.now()
    for (let next = this.#toAbort.pop(); next !== undefined; next = this.#toAbort.pop()) {
      this.#attempts.abort(next, this.#cancelCause!)
      if ((++steps & 15) === 0 && this.#attempts.isTurnOver((now = this.#attempts.now())))
        return false
    }
    for (let next = this.#toRemove.pop(); next !== undefined; next = this.#toRemove.pop()) {
      this.remove(next)
      if ((++steps & 15) === 0 && this.#attempts.isTurnOver((now = this.#attempts.now())))
        return false
    }
    for (let wave = this.#waves.at(-1); wave !== undefined; wave = this.#waves.at(-1)) {
      if ((++steps & 63) === 0 && this.#attempts.isTurnOver((now = this.#attempts.now())))
        return false
      const { edge, cause } = wave
      if (edge === noEdge) {
        this.#waves.pop()
        continue
      }
      wave.edge = this.#graph.following(edge)
      if (cause === undefined) {
        this.#satisfyEdge(edge, now)
        continue
      }
      const dependent = this.#graph.dependent(edge)
      if (this.#always.size > 0 && this.#always.has(dependent)) this.#satisfyEdge(edge, now)
      // The skip pass reaches the others.
      else if (this.#cancelCause !== undefined && this.#isEnding) continue
      else if (dependent.state === waiting) this.#block(dependent, cause)
      else if (dependent.relays) this.#blockAll(this.#graph.takeDependents(dependent), cause)
    }
    while (this.#skipCursor !== undefined) {
      const { done, value: node } = this.#skipCursor.next()
      if (done === true) {
        this.#skipCursor = undefined
        this.#parts.skipRefused()
      } else if (!node.ended && node.current === undefined) {
        if (this.#refusal(node, false) !== undefined) this.#skip(node)
      }
      if ((++steps & 63) === 0 && this.#attempts.isTurnOver(this.#attempts.now())) return false
    }
    // Clean-up nodes wait for skipped nodes.
    return this.#waves.length === 0 || this.#spread()
  }

  // ── Dispatch ──────────────────────────────────────────────────────────────────────────────────

  /** From the call of run() on, also while it still looks for cycles: names are final. */
  get #hasStarted(): boolean {
    return this.#settled !== undefined
  }

  get #isEnding(): boolean {
    return this.#state === 'draining' || this.#state === 'finished' || this.#state === 'cancelled'
  }

  /**
   * While the run drains: from the time when all nodes that may not start are skipped, until running nodes are aborted.
   */
  get #isOpenForCleanUp(): boolean {
    return this.#state === 'draining' && !this.#isAborting && this.#skipCursor === undefined
  }

  /** Starts everything that can start now. */
  #pump(): void {
    if (this.#state !== 'idle') this.#attempts.pump()
  }

  /** For calls from outside: user code is not started from within add() or remove(). */
  #pumpSoon(): void {
    if (this.#state !== 'idle') this.#attempts.pumpSoon()
  }

  #isDrainable(entry: Node): boolean {
    return this.#drainable.has(entry instanceof Part ? entry.root : entry)
  }

  /** Why a node or a part may not start any more: the run was cancelled. Undefined while it may. */
  #refusal(entry: Node, drains: boolean): unknown {
    if (this.#cancelCause === undefined || this.#state === 'idle') return undefined
    const mayDrain = !this.#isAborting && (drains || this.#isDrainable(entry))
    return mayDrain ? undefined : this.#cancelCause
  }

  #watchEnd(name: string, onEnd: (state: NodeState) => void): void {
    const node = this.#nodes.get(name)!
    if (node.ended) onEnd(node.stateName)
    else this.#endWatch.set(node, onEnd)
  }

  #becomeReady(node: Node, now: number): void {
    if (node.index < 0) return this.#parts.enqueue(node as Part, now)
    move(node, ready)
    this.#timeline.markReady(node.index, now)
    const needs = this.#needsOf.size === 0 ? undefined : this.#needsOf.get(node)
    if (needs === undefined) this.#lanes.enqueue(node)
    else this.#askNeeds(node, needs)
    if (this.#observers.wanted) this.#emitNode(node, now)
  }

  #askNeeds(node: Node, ask: NeedsFunction): void {
    this.#askedNeeds.ask(node, () => {
      const dependencies = this.#findDependencies(node)
      return ask((name) => valueOf(dependencies, node, name))
    })
  }

  #onNeeds(node: Node, needs: Needs | undefined): void {
    const { priority, at } = node.lane
    try {
      node.lane = this.#laneFor(node.name, needs, priority, at)
    } catch (error) {
      return this.#onNeedsFailed(node, error)
    }
    this.#lanes.enqueue(node)
    this.#pumpSoon()
  }

  /** A function that throws, is late, or names what does not exist fails the attempt. */
  #onNeedsFailed(node: Node, error: unknown): void {
    const { priority, at } = node.lane
    this.#needsFailures.set(node, error)
    node.lane = this.#lanes.laneFor(undefined, priority, at)
    this.#lanes.enqueue(node)
    this.#pumpSoon()
  }

  #call(attempt: NodeAttempt): unknown {
    // An observer of this start has aborted the run, and the attempt was not in the list yet.
    if (this.#isAborting) this.#attempts.abort(attempt, this.#cancelCause!)
    if (this.#needsFailures.size > 0 && this.#needsFailures.has(attempt.entry)) {
      const error = this.#needsFailures.get(attempt.entry)
      this.#needsFailures.delete(attempt.entry)
      throw error
    }
    const { entry } = attempt
    if (entry.index < 0) return (entry as Part).options.call(attempt)
    return this.#work(attempt.name, attempt)
  }

  // ── Stopping ──────────────────────────────────────────────────────────────────────────────────

  #drain(): void {
    if (this.#isEnding) return
    this.#setState('draining')
    this.#skipCursor = this.#nodes.values()
    for (const callback of this.#onDrain) callback()
    this.#graceTimer = this.#clock.setTimer(this.#cancelGrace, () => {
      this.#abortAll()
      this.#pump()
    })
  }

  /** The caller pumps: attempts are aborted in slices, because a hundred thousand listeners take long. */
  #abortAll(): void {
    this.#graceTimer?.cancel()
    this.#graceTimer = undefined
    this.#isAborting = true
    this.#skipCursor ??= this.#drainable.values()
    this.#toAbort = [...this.#attempts.attempts].reverse()
  }

  /** Lets an outer signal cancel the run, until disposed. */
  #obey(signal: AbortSignal | undefined): Disposable | undefined {
    if (signal === undefined) return undefined
    const onAbort = (reason: unknown): void => {
      this.#cancelCause ??= cancelledError('The run', reason)
      this.#drain()
      this.#abortAll()
      this.#pump()
    }
    if (!signal.aborted) return new AbortCallback(signal, onAbort)
    onAbort(signal.reason)
    return undefined
  }

  /** Cancels the run when it has lasted too long, until disposed. */
  #endAfter(deadline: number): Disposable | undefined {
    if (deadline === Infinity) return undefined
    const reason = `not finished after ${deadline} ms`
    const onDeadline = (): void => this.cancel({ source: 'deadline', reason, abort: true })
    if (deadline === 0) {
      onDeadline()
      return undefined
    }
    const timer = this.#clock.setTimer(deadline, onDeadline)
    return { [Symbol.dispose]: () => timer.cancel() }
  }

  // ── Outcomes: exactly one of these per node ───────────────────────────────────────────────────

  #endSucceeded(node: Node, value: unknown, now: number): void {
    move(node, succeeded)
    node.value = value
    this.#result.succeeded.push(node.name)
    this.#release(this.#ended(node, now), now)
  }

  #endFailed(node: Node, error: unknown, now: number): void {
    move(node, failed)
    this.#result.failed.set(node.name, error)
    this.#blockAll(this.#ended(node, now, { error }), node)
  }

  #endCancelled(node: Node, error: unknown, now: number): void {
    move(node, cancelled)
    this.#result.cancelled.push(node.name)
    this.#blockAll(this.#ended(node, now, { error }), node)
  }

  #block(node: Node, cause: Node): void {
    move(node, blocked)
    node.trouble.blockedBy = cause
    this.#result.blocked.set(node.name, cause.name)
    this.#blockAll(this.#ended(node, this.#attempts.now(), { blockedBy: cause.name }), cause)
  }

  /** Nothing of it has run, or it was waiting to be tried again. */
  #skip(node: Node, reason: unknown = this.#cancelCause): void {
    const now = this.#attempts.now()
    if (this.#attempts.withdrawBackoff(node)) return this.#endCancelled(node, reason, now)
    if (node.state === ready) {
      this.#lanes.remove(node)
      this.#askedNeeds.withdraw(node)
      this.#needsFailures.delete(node)
    }
    move(node, skipped)
    this.#result.skipped.push(node.name)
    if (!node.relays) return this.#blockAll(this.#ended(node, now), node)
    // Its dependents wait for its dependencies instead.
    this.#graph.markEnded(node)
    this.#close(node, now)
  }

  /** While draining, the skip pass reaches the dependents: they are skipped, not blocked. Clean-up nodes are released. */
  #blockAll(dependents: number, cause: Node): void {
    if (this.#cancelCause === undefined || this.#always.size > 0) this.#startWave(dependents, cause)
  }

  /** Returns the list of its dependents, which the caller releases or blocks. */
  #ended(node: Node, now: number, more?: Pick<NodeEvent, 'error' | 'blockedBy'>): number {
    const dependents = this.#graph.end(node)
    this.#close(node, now, more)
    return dependents
  }

  #close(node: Node, now: number, more?: Pick<NodeEvent, 'error' | 'blockedBy'>): void {
    this.#unfinished--
    this.#timeline.markEnded(node.index, now)
    if (node.errors.length > 0) this.#result.errors.set(node.name, node.errors)
    if (this.#observers.wanted) this.#emitNode(node, now, more)
    if (this.#endWatch.size > 0) this.#reportEnd(node)
  }

  #reportEnd(node: Node): void {
    const onEnd = this.#endWatch.get(node)
    if (onEnd === undefined) return
    this.#endWatch.delete(node)
    onEnd(node.stateName)
  }

  #finishIfDone(): void {
    if (this.#unfinished > 0 || this.#settled === undefined || this.#state === 'idle') return
    if (this.#state === 'finished' || this.#state === 'cancelled') return
    if (this.#open && this.#cancelCause === undefined) return
    this.#graceTimer?.cancel()
    this.#attempts.close()
    this.#askedNeeds.close()
    const state = this.#cancelCause === undefined ? 'finished' : 'cancelled'
    this.#setState(state)
    const now = this.#attempts.now()
    const result = this.#result.build(state, now - this.#startedAt, this.#nodes)
    if (this.#observers.wanted) this.#emit({ type: 'complete', at: now, result })
    this.#settled.resolve(result)
  }

  #refuseWhenEnded(action: string): void {
    if (this.#state === 'finished' || this.#state === 'cancelled') {
      throw new HeddleError('HDL_RUN_ENDED', { action })
    }
  }

  // ── Events ────────────────────────────────────────────────────────────────────────────────────

  #setState(state: RunState): void {
    this.#state = state
    if (state !== 'running') this.#lanes.withdraw()
    this.#updateHold()
    if (this.#observers.wanted) this.#emit({ type: 'state', at: this.#attempts.now(), state })
  }

  /** A run that is paused or kept open waits for a call from outside, which must find the process alive. */
  #updateHold(): void {
    const waits = this.#state === 'paused' || (this.#open && this.#state === 'running')
    if (waits) this.#hold ??= keepAlive()
    else {
      this.#hold?.[Symbol.dispose]()
      this.#hold = undefined
    }
  }

  #emitNode(node: Node, at: number, more?: Pick<NodeEvent, 'error' | 'delay' | 'blockedBy'>): void {
    const { name, stateName: state, attempt } = node
    if (node.index < 0) {
      const { root, options } = node as Part
      return this.#emit({
        type: 'part',
        at,
        name: root.name,
        path: options.path,
        state,
        attempt,
        ...more,
      })
    }
    this.#emit(
      more === undefined
        ? { type: 'node', at, name, state, attempt }
        : { type: 'node', at, name, state, attempt, ...more },
    )
  }

  // ── Attempts ──────────────────────────────────────────────────────────────────────────────────

  /**
   * What the attempt runner asks for. A class and not an object of closures: its methods are the same functions
   * for every scheduler, so calls of them are inlined (0.1 µs for each node).
   */
  static readonly #Host = class implements AttemptHost<Node, NodeAttempt> {
    readonly #of: Scheduler

    constructor(of: Scheduler) {
      this.#of = of
    }

    get isOpen(): boolean {
      return this.#of.#state === 'running' || this.#of.#isOpenForCleanUp
    }

    get hasPreparing(): boolean {
      return this.#of.#waves.length > 0
    }

    prepare(): boolean {
      return this.#of.#spread()
    }

    begin(node: Node, now: number): NodeAttempt {
      return this.#of.#begin(node, now)
    }

    call(attempt: NodeAttempt): unknown {
      return this.#of.#call(attempt)
    }

    isElsewhere({ lane: { at } }: Node): boolean {
      return at !== undefined && at.place !== 'loop'
    }

    mayRetry(node: Node): boolean {
      if (node.index < 0) return this.#of.#refusal(node, (node as Part).drains) === undefined
      return !node.removed && (!this.#of.#isEnding || this.#of.#refusal(node, false) === undefined)
    }

    timeoutError({ name, limits }: Node): HeddleError {
      return new HeddleError('HDL_TIMEOUT', { what: `"${name}"`, limit: limits.timeout })
    }

    onTimedOut(): void {
      // The node ends when its callback has settled.
    }

    onSucceeded(node: Node, value: unknown, now: number): void {
      if (this.#of.#attemptEnds.size > 0) this.#of.#endAttempt(node)
      if (node.index < 0) return this.#of.#parts.onSucceeded(node as Part, value, now)
      this.#of.#endSucceeded(node, value, now)
    }

    onFailed(node: Node, error: unknown, now: number): void {
      if (this.#of.#attemptEnds.size > 0) this.#of.#endAttempt(node)
      if (node.index < 0) return this.#of.#parts.onFailed(node as Part, error, now)
      node.trouble.errors.push(error)
      this.#of.#endFailed(node, error, now)
    }

    onCancelled(node: Node, reason: unknown, now: number): void {
      if (this.#of.#attemptEnds.size > 0) this.#of.#endAttempt(node)
      if (node.index < 0) return this.#of.#parts.onCancelled(node as Part, reason, now)
      node.trouble.errors.push(reason)
      this.#of.#endCancelled(node, reason, now)
    }

    onRetrying(node: Node, error: unknown, delay: number, now: number): void {
      if (this.#of.#attemptEnds.size > 0) this.#of.#endAttempt(node)
      node.trouble.errors.push(error)
      move(node, retrying)
      if (this.#of.#observers.wanted) this.#of.#emitNode(node, now, { error, delay })
      if (node.index < 0) (node as Part).options.onRetrying?.()
    }

    onBackoffOver(node: Node, now: number): void {
      this.#of.#becomeReady(node, now)
    }

    onSuspended({ entry }: NodeAttempt, now: number): void {
      this.#of.#moveTo(entry, suspended, now)
    }

    onResumed({ entry }: NodeAttempt, now: number): void {
      this.#of.#moveTo(entry, running, now)
    }

    objectionTo(attempt: NodeAttempt): Error | undefined {
      return this.#of.#nodeControl.objectionTo(attempt)
    }

    identify({ entry }: NodeAttempt): string {
      const { root, path } = placeOf(entry)
      return idempotencyKey((this.#of.#identity ??= randomUUID()), root.name, path)
    }

    onLog({ entry, attempt }: NodeAttempt, text: string): void {
      if (!this.#of.#observers.wanted) return
      const { root, path } = placeOf(entry)
      const said = path === '' ? text : `${path} ${text}`
      const at = this.#of.#attempts.now()
      this.#of.#emit({ type: 'log', at, name: root.name, attempt, text: said })
    }

    onProgress({ entry, attempt }: NodeAttempt, fraction: number, text: string | undefined): void {
      // The progress of a part is not that of its node.
      if (!this.#of.#observers.wanted || entry.index < 0) return
      const { name } = entry
      const at = this.#of.#attempts.now()
      const said = text !== undefined && { text }
      this.#of.#emit({ type: 'progress', at, name, attempt, fraction, ...said })
    }

    onIdle(): void {
      this.#of.#finishIfDone()
    }
  }

  #endAttempt(node: Node): void {
    const callbacks = this.#attemptEnds.get(node)
    this.#attemptEnds.delete(node)
    for (const onEnd of callbacks ?? []) onEnd()
  }

  #begin(node: Node, now: number): NodeAttempt {
    move(node, running)
    if (node.attempt === 0 && node.index >= 0) this.#timeline.markStarted(node.index, now)
    const attempt = new NodeAttempt(node, this.#nodeControl)
    // An observer may cancel the run: a starting node is not one of those that may be skipped.
    node.current = attempt
    if (this.#observers.wanted) this.#emitNode(node, now)
    return attempt
  }

  readonly #findDependencies = (entry: Node): ReadonlyMap<string, Node> =>
    new Map(
      this.#graph
        .of(entry instanceof Part ? entry.root : entry)
        .map((dependency) => [dependency.name, dependency]),
    )

  #moveTo(node: Node, state: number, now: number): void {
    move(node, state)
    if (this.#observers.wanted) this.#emitNode(node, now)
  }

  #emit(event: RunEvent): void {
    this.#observers.emit(event)
  }
}

/** The ended node that keeps its dependents from ever running. */
function obstacle(node: Node): Node | undefined {
  return node.state === succeeded ? undefined : (node.blockedBy ?? node)
}

/** The node, and the path below it where the entry is a part. */
function placeOf(entry: Node): { readonly root: Node; readonly path: string } {
  if (!(entry instanceof Part)) return { root: entry, path: '' }
  return { root: entry.root, path: entry.options.path }
}

/** Undefined for the loop of this process. */
function permitsAt(at: PlaceName | PlacePermits): PlacePermits | undefined {
  const isName = typeof at !== 'object' || at === null
  const place = checkWord('place', isName ? at : at.place, placeNames)
  if (!isName) return at
  return place === 'loop' ? undefined : { place }
}

/** @throws `HDL_NOT_A_DEPENDENCY`. */
function valueOf(
  dependencies: ReadonlyMap<string, Node>,
  { name: node }: Node,
  name: string,
): unknown {
  const dependency = dependencies.get(name)
  if (dependency !== undefined) return dependency.value
  throw new HeddleError('HDL_NOT_A_DEPENDENCY', { node, dependency: name })
}

function removed(node: Node): HeddleError<'HDL_CANCELLED'> {
  return new HeddleError('HDL_CANCELLED', {
    what: `"${node.name}"`,
    source: 'user',
    reason: 'removed from the run',
  })
}

/** Before anything is changed: a wrong list must not leave half a node behind. */
function checkAfter(node: string, after: readonly string[] | undefined): readonly string[] {
  if (after === undefined) return none
  if (Array.isArray(after) && hasOnlyNames(after)) return after
  throw new HeddleError('HDL_BAD_OPTION', {
    option: `after of "${node}"`,
    value: after,
    expected: 'a list of names',
  })
}

/** A counted loop: it is asked for every node. */
function hasOnlyNames(list: readonly unknown[]): boolean {
  for (let index = 0; index < list.length; index++) {
    if (typeof list[index] !== 'string') return false
  }
  return true
}

/** The most common options of a node: looking each name up in the table would be a tenth of adding one. */
function hasOnlyAfter(options: AddOptions): boolean {
  for (const option in options) if (option !== 'after') return false
  return typeof options === 'object' && options !== null && !Array.isArray(options)
}
