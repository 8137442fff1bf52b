/**
 * A run as it was recorded: the snapshot of the journal, and every attempt with its times.
 *
 * A run may have been interrupted and resumed. Each stretch in which a process worked on it is a session;
 * it is not known when an attempt ended that was cut off with its process, so it ends with the last row of its
 * session.
 *
 * Invariants, quoted by the tests:
 *  R1  Attempts of a node do not overlap, and none starts before it was queued.
 *  R2  Only the last attempt of a node can be running, and only while the run is being written.
 *  R3  A record up to a row says the same as a record that was read when that row was the last.
 */
import type { Moment } from './moment.ts'
import type {
  ErrorRecord,
  HistoryEntry,
  Journal,
  LogLine,
  NodeSnapshot,
  RunHolder,
  RunSnapshot,
} from '../journal/journal.ts'
import { isHeld } from '../journal/states.ts'
import type { TimedNode } from '../scheduler/recorded-times.ts'

export type AttemptOutcome =
  | 'running'
  | 'succeeded'
  | 'failed'
  | 'cancelled'
  /** The process of the run ended before the run. */
  | 'interrupted'

export interface AttemptRecord {
  /** Counts from 1, over all sessions. */
  readonly number: number
  /** Milliseconds since 1970, like all times here. */
  readonly queuedAt: number
  readonly startedAt: number
  /** For a running one: the last time that is known of its run. */
  readonly endedAt: number
  readonly outcome: AttemptOutcome
  readonly error?: ErrorRecord
  /** Stretches in which it was suspended, in order. Absent when there were none. */
  readonly suspended?: readonly (readonly [from: number, to: number])[]
}

export interface NodeRecord extends NodeSnapshot {
  readonly attempts: readonly AttemptRecord[]
  /** Since when it is ready and has not started. */
  readonly queuedAt: number | undefined
  /** Start of the first attempt that led to its end: earlier ones were cut off or failed. */
  readonly firstStartedAt: number | undefined
  /**
   * For a node with elements or steps, milliseconds before that: elements that had succeeded when it failed, was
   * cancelled or was cut off with its process were not run again. Absent when there are none.
   */
  readonly keptTime?: number
  /** When the next attempt is due, while it is retrying. */
  readonly retryAt?: number
  /** How many lines it logged. Absent when there are none. */
  readonly logLines?: number
}

export interface SessionRecord {
  readonly startedAt: number
  readonly endedAt: number
  readonly by: RunHolder
}

export interface RunRecord extends Omit<RunSnapshot, 'nodes'> {
  readonly nodes: readonly NodeRecord[]
  readonly sessions: readonly SessionRecord[]
  /** Milliseconds in which it was being worked on. */
  readonly elapsed: number
  /** The last that is known of it, or now while it runs. */
  readonly until: number
  /** The first and the last row of the run, whatever the record leaves out. */
  readonly rows: readonly [first: number, last: number]
  /** Empty unless it was asked for. */
  readonly log: readonly LogLine[]
}

export interface RecordOptions {
  /** Leaves out all rows after this moment. */
  readonly upTo?: Moment
  /** Wall time: for running attempts. */
  readonly now: number
  /** Whether the log is wanted: it may be most of a run. Default false. */
  readonly log?: boolean
}

/**
 * Reads a run. While it is being written, only the rows that exist at the start are read.
 *
 * *Cancellation*: none; it reads the current state.
 * @throws `HDL_UNKNOWN_RUN`, `HDL_JOURNAL_DAMAGED`.
 */
