/** When nodes waited and ran. Times are milliseconds since the start of the run. */
import type { PlaceName } from '../graph/job.ts'
import type { CriticalPath } from '../scheduler/insight.ts'
import { nodeWord, type NodeWord } from './node-word.ts'
import type { AttemptOutcome, AttemptRecord, NodeRecord, RunRecord } from './run-record.ts'

/** `backoff`: between a failed attempt and the next time it was ready. */
export type TimeSpan =
  | { readonly kind: 'queue' | 'backoff'; readonly from: number; readonly to: number }
  | {
      readonly kind: 'run'
      readonly from: number
      readonly to: number
      readonly outcome: AttemptOutcome
      /**
       * Stretches in which the job slept or waited, for a signal or its own steps. Absent when there were none, and of maps and sub-graphs, of
       * which elements or nodes run meanwhile.
       */
      readonly suspended?: readonly Stretch[]
    }

export interface TimelineRow {
  readonly node: string
  readonly job: string
  readonly place: PlaceName
  readonly state: NodeWord
  readonly critical: boolean
  /** Milliseconds it could have ended later; null where that is not known. */
  readonly slack: number | null
  /** The spans in order, without overlaps. */
  readonly spans: readonly TimeSpan[]
}

/** A stretch in which nothing ran. */
export interface Stretch {
  readonly from: number
  readonly to: number
}

export interface Timeline {
  readonly rows: readonly TimelineRow[]
  /** Nodes that were never ready. */
  readonly idle: readonly NodeRecord[]
  /** Milliseconds from the start to the last that is known. */
  readonly length: number
}

export function timelineOf(record: RunRecord, criticalPath: CriticalPath): Timeline {
  const critical = new Set(criticalPath.path.map(({ name }) => name))
  const rows: TimelineRow[] = []
  const idle: NodeRecord[] = []
  for (const node of record.nodes) {
    const spans = spansOf(node, record)
    if (spans.length === 0) {
      idle.push(node)
      continue
    }
    rows.push({
      node: node.name,
      job: node.job,
      place: node.place,
      state: nodeWord(node),
      critical: critical.has(node.name),
      slack: criticalPath.slackOf(node.name) ?? null,
      spans,
    })
  }
  const length = rows.reduce(
    (most, { spans }) => Math.max(most, spans.at(-1)!.to),
    Math.max(0, record.until - record.startedAt),
  )
  return { rows: rows.sort((a, b) => startOf(a) - startOf(b)), idle, length }
}

/** First start of a row; a row that has not started sorts by when it was queued. */
function startOf({ spans }: TimelineRow): number {
  return (spans.find(({ kind }) => kind === 'run') ?? spans[0]!).from
}

function spansOf(node: NodeRecord, { startedAt: zero, until }: RunRecord): TimeSpan[] {
  const spans: TimeSpan[] = []
  // A clock that was set back must not make a bar that ends before it begins.
  let last = 0
  const add = (kind: 'queue' | 'backoff', to: number): void => {
    const from = last
    last = Math.max(last, to - zero)
    if (last > from) spans.push({ kind, from, to: last })
  }
  const addRun = ({ endedAt, outcome, suspended }: AttemptRecord): void => {
    const from = last
    last = Math.max(last, endedAt - zero)
    const stretches = node.grows === undefined ? suspended : undefined
    spans.push({
      kind: 'run',
      from,
      to: last,
      outcome,
      ...(stretches && {
        suspended: stretches.map(([begin, end]) => ({ from: begin - zero, to: end - zero })),
      }),
    })
  }
  let isRetry = false
  for (const attempt of node.attempts) {
    const { queuedAt, startedAt, outcome } = attempt
    if (isRetry) add('backoff', queuedAt)
    else last = Math.max(last, queuedAt - zero)
    add('queue', startedAt)
    addRun(attempt)
    isRetry = outcome === 'failed'
  }
  if (node.state === 'retrying') add('backoff', until)
  if (node.queuedAt !== undefined) {
    if (isRetry) add('backoff', node.queuedAt)
    else last = Math.max(last, node.queuedAt - zero)
    add('queue', until)
  }
  return spans
}

/** The stretches in which nothing ran, in order. */
export function idleStretches({ rows, length }: Timeline): Stretch[] {
  const busy = rows
    .flatMap(({ spans }) => spans)
    .filter(({ kind }) => kind === 'run')
    .sort((a, b) => a.from - b.from)
  const idle: Stretch[] = []
  let at = 0
  for (const { from, to } of busy) {
    if (from > at) idle.push({ from: at, to: from })
    at = Math.max(at, to)
  }
  if (length > at) idle.push({ from: at, to: length })
  return idle
}
