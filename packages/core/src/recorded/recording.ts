/**
 * From the rows of a run to a recording that can be played again.
 *
 * Rows have whole milliseconds, and many have the same. Each gets an instant of its own, so that the clock
 * of the replay distinguishes them: its time, or a thousandth after the row before it.
 *
 * A success is written before the scheduler is notified: dependents become ready only when it is
 * durable, and other attempts may end in between. So a success counts from where its first consequence is,
 * if it has one.
 *
 * There are two kinds of recording:
 *   free  all nodes are there from the start, and the scheduler starts them as it will
 *   held  each node is added when it started. For runs whose order was made by something that the journal
 *         does not keep: priorities, resources, a limit that was changed on the way
 *
 * Known limit: a held recording cannot say that a node was ready to be tried again and waited for a slot
 * when the run was cancelled. The maker of a recording plays it to see whether it is true.
 */
import type { HistoryEntry, NodeSnapshot, RunSnapshot } from '../journal/journal.ts'
import type { RecordedAttempt, RecordedNode, RecordedRun } from '../run/replay.ts'
import type { NodeState } from '../scheduler/node.ts'
import { concurrencyOf } from './recorded-concurrency.ts'

export type RecordingKind = 'free' | 'held'

export interface Recording {
  readonly kind: RecordingKind
  readonly run: RecordedRun
  /** The expected outcome of a replay. */
  readonly starts: readonly string[]
  readonly ends: readonly string[]
  readonly states: ReadonlyMap<string, NodeState>
}

type NodeRow = HistoryEntry & { readonly kind: 'node' }
type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** The rows of the last process that ran the run. */
export function lastSession(rows: readonly HistoryEntry[]): readonly HistoryEntry[] {
  const start = rows.findLastIndex((row) => row.kind === 'run' && row.by !== undefined)
  return rows.slice(Math.max(0, start))
}

/** `rows`: of the last session. */
export function makeRecording(
  kind: RecordingKind,
  snapshot: RunSnapshot,
  rows: readonly HistoryEntry[],
): Recording {
  const builder = new RecordingBuilder(kind)
  for (const event of eventsOf(rows, snapshot.nodes)) builder.add(event)
  return builder.finish(snapshot)
}

interface RecordedEvent {
  readonly row: HistoryEntry
  /** Milliseconds since the first start. */
  readonly at: number
}

const step = 0.001

/** Rows in the order in which the scheduler knew of them, each at an instant of its own. */
function* eventsOf(
  rows: readonly HistoryEntry[],
  nodes: readonly NodeSnapshot[],
): Generator<RecordedEvent, void, undefined> {
  const first = rows.find((row) => row.kind === 'node' && row.state === 'running')
  const zero = first?.at ?? rows[0]?.at ?? 0
  let last = 0
  for (const row of inOrderOfEffect(rows, nodes)) {
    if (row.kind === 'nodes' || row.kind === 'log') continue
    last = Math.max(row.at - zero, last + 2 * step)
    yield { row, at: thousandths(last) }
  }
}

function thousandths(time: number): number {
  return Math.round(time * 1_000) / 1_000
}

function inOrderOfEffect(
  rows: readonly HistoryEntry[],
  nodes: readonly NodeSnapshot[],
): readonly HistoryEntry[] {
  const after = new Map(nodes.map((node) => [node.name, node.after]))
  /** Where each node succeeded. */
  const successes = new Map<string, number>()
  /** The first row that a success led to. */
  const effects = new Map<number, number>()
  for (const [i, row] of rows.entries()) {
    if (row.kind !== 'node') continue
    if (row.state === 'succeeded') successes.set(row.node, i)
    if (row.state !== 'ready' || row.attempt > 0) continue
    const causes = (after.get(row.node) ?? [])
      .map((name) => successes.get(name))
      .filter((at) => at !== undefined)
    const cause = causes.length === 0 ? undefined : Math.max(...causes)
    if (cause !== undefined && !effects.has(cause)) effects.set(cause, i - 0.5)
  }
  return rows
    .map((row, i) => ({ row, order: effects.get(i) ?? i }))
    .sort((a, b) => a.order - b.order)
    .map(({ row }) => row)
}

interface OpenNode {
  readonly attempts: Writable<RecordedAttempt>[]
  isRunning: boolean
  /** Whether its next start continues the same attempt. */
  isSuspended: boolean
  /**
   * When it is added to a held recording: at its first start, or where it was blocked. Undefined for a node that
   * was never started and never will be: it is left out.
   */
  addedAt: number | undefined
  failedAt: number | undefined
}

type Control = NonNullable<RecordedRun['controls']>[number]