export async function readRecord(
  journal: Pick<Journal, 'snapshot' | 'history'>,
  id: string,
  { upTo, now, log = false }: RecordOptions,
): Promise<RunRecord> {
  const snapshot = await journal.snapshot(id, upTo && { upTo: upTo.position })
  const builder = new RecordBuilder(log)
  let last = snapshot.position
  let first: number | undefined
  for await (const entry of journal.history(id)) {
    first ??= entry.position
    last = Math.max(last, entry.position)
    // The rest is read only for where the run ends, which no caller asks for unless it is left out.
    if (entry.position <= snapshot.position) builder.add(entry)
    else if (upTo === undefined) break
  }
  const rows = [first ?? 0, upTo === undefined ? snapshot.position : last] as const
  // A point in the past ends where the next row begins to count.
  const isPast = upTo !== undefined && snapshot.position < last
  return builder.finish(snapshot, rows, isPast ? upTo.at : now)
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

interface OpenNode {
  readonly attempts: Writable<AttemptRecord>[]
  queuedAt: number | undefined
  firstStartedAt: number | undefined
  /** Whether it has elements or steps. */
  hasParts: boolean
  keptTime: number
  running: Writable<AttemptRecord> | undefined
  retryAt: number | undefined
  /** Since when it is suspended: the next start continues the same attempt. */
  suspendedAt: number | undefined
}

class RecordBuilder {
  readonly #nodes = new Map<string, OpenNode>()
  readonly #sessions: Writable<SessionRecord>[] = []
  readonly #log: LogLine[] = []
  readonly #lines = new Map<string, number>()
  readonly #wantsLog: boolean
  #lastAt = 0

  constructor(wantsLog: boolean) {
    this.#wantsLog = wantsLog
  }

  add(entry: HistoryEntry): void {
    switch (entry.kind) {
      case 'run':
        if (entry.by !== undefined) this.#openSession(entry.at, entry.by)
        break
      case 'node':
        this.#move(entry)
        break
      case 'log': {
        this.#lines.set(entry.node, (this.#lines.get(entry.node) ?? 0) + 1)
        if (!this.#wantsLog) break
        const { node, attempt, at, text } = entry
        this.#log.push({ node, attempt, at, text })
        break
      }
      case 'nodes':
        break
      case 'part':
        this.#addPart(this.#open(entry.node), entry)
        break
    }
    this.#lastAt = entry.at
    const session = this.#sessions.at(-1)
    if (session !== undefined) session.endedAt = Math.max(session.startedAt, entry.at)
  }

  /** `now`: the requested moment, if the run was going on then. */
  finish(snapshot: RunSnapshot, rows: RunRecord['rows'], now: number): RunRecord {
    const isLive = isHeld(snapshot.state)
    const until = isLive ? Math.max(now, this.#lastAt) : this.#lastAt
    const session = this.#sessions.at(-1)
    if (session !== undefined && isLive) session.endedAt = until
    if (isLive) this.#extend(until)
    else this.#cutOff()
    const nodes = snapshot.nodes.map((node): NodeRecord => {
      const found = this.#nodes.get(node.name)
      const { attempts = [], queuedAt, firstStartedAt, retryAt, keptTime = 0 } = found ?? {}
      const { running, suspendedAt } = found ?? {}
      if (suspendedAt !== undefined) addSuspension(running, suspendedAt, until)
      const logLines = this.#lines.get(node.name)
      return {
        ...node,
        attempts,
        queuedAt,
        firstStartedAt,
        ...(keptTime > 0 && { keptTime }),
        ...(retryAt !== undefined && { retryAt }),
        ...(logLines !== undefined && { logLines }),
      }
    })
    const { elapsed: recorded = 0 } = snapshot
    // For a live run, time continues after its last row.
    const elapsed = isLive ? recorded + Math.max(0, until - this.#lastAt) : recorded
    const { sessions, log } = { sessions: this.#sessions, log: this.#log }
    return { ...snapshot, nodes, sessions, elapsed, until, rows, log }
  }

  #openSession(at: number, by: RunHolder): void {
    this.#cutOff()
    for (const node of this.#nodes.values()) node.queuedAt = undefined
    this.#sessions.push({ startedAt: at, endedAt: at, by })
  }

  #addPart(node: OpenNode, { part, state }: HistoryEntry & { readonly kind: 'part' }): void {
    node.hasParts = true
    if (part.path !== '' || state !== 'skipped') return
    // None of its parts is used any more.
    node.keptTime = 0
    node.firstStartedAt = undefined
  }

  /** What runs ended, somehow, with the last row. */
  #cutOff(): void {
    for (const node of this.#nodes.values()) {
      if (node.running === undefined) continue
      node.running.endedAt = Math.max(node.running.startedAt, this.#lastAt)
      node.running.outcome = 'interrupted'
      node.running = undefined
      keepTime(node, this.#lastAt)
    }
  }

  #extend(until: number): void {
    for (const { running } of this.#nodes.values()) {
      if (running !== undefined) running.endedAt = Math.max(running.startedAt, until)
    }
  }

  #open(name: string): OpenNode {
    let node = this.#nodes.get(name)
    if (node === undefined) {
      node = {
        attempts: [],
        queuedAt: undefined,
        firstStartedAt: undefined,
        hasParts: false,
        keptTime: 0,
        running: undefined,
        retryAt: undefined,
        suspendedAt: undefined,
      }
      this.#nodes.set(name, node)
    }
    return node
  }

  #move(row: HistoryEntry & { readonly kind: 'node' }): void {
    const node = this.#open(row.node)
    const { suspendedAt } = node
    node.suspendedAt = row.state === 'suspended' ? row.at : undefined
    node.retryAt = row.state === 'retrying' ? row.at + (row.delay ?? 0) : undefined
    if (suspendedAt !== undefined) {
      addSuspension(node.running, suspendedAt, row.at)
      if (row.state === 'running') return
    }
    switch (row.state) {
      case 'suspended':
        break
      case 'ready':
        node.queuedAt = row.at
        break
      case 'running': {
        const { at } = row
        // It had ended, and starts again.
        if (row.attempt === 0 && node.firstStartedAt !== undefined) {
          keepTime(node, node.attempts.at(-1)?.endedAt ?? at)
        }
        node.firstStartedAt ??= at
        node.running = {
          number: node.attempts.length + 1,
          queuedAt: Math.min(node.queuedAt ?? at, at),
          startedAt: at,
          endedAt: at,
          outcome: 'running',
        }
        node.attempts.push(node.running)
        node.queuedAt = undefined
        break
      }
      case 'retrying':
        end(node, 'failed', row)
        break
      case 'succeeded':
      case 'failed':
      case 'cancelled':
        end(node, row.state, row)
        break
      case 'waiting':
      case 'blocked':
      case 'skipped':
        node.queuedAt = undefined
        break
    }
  }
}

/** The node starts again. Its work up to `endedAt` is used again if it is in elements or steps. */
function keepTime(node: OpenNode, endedAt: number): void {
  const { firstStartedAt = endedAt } = node
  node.keptTime = node.hasParts ? node.keptTime + Math.max(0, endedAt - firstStartedAt) : 0
  node.firstStartedAt = undefined
}

function addSuspension(
  attempt: Writable<AttemptRecord> | undefined,
  from: number,
  to: number,
): void {
  if (attempt === undefined) return
  // One list for all of them: a job with a million steps has as many stretches.
  const stretches = (attempt.suspended ??= []) as (readonly [from: number, to: number])[]
  stretches.push([from, Math.max(from, to)])
}

function end(
  node: OpenNode,
  outcome: AttemptOutcome,
  { at, error }: HistoryEntry & { readonly kind: 'node' },
): void {
  const { running } = node
  node.queuedAt = undefined
  if (running === undefined) return
  running.endedAt = Math.max(running.startedAt, at)
  running.outcome = outcome
  if (error !== undefined) running.error = error
  node.running = undefined
}

/** Milliseconds in which a node ran, in all attempts. */
export function runTime({ attempts }: Pick<NodeRecord, 'attempts'>): number {
  return attempts.reduce((sum, { startedAt, endedAt }) => sum + endedAt - startedAt, 0)
}

/** Milliseconds in which a node was ready and waited for a slot, before all attempts. */
export function queueTime(
  { attempts, queuedAt }: Pick<NodeRecord, 'attempts' | 'queuedAt'>,
  until: number,
): number {
  const before = attempts.reduce((sum, each) => sum + each.startedAt - each.queuedAt, 0)
  return before + (queuedAt === undefined ? 0 : Math.max(0, until - queuedAt))
}

/**
 * From the first start to the end, back-off included, without the time between processes: the input of the critical
 * path.
 */
export function timedNodes({ nodes }: Pick<RunRecord, 'nodes'>): TimedNode[] {
  return nodes.map((node) => {
    const { name, after, parent, state, firstStartedAt, keptTime = 0, endedAt } = node
    const isRun = (state === 'succeeded' || state === 'failed') && firstStartedAt !== undefined
    if (!isRun) return { name, after, parent }
    const first = node.attempts.find(({ startedAt }) => startedAt === firstStartedAt)
    const readyAt = first?.queuedAt
    return { name, after, parent, readyAt, startedAt: firstStartedAt - keptTime, endedAt }
  })
}
