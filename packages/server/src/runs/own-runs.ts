/**
 * Runs that this server started, over HTTP or by a schedule, and those of an earlier process that it continues.
 *
 *   start() ─▶ opened (its row is durable: 201) ─▶ running ─▶ ended
 *                                                     │
 *      the process ends ─▶ interrupted ─▶ resumed by a server that has its graph: see take-over.ts
 *
 *  O1  A start is acknowledged when the run is in the journal; from then on it ends, in this process or in a later one.
 *  O2  If two starts have one key, one opens the run and the other gets its id. Keys are names of a tenant.
 *  O3  Only the process that runs a run pauses it. Cancel and signals reach it through the journal, wherever it runs.
 *  O4  A retry from a node is a new run: the old one is not touched, and keeps its key.
 *  O5  The function that makes a graph is user code and has half a minute. A drain ends the wait for it at once: its run would be
 *      refused. A run that is being opened is waited for like one that runs.
 */
import { HeddleError, isError, startRun, type Graph, type Run, type RunOptions } from '@heddle/core'
import {
  SeatRate,
  outcomeOf,
  endsBefore,
  waitFor,
  type ArtifactStore,
  type Capacity,
  type Journal,
  type Kernel,
  type Places,
  type RunOutcome,
} from '@heddle/core/lowlevel'
import { hasEnded, isActive } from '../client/contract/runs.ts'
import { commonTenant } from '../http/caller.ts'
import { nameIn } from '../http/tenancy.ts'
import { makeGraph, type GraphTable } from './graph-table.ts'
import { tenantLabel } from './run-tenants.ts'

/** Milliseconds for the function that makes a graph (O5). */
const graphWithin = 30_000

/** Ended runs that are known to have run here. */
const mostRemembered = 1_000

export interface OwnRunsOptions {
  readonly journal: Journal
  /** Where artifacts are when they are not beside the journal. */
  readonly artifacts?: ArtifactStore | undefined
  readonly graphs: GraphTable
  readonly capacity: Capacity
  /** Where the jobs of a tenant run. */
  readonly placesOf: (tenant: string) => Places
  readonly kernel: Kernel
  readonly log: (level: 'info' | 'warning', text: string) => void
  /** Runs at a time; more are refused. */
  readonly most: number
  /** Whether an interrupted run may still be resumed by a server that lives. Default: it is not. */
  readonly mayContinue?: (run: string) => boolean
  /** Called when a run of this server has ended. */
  readonly onEnded?: (run: string) => void
}

export interface StartRequest {
  readonly graph: string
  readonly args?: unknown
  readonly key?: string | undefined
  readonly title?: string | undefined
  /** Whose run it is: workers of this tenant run its jobs. The common one when absent. Recorded with the run. */
  readonly tenant?: string | undefined
  /** Recorded with the run. */
  readonly labels?: Readonly<Record<string, string>> | undefined
}

export interface StartAnswer {
  readonly run: string
  readonly how: 'started' | 'attached' | 'recorded' | 'resumed'
}

export interface SteerAnswer {
  readonly run: string
  readonly outcome: RunOutcome
  readonly changed: boolean
}

/** The labels that a run is recorded with, for the process that continues it. */
type RunLabels = Readonly<Partial<Record<string, string>>>

interface Own {
  readonly run: Run
  readonly ended: Promise<void>
}

export class OwnRuns {
  readonly #options: OwnRunsOptions
  readonly #runs = new Map<string, Own>()
  /** The last runs that ended here, oldest first. */
  readonly #ended = new Set<string>()
  readonly #rate: SeatRate
  /** Starts on their way, by key: the second waits for the first. */
  readonly #starting = new Map<string, Promise<StartAnswer>>()
  /** Runs that are being opened. */
  readonly #opening = new Set<Promise<Run>>()
  /** Aborts when a drain begins. */
  readonly #draining = new AbortController()

  constructor(options: OwnRunsOptions) {
    this.#options = options
    this.#rate = new SeatRate({ kernel: options.kernel })
  }

  get size(): number {
    return this.#runs.size
  }