class RecordingBuilder {
  readonly #kind: RecordingKind
  readonly #nodes = new Map<string, OpenNode>()
  readonly #starts: string[] = []
  readonly #ends: string[] = []
  readonly #controls: Control[] = []
  #isPaused = false
  #isCancelled = false
  #isAborted = false
  #last = 0

  constructor(kind: RecordingKind) {
    this.#kind = kind
  }

  add({ row, at }: RecordedEvent): void {
    this.#last = at
    if (row.kind === 'run') this.#control(row.state, at)
    else if (row.kind === 'node') this.#move(row, at)
  }

  finish(snapshot: RunSnapshot): Recording {
    const isCut = snapshot.endedAt === undefined
    const isHeld = this.#kind === 'held'
    const nodes: RecordedNode[] = []
    const states = new Map<string, NodeState>()
    for (const { name, after, state } of snapshot.nodes) {
      const own = this.#nodes.get(name)
      const isDone = own === undefined && state === 'succeeded'
      if (isHeld && !isDone && own?.addedAt === undefined) continue
      states.set(name, state)
      nodes.push({
        name,
        ...(after.length > 0 && { after }),
        ...(own !== undefined && own.attempts.length > 0 && { attempts: own.attempts }),
        ...(isDone && { done: true }),
        ...(isHeld && !isDone && { addedAt: own!.addedAt! }),
      })
    }
    const run: RecordedRun = {
      concurrency: isHeld ? Infinity : concurrencyOf(snapshot.options),
      nodes,
      ...(this.#controls.length > 0 && { controls: this.#controls }),
      ...(isCut && { cutAt: thousandths(this.#last + step) }),
    }
    return { kind: this.#kind, run, starts: this.#starts, ends: this.#ends, states }
  }

  #control(state: string, at: number): void {
    const isPaused = state === 'paused'
    if (isPaused !== this.#isPaused && (isPaused || state === 'running')) {
      this.#controls.push({ at, action: isPaused ? 'pause' : 'resume' })
      this.#isPaused = isPaused
    }
    if (state !== 'draining') return
    this.#isCancelled = true
    this.#controls.push({ at, action: 'cancel' })
  }

  #move(row: NodeRow, at: number): void {
    let node = this.#nodes.get(row.node)
    if (node === undefined) {
      node = {
        attempts: [],
        isRunning: false,
        isSuspended: false,
        addedAt: undefined,
        failedAt: undefined,
      }
      this.#nodes.set(row.node, node)
    }
    switch (row.state) {
      case 'waiting':
        break
      case 'suspended':
        node.isSuspended = true
        break
      case 'ready':
        node.isSuspended = false
        if (this.#kind === 'free') retried(node, at)
        break
      case 'running':
        if (node.isSuspended) {
          node.isSuspended = false
          break
        }
        if (this.#kind === 'held') retried(node, at)
        node.addedAt ??= at
        node.isRunning = true
        node.attempts.push({})
        this.#starts.push(row.node)
        break
      case 'retrying':
        this.#end(node, row, at)
        node.failedAt = at
        // The time until it was ready again.
        if (row.delay !== undefined) node.attempts.at(-1)!.retryIn = row.delay
        break
      case 'cancelled':
        if (node.isRunning) this.#abort(at)
        this.#end(node, row, at)
        break
      case 'succeeded':
      case 'failed':
      case 'blocked':
      case 'skipped':
        this.#end(node, row, at)
        break
    }
  }

  /** That a cancel became an abort is not recorded. It did before the first attempt ended by it. */
  #abort(at: number): void {
    if (this.#isAborted) return
    this.#isAborted = true
    this.#controls.push({ at: thousandths(at - step), action: 'abort' })
  }

  #end(node: OpenNode, { node: name, state, error }: NodeRow, at: number): void {
    if (state === 'blocked' && !this.#isCancelled) node.addedAt ??= at
    if (!node.isRunning) return
    node.isRunning = false
    this.#ends.push(name)
    const attempt = node.attempts.at(-1)!
    attempt.endsAt = at
    if (state === 'cancelled' || state === 'succeeded') return
    const { name: kind, message, code } = error ?? { name: 'Error', message: 'unknown' }
    attempt.error = {
      ...(kind !== 'Error' && { name: kind }),
      message: message.length > longestMessage ? `${message.slice(0, longestMessage)}…` : message,
      ...(code !== undefined && { code }),
    }
  }
}

const longestMessage = 200

function retried(node: OpenNode, at: number): void {
  if (node.failedAt === undefined) return
  node.attempts.at(-1)!.retryIn = thousandths(at - node.failedAt)
  node.failedAt = undefined
}
