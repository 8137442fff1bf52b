/**
 * A run as people see it: the sum of its events.
 *
 * Every event costs O(1), and the data that a frame reads is bounded: a graph may have 100,000 nodes, and
 * events come faster than a view is drawn.
 *
 * Invariants, quoted by the tests:
 *  M1  The counts of all states add up to the number of nodes, after every event.
 *  M2  A node under way, or with an unhappy end, is in the list of its state and in no other.
 *  M3  The counts of a job are those of its nodes; a job with running nodes is in the list of running jobs.
 *  M4  Lists that are kept for looking back (recent, trouble, log) are bounded.
 *  M5  A suspended node is shown as running while something of it runs: an element of a map, a step of a job, a node of
 *      a sub-graph. It is shown as suspended again when all that is left of it sleeps or waits for signals.
 */
import type { Graph, Job, NodeState, PlaceName, RunEvent, RunState } from '@heddle/core'
import { printable, printableLines } from '../text/terminal-text.ts'
import { formatErrorWithCause } from '../text/format.ts'
import { Backlog } from './backlog.ts'
import { Ring } from './ring.ts'

/** All nodes of one job. */
export interface JobRow {
  /** Printable. */
  readonly name: string
  readonly place: PlaceName
  readonly counts: Counts
  total: number
  /** The running nodes, in the order in which they started. */
  readonly running: Set<NodeRow>
  /** The ready nodes, once there were any. */
  ready: Backlog<NodeRow> | undefined
}

/** From this many nodes of one job in one state on, they share one line: `fetch ×16`. */
export const groupFrom = 4

/** How much of a node is at work: elements of a map, steps of a job, nodes of a sub-graph. */
export interface Activity {
  running: number
  /** Ready, or tried again after a pause. */
  waiting: number
  suspended: number
}

type PartState = keyof Activity

/** One node as it stands. Times are on the clock's monotonic scale. */
export interface NodeRow {
  /** Its name in the graph. */
  readonly key: string
  /** Its name, printable. */
  readonly name: string
  readonly place: PlaceName
  readonly job: JobRow
  /** How often a failed attempt is tried again. */
  readonly retries: number
  /** The state that is shown: see M5. */
  state: NodeState
  /** Whether the scheduler has it as suspended. */
  isSuspended: boolean
  /** The sub-graph that it belongs to. */
  readonly parent: NodeRow | undefined
  /** Only for a node that has parts. */
  activity: Activity | undefined
  /** Parts that have not ended, at most a window of a map: their states. */
  parts: Map<string, PartState> | undefined
  attempt: number
  /** Start of the first attempt. */
  startedAt: number | undefined
  endedAt: number | undefined
  /** When the next attempt is due, while retrying. */
  retryAt: number | undefined
  /** The progress of the attempt, in one printable line. */
  progress: string | undefined
  /** The wait of a suspended node, as far as it was requested. Printable. */
  waitsFor: string | undefined
  /** The problem of the last failed attempt, in one printable line. */
  problem: string | undefined
  /** Printable. */
  blockedBy: string | undefined
  /** How many nodes this one keeps from running. */
  blocks: number
  /** Finished by an earlier run. */
  reused: boolean
}

export interface LogEntry {
  readonly at: number
  /** Printable. */
  readonly name: string
  /** Printable lines. */
  readonly lines: readonly string[]
}

export interface ModelOptions {
  readonly title: string
  /** How often a failed attempt is tried again, where a node does not say. */
  readonly retries: number
}

export type Counts = Record<NodeState, number>

/**
 * States of which the nodes are shown one by one. For the others there is no list: one of 100,000 entries
 * costs a pause of milliseconds each time it grows.
 */
const listedStates = ['running', 'suspended', 'retrying', 'failed', 'blocked', 'cancelled'] as const
export type ListedState = (typeof listedStates)[number]

/** How much is kept for looking back. */
const outcomesKept = 30
const logKept = 200

const noNodes: Readonly<Counts> = {
  waiting: 0,
  ready: 0,
  running: 0,
  retrying: 0,
  suspended: 0,
  succeeded: 0,
  failed: 0,
  blocked: 0,
  skipped: 0,
  cancelled: 0,
}

function newJobRow({ name, place }: Pick<Job, 'name' | 'place'>): JobRow {
  return {
    name: printable(name),
    place,
    counts: { ...noNodes },
    total: 0,
    running: new Set(),
    ready: undefined,
  }
}