  /** Whether this process runs it, or has run it a while ago. *Cancellation*: none. */
  hasRun(id: string): boolean {
    return this.#runs.has(id) || this.#ended.has(id)
  }

  has(id: string): boolean {
    return this.#runs.has(id)
  }

  get(id: string): Run | undefined {
    return this.#runs.get(id)?.run
  }

  /**
   * Opens a run of a registered graph, or finds the one that has the key (O1, O2).
   *
   * *Cancellation*: none; a run that was opened is started.
   * @throws `HDL_UNKNOWN_GRAPH`, `HDL_DRAINING`, `HDL_OVERLOADED`, `HDL_GRAPH_CHANGED`, `HDL_STORE_FAILED`.
   */
  async start(request: StartRequest): Promise<StartAnswer> {
    if (request.key === undefined) return this.#open(request)
    const key = nameIn(request.tenant, request.key)
    const underWay = this.#starting.get(key)
    if (underWay !== undefined) return { ...(await underWay), how: 'attached' }
    const found = await this.#byKey(key)
    if (found !== undefined) return found
    const opening = this.#starting.get(key) ?? this.#open({ ...request, key })
    this.#starting.set(key, opening)
    try {
      return await opening
    } catch (error) {
      // Another process was faster.
      if (isError(error, 'HDL_KEY_TAKEN')) return { run: error.details.run, how: 'attached' }
      throw error
    } finally {
      if (this.#starting.get(key) === opening) this.#starting.delete(key)
    }
  }

  /** Whether a run is under way in some process, or was interrupted and is about to be resumed. *Cancellation*: none. */
  async isActive(id: string): Promise<boolean> {
    if (this.#runs.has(id)) return true
    try {
      const outcome = outcomeOf(await this.#options.journal.overview(id))
      if (outcome === 'interrupted') return this.#options.mayContinue?.(id) === true
      return isActive(outcome)
    } catch (error) {
      // It was pruned.
      if (isError(error, 'HDL_UNKNOWN_RUN')) return false
      throw error
    }
  }

  async #byKey(key: string): Promise<StartAnswer | undefined> {
    const [found] = await this.#options.journal.runs({ key, limit: 1 })
    if (found === undefined) return undefined
    const outcome = outcomeOf(found)
    const isOver = outcome === 'succeeded' || outcome === 'failed' || outcome === 'cancelled'
    return { run: found.id, how: isOver ? 'recorded' : 'attached' }
  }

  async #open(request: StartRequest): Promise<StartAnswer> {
    const { graph: name, args, key, title, labels, tenant } = request
    this.#checkOpen()
    const graph = await this.#makeGraph(name, args)
    this.#checkOpen()
    const words = {
      ...labels,
      graph: name,
      ...(args !== undefined && { args: JSON.stringify(args) }),
      ...tenantLabel(tenant),
    }
    const run = await this.#startRun(graph, words, {
      title: title ?? name,
      labels: words,
      ...(key !== undefined && { key }),
    })
    return { run: run.id!, how: run.isRecorded ? 'recorded' : 'started' }
  }

  /**
   * Continues a run that no process holds. Resolves with its graph; undefined when it is none that this server has.
   *
   * *Cancellation*: none; a run that was opened is started.
   * @throws `HDL_LOCKED` when another server is continuing it, `HDL_DRAINING`, `HDL_OVERLOADED`, `HDL_GRAPH_CHANGED`, `HDL_STORE_FAILED`.
   */
  async continue(id: string): Promise<string | undefined> {
    this.#checkOpen()
    const { options } = await this.#options.journal.overview(id)
    const labels = (options['labels'] ?? {}) as Readonly<Record<string, string>>
    const { graph } = labels
    if (graph === undefined || !this.#options.graphs.has(graph)) return undefined
    await this.#resume(id, graph, labels)
    return graph
  }

  async #resume(id: string, graph: string, labels: Readonly<Record<string, string>>): Promise<Run> {
    this.#checkOpen()
    const made = await this.#makeGraph(graph, argsOf(labels))
    this.#checkOpen()
    return this.#startRun(made, labels, { resume: id })
  }

  /**
   * Runs a node of an ended run again, with everything computed from it and all nodes that have not succeeded: in a new
   * run, which uses the other results of the old one (O4).
   *
   * *Cancellation*: none; a run that was opened is started.
   * @throws `HDL_UNKNOWN_RUN`, `HDL_UNKNOWN_NODE`, `HDL_NOT_STEERABLE`, `HDL_LOCKED` while it runs,
   * `HDL_UNKNOWN_GRAPH`, `HDL_GRAPH_CHANGED`.
   */
  async retryFrom(id: string, node: string): Promise<{ readonly run: string }> {
    this.#checkOpen()
    const { options, title } = await this.#options.journal.overview(id)
    const labels = (options['labels'] ?? {}) as Readonly<Record<string, string>>
    const { graph } = labels
    if (graph === undefined) {
      throw new HeddleError('HDL_NOT_STEERABLE', { run: id, action: 'retried' })
    }
    const made = await this.#makeGraph(graph, argsOf(labels))
    this.#checkOpen()
    const run = await this.#startRun(made, labels, {
      title,
      labels: { ...labels, forkedFrom: id },
      resume: id,
      from: node,
    })
    return { run: run.id! }
  }

  /** @throws `HDL_UNKNOWN_RUN`, `HDL_NOT_STEERABLE`. */
  async pause(id: string): Promise<SteerAnswer> {
    return this.#steer(id, 'paused', (run) => run.scheduler.pause())
  }

  /** @throws `HDL_UNKNOWN_RUN`, `HDL_NOT_STEERABLE`, `HDL_RUN_ENDED`, `HDL_UNKNOWN_GRAPH`, `HDL_GRAPH_CHANGED`. */
  async resume(id: string): Promise<SteerAnswer> {
    if (this.#runs.has(id)) return this.#steer(id, 'resumed', (run) => run.scheduler.resume())
    const overview = await this.#options.journal.overview(id)
    const outcome = outcomeOf(overview)
    if (outcome === 'succeeded') {
      throw new HeddleError('HDL_RUN_ENDED', { action: `Resuming run ${id}` })
    }
    const labels = (overview.options['labels'] ?? {}) as Readonly<Record<string, string>>
    const { graph } = labels
    if (graph === undefined || !['failed', 'cancelled', 'interrupted'].includes(outcome)) {
      throw new HeddleError('HDL_NOT_STEERABLE', { run: id, action: 'resumed' })
    }
    await this.#resume(id, graph, labels)
    return { run: id, outcome: 'running', changed: true }
  }

  /** @throws `HDL_UNKNOWN_RUN`, `HDL_NOT_STEERABLE`. */
  async cancel(
    id: string,
    how: { readonly by: string; readonly reason?: string | undefined; readonly abort: boolean },
  ): Promise<SteerAnswer> {
    const { journal } = this.#options
    const own = this.#runs.get(id)
    if (own !== undefined) {
      return this.#steer(id, 'cancelled', ({ scheduler }) =>
        scheduler.cancel({
          source: 'user',
          reason: how.reason ?? `cancelled by ${how.by}`,
          abort: how.abort,
        }),
      )
    }
    const outcome = outcomeOf(await journal.overview(id))
    if (hasEnded(outcome)) {
      return { run: id, outcome, changed: false }
    }
    if (outcome === 'interrupted' || journal.post === undefined) {
      throw new HeddleError('HDL_NOT_STEERABLE', { run: id, action: 'cancelled' })
    }
    await journal.post(id, { kind: 'cancel', by: how.by })
    return { run: id, outcome, changed: true }
  }

  /** @throws `HDL_UNKNOWN_RUN`, `HDL_RUN_ENDED`, `HDL_NOT_STEERABLE`. */
  async signal(id: string, name: string, value: unknown, by: string): Promise<void> {
    const { journal } = this.#options
    if (journal.post === undefined) {
      throw new HeddleError('HDL_NOT_STEERABLE', { run: id, action: 'sent signals' })
    }
    await journal.post(id, { kind: 'signal', name, value, by })
  }

  /**
   * Starts nothing any more and waits for the runs to end.
   *
   * *Cancellation*: the signal ends the wait. Unfinished runs stay in the journal, and are resumed by the next start.
   */
  async drain(signal: AbortSignal): Promise<boolean> {
    this.#draining.abort()
    await endsBefore(signal, this.#allEnded(), this.#options.kernel.clock)
    return this.#runs.size + this.#opening.size === 0
  }

  async #allEnded(): Promise<void> {
    while (this.#runs.size + this.#opening.size > 0) {
      await Promise.allSettled([
        ...this.#opening,
        ...Array.from(this.#runs.values(), (own) => own.ended),
      ])
    }
  }

  /** O5. @throws `HDL_UNKNOWN_GRAPH`, `HDL_TIMEOUT`, `HDL_DRAINING`; what the function throws. *Cancellation*: none of its own. */
  async #makeGraph(name: string, args: unknown): Promise<Graph> {
    const { graphs, kernel } = this.#options
    const { signal } = this.#draining
    const made = makeGraph(graphs, name, args)
    const limits = { deadline: graphWithin, signal }
    try {
      return await waitFor(made, `The function of graph "${name}"`, kernel.clock, limits)
    } catch (error) {
      throw signal.aborted ? draining() : error
    }
  }

  /** Opens a run and steers it from then on. */
  async #startRun(graph: Graph, labels: RunLabels, options: RunOptions): Promise<Run> {
    const opening = startRun(graph, { ...this.#environment(labels), ...options })
    this.#opening.add(opening)
    try {
      const run = await opening
      this.adopt(run)
      return run
    } finally {
      this.#opening.delete(opening)
    }
  }

  #environment({
    tenant = commonTenant,
  }: RunLabels): Pick<RunOptions, 'journal' | 'artifacts' | 'capacity' | 'places' | 'kernel'> {
    const { journal, artifacts: store, capacity, placesOf, kernel } = this.#options
    const places = placesOf(tenant)
    const artifacts = store === undefined ? {} : { store }
    return { journal, artifacts, capacity, places, kernel }
  }

  /** Steers a run of this process until it has ended. */
  adopt(run: Run): void {
    if (run.isRecorded) return
    const id = run.id!
    const settled = (): void => {
      if (this.#runs.delete(id)) this.#rate.freed()
      this.#ended.delete(id)
      this.#ended.add(id)
      if (this.#ended.size > mostRemembered) this.#ended.delete(this.#ended.values().next().value!)
      this.#options.onEnded?.(id)
    }
    const ended = run.result.then(settled, (error: unknown) => {
      settled()
      this.#options.log('warning', `Run ${id} ended with an error: ${String(error)}`)
    })
    if (!this.#runs.has(id)) this.#rate.taken()
    this.#runs.set(id, { run, ended })
  }

  async #steer(id: string, action: string, steer: (run: Run) => void): Promise<SteerAnswer> {
    const own = this.#runs.get(id)
    if (own === undefined) {
      const outcome = outcomeOf(await this.#options.journal.overview(id))
      if (hasEnded(outcome)) {
        return { run: id, outcome, changed: false }
      }
      throw new HeddleError('HDL_NOT_STEERABLE', { run: id, action })
    }
    const { scheduler } = own.run
    const before = scheduler.state
    steer(own.run)
    const { state } = scheduler
    const outcome =
      state === 'finished' ? ((await own.run.result).ok ? 'succeeded' : 'failed') : state
    return { run: id, outcome, changed: state !== before }
  }

  #checkOpen(): void {
    if (this.#draining.signal.aborted) throw draining()
    const { most } = this.#options
    if (this.#runs.size < most) return
    throw new HeddleError('HDL_OVERLOADED', {
      what: 'The list of runs',
      retryAfter: this.#rate.retryAfter(),
    })
  }
}

function draining(): HeddleError {
  return new HeddleError('HDL_DRAINING', { what: 'The server' })
}

/** The arguments of its graph. */
function argsOf(labels: Readonly<Record<string, string>>): unknown {
  return labels['args'] === undefined ? undefined : (JSON.parse(labels['args']) as unknown)
}