export class RunModel {
  readonly title: string
  readonly counts: Counts
  /** What succeeded last. */
  readonly recent: Ring<NodeRow> = new Ring(outcomesKept)
  /** The nodes that failed or were cancelled last. */
  readonly trouble: Ring<NodeRow> = new Ring(outcomesKept)
  readonly log: Ring<LogEntry> = new Ring(logKept)
  state: RunState = 'idle'
  startedAt: number | undefined
  endedAt: number | undefined
  /** Grows with every change: equal numbers mean an equal picture, but for the time. */
  version = 0
  readonly #rows: NodeRow[] = []
  readonly #runningJobs = new Set<JobRow>()
  /** Jobs of nodes that joined later: of these only names are known. */
  readonly #joinedJobs = new Map<string, JobRow>()
  readonly #retries: number
  #reused = 0
  readonly #byName = new Map<string, NodeRow>()
  readonly #lists: ReadonlyMap<NodeState, Set<NodeRow>> = new Map(
    listedStates.map((state) => [state, new Set()]),
  )
  /** Jobs of which nodes are ready. */
  readonly #readyJobs = new Backlog<JobRow>(({ counts }) => counts.ready > 0)
  readonly #waiting: Backlog<NodeRow>

  constructor(graph: Graph, options: ModelOptions) {
    this.title = printable(options.title)
    this.#retries = options.retries
    const jobs = new Map<Job, JobRow>()
    for (const { name, job, options: own } of graph.nodes()) {
      let jobRow = jobs.get(job)
      if (jobRow === undefined) jobs.set(job, (jobRow = newJobRow(job)))
      this.#addRow(name, jobRow, own.retries ?? job.retries ?? options.retries)
    }
    this.#waiting = new Backlog(({ state }) => state === 'waiting', this.#rows)
    this.counts = { ...noNodes, waiting: this.#rows.length }
  }

  #addRow(name: string, jobRow: JobRow, retries: number, parent?: NodeRow): NodeRow {
    jobRow.total++
    jobRow.counts.waiting++
    const row: NodeRow = {
      key: name,
      name: printable(name),
      place: jobRow.place,
      job: jobRow,
      retries,
      state: 'waiting',
      isSuspended: false,
      parent,
      activity: undefined,
      parts: undefined,
      attempt: 0,
      startedAt: undefined,
      endedAt: undefined,
      retryAt: undefined,
      progress: undefined,
      waitsFor: undefined,
      problem: undefined,
      blockedBy: undefined,
      blocks: 0,
      reused: false,
    }
    this.#rows.push(row)
    this.#byName.set(name, row)
    return row
  }

  /** Nodes of a sub-graph have joined the run. */
  #join({ name: subgraph, added }: RunEvent & { type: 'nodes' }): void {
    const parent = this.#byName.get(subgraph)
    for (const { name, job, place } of added) {
      if (this.#byName.has(name)) continue
      const key = `${place} ${job}`
      let jobRow = this.#joinedJobs.get(key)
      if (jobRow === undefined)
        this.#joinedJobs.set(key, (jobRow = newJobRow({ name: job, place })))
      this.#waiting.push(this.#addRow(name, jobRow, this.#retries, parent))
      this.counts.waiting++
    }
  }

  /** All nodes, in the order of the graph; those that joined it later come last. */
  get rows(): readonly NodeRow[] {
    return this.#rows
  }

  get total(): number {
    return this.#rows.length
  }

  /** Nodes that will not change any more. */
  get ended(): number {
    const { succeeded, failed, blocked, skipped, cancelled } = this.counts
    return succeeded + failed + blocked + skipped + cancelled
  }

  /** Nodes that an earlier run has finished. */
  get reused(): number {
    return this.#reused
  }

  /** Jobs of which nodes run, in the order in which the first of these started. */
  get runningJobs(): ReadonlySet<JobRow> {
    return this.#runningJobs
  }

  /** Nodes of one state, in the order in which they came into it. */
  in(state: ListedState): ReadonlySet<NodeRow> {
    return this.#lists.get(state)!
  }

  /** The row of a node, by its name in the graph. */
  get(key: string): NodeRow | undefined {
    return this.#byName.get(key)
  }

  /**
   * The nodes that will start next, as far as known: the first ready nodes, and the first waiting
   * nodes in graph order. Each group gets half of the limit, and what the other group leaves. A job
   * with many nodes in one state is represented by the first of them.
   */
  upcoming(limit: number): NodeRow[] {
    const ready = this.#firstReady(limit)
    const waiting = firstOfGroups(this.#waiting.first(waitingLookedAt)).slice(0, limit)
    const half = Math.ceil(limit / 2)
    const readyShare = Math.max(half, limit - waiting.length)
    const shown = ready.slice(0, readyShare)
    return [...shown, ...waiting.slice(0, limit - shown.length)]
  }

  #firstReady(limit: number): NodeRow[] {
    const rows: NodeRow[] = []
    for (const job of this.#readyJobs.first(limit)) {
      if (rows.length >= limit) break
      const { ready } = job.counts
      rows.push(...job.ready!.first(ready >= groupFrom ? 1 : ready))
    }
    return rows.slice(0, limit)
  }

  apply(event: RunEvent): void {
    this.version++
    switch (event.type) {
      case 'start':
        this.startedAt = event.at
        break
      case 'state':
        this.state = event.state
        break
      case 'node':
        this.#moveNode(event)
        break
      case 'nodes':
        this.#join(event)
        break
      case 'part':
        // A map reports how many of its elements have ended as its progress.
        this.#movePart(event)
        break
      case 'log':
        this.log.push({
          at: event.at,
          name: printable(event.name),
          lines: printableLines(event.text),
        })
        break
      case 'progress': {
        const row = this.#byName.get(event.name)
        const text = event.text === undefined ? '' : `: ${printable(event.text)}`
        if (row !== undefined) row.progress = `${Math.round(event.fraction * 100)} %${text}`
        break
      }
      case 'complete':
        this.endedAt = event.at
        break
    }
  }

  #moveNode(event: RunEvent & { type: 'node' }): void {
    const row = this.#byName.get(event.name)
    if (row === undefined) return
    const { state, at } = event
    const before = partStateOf(row.state)
    row.isSuspended = state === 'suspended'
    this.#show(row, row.isSuspended && (row.activity?.running ?? 0) > 0 ? 'running' : state)
    if (row.parent !== undefined) this.#count(row.parent, before, partStateOf(row.state))
    // Each attempt starts from nothing.
    if (row.attempt !== event.attempt) row.progress = undefined
    row.attempt = event.attempt
    row.retryAt = event.delay === undefined ? undefined : at + event.delay
    if (event.error !== undefined)
      row.problem = printableLines(formatErrorWithCause(event.error)).join(' ')
    switch (state) {
      case 'waiting':
        this.#waiting.push(row)
        break
      case 'ready':
        this.#pushReady(row)
        break
      case 'retrying':
      case 'suspended':
        break
      case 'running':
        row.startedAt ??= at
        break
      case 'blocked':
        row.endedAt = at
        row.blockedBy = printable(event.blockedBy ?? '')
        this.#countBlocked(event.blockedBy)
        break
      case 'succeeded':
        row.endedAt = at
        // A node that succeeds before the run has started was finished by an earlier run.
        if (row.startedAt === undefined) {
          row.reused = true
          this.#reused++
        } else this.recent.push(row)
        break
      case 'failed':
      case 'cancelled':
        row.endedAt = at
        this.trouble.push(row)
        break
      case 'skipped':
        row.endedAt = at
        break
    }
  }

  #show(row: NodeRow, state: NodeState): void {
    this.counts[row.state]--
    this.counts[state]++
    this.#moveInJob(row, state)
    if (row.state !== state) {
      this.#lists.get(row.state)?.delete(row)
      this.#lists.get(state)?.add(row)
    }
    row.state = state
  }

  #pushReady(row: NodeRow): void {
    const { job } = row
    job.ready ??= new Backlog(({ state }) => state === 'ready')
    job.ready.push(row)
    if (job.counts.ready === 1) this.#readyJobs.push(job)
  }

  #movePart({ name, path, state }: RunEvent & { type: 'part' }): void {
    const row = this.#byName.get(name)
    if (row === undefined) return
    row.parts ??= new Map()
    const before = row.parts.get(path)
    const after = partStateOf(state)
    if (after === undefined) row.parts.delete(path)
    else row.parts.set(path, after)
    this.#count(row, before, after)
  }

  /** M5: a part of a node has changed its state. */
  #count(row: NodeRow, before: PartState | undefined, after: PartState | undefined): void {
    if (before === after) return
    const activity = (row.activity ??= { running: 0, waiting: 0, suspended: 0 })
    if (before !== undefined) activity[before]--
    if (after !== undefined) activity[after]++
    if (!row.isSuspended) return
    // Between two elements nothing runs for an instant: a ready node keeps the picture unchanged.
    const shown =
      activity.running > 0 ? 'running' : activity.waiting > 0 ? row.state : ('suspended' as const)
    if (shown === row.state) return
    const own = partStateOf(row.state)
    this.#show(row, shown)
    if (row.parent !== undefined) this.#count(row.parent, own, partStateOf(shown))
  }

  #moveInJob(row: NodeRow, state: NodeState): void {
    const { job } = row
    job.counts[row.state]--
    job.counts[state]++
    if (state === 'running') {
      job.running.add(row)
      this.#runningJobs.add(job)
    } else if (job.running.delete(row) && job.running.size === 0) this.#runningJobs.delete(job)
  }

  #countBlocked(cause: string | undefined): void {
    const row = cause === undefined ? undefined : this.#byName.get(cause)
    if (row !== undefined) row.blocks++
  }
}

/** How many waiting nodes are read: of a job with many, only the first is shown. */
const waitingLookedAt = 100

/** Keeps only the first of the nodes that share one line. */
function firstOfGroups(rows: readonly NodeRow[]): NodeRow[] {
  const seen = new Set<JobRow>()
  return rows.filter(({ job, state }) => {
    if (job.counts[state] < groupFrom) return true
    const isFirst = !seen.has(job)
    seen.add(job)
    return isFirst
  })
}

/** Undefined for a part that has not begun or has ended. */
function partStateOf(state: NodeState): PartState | undefined {
  switch (state) {
    case 'running':
    case 'suspended':
      return state
    case 'ready':
    case 'retrying':
      return 'waiting'
    case 'waiting':
    case 'succeeded':
    case 'failed':
    case 'blocked':
    case 'skipped':
    case 'cancelled':
      return undefined
  }
}
