/** From a recorded run to what routes answer: pure functions, run in a thread. */
import type { CriticalPath } from '@heddle/core'
import {
  IndexedHeap,
  nodeWord,
  outcomeOf,
  queueTime,
  runTime,
  type AttemptRecord,
  type HeapItem,
  type LoopGap,
  type NodeRecord,
  type RunRecord,
} from '@heddle/core/lowlevel'
import { chosenName } from '../http/tenancy.ts'
import {
  attemptCode,
  hasEnded,
  places,
  stateCode,
  type GraphEdges,
  type NodeColumns,
  type NodeDetail,
  type RunHead,
  type RunSummary,
  type Timeline,
} from '../client/contract/runs.ts'

/** A record with the data that is computed from it once. */
export interface ViewedRun {
  readonly record: RunRecord
  readonly criticalPath: CriticalPath
  readonly indexes: ReadonlyMap<string, number>
}

const pathShown = 1_000
const neighboursShown = 1_000
const waitsShown = 100

/** The labels of a run's start: see RunOptions.labels. */
interface StartedWith {
  readonly graph?: string
  readonly schedule?: string
  readonly forkedFrom?: string
}

interface SummaryInput {
  readonly id: string
  readonly key?: string
  readonly title: string
  readonly startedAt: number
  readonly endedAt?: number
  readonly elapsed?: number
  readonly state: RunRecord['state']
  readonly pid: number
  readonly host: string
  readonly command: string
  readonly counts: RunRecord['counts']
}

export function summaryView(
  run: SummaryInput,
  labels: StartedWith,
  isSteerable: boolean,
): RunSummary {
  return {
    id: run.id,
    key: run.key === undefined ? null : chosenName(run.key),
    title: run.title,
    outcome: outcomeOf(run),
    started_at: run.startedAt,
    ended_at: run.endedAt ?? null,
    elapsed_ms: run.endedAt === undefined ? null : (run.elapsed ?? run.endedAt - run.startedAt),
    counts: run.counts,
    nodes: Object.values(run.counts).reduce((sum, count) => sum + count, 0),
    pid: run.pid,
    host: run.host,
    command: run.command,
    graph: labels.graph ?? null,
    schedule: labels.schedule ?? null,
    is_steerable: isSteerable,
  }
}

export function headView({ record, criticalPath }: ViewedRun, isSteerable: boolean): RunHead {
  const { options } = record
  const labels = (options['labels'] ?? {}) as StartedWith
  let busy = 0
  let queued = 0
  let attempts = 0
  for (const node of record.nodes) {
    busy += runTime(node)
    queued += queueTime(node, record.until)
    attempts += node.attempts.length
  }
  return {
    ...summaryView(record, labels, isSteerable),
    position: record.position,
    rows: [...record.rows],
    elapsed_ms: record.elapsed,
    busy_ms: busy,
    queued_ms: queued,
    until_at: record.until,
    attempts,
    options: withoutLabels(options),
    ...('args' in options && { args: options['args'] }),
    sessions: record.sessions.map(({ startedAt, endedAt, by }) => ({
      started_at: startedAt,
      ended_at: endedAt,
      pid: by.pid,
      host: by.host,
      command: by.command,
    })),
    critical_path: pathView(record, criticalPath),
    jobs: jobsView(record),
    forked_from: labels.forkedFrom ?? null,
  }
}

function withoutLabels(options: RunRecord['options']): Record<string, unknown> {
  const { labels: _labels, args: _args, ...limits } = options
  return limits
}

function pathView(record: RunRecord, { length, path }: CriticalPath): RunHead['critical_path'] {
  const byName = new Map(record.nodes.map((node) => [node.name, node]))
  let before: number | undefined
  const nodes = path.slice(0, pathShown).map(({ name, ms }) => {
    const { firstStartedAt = 0, endedAt = firstStartedAt } = byName.get(name) ?? {}
    const wait = before === undefined ? 0 : Math.max(0, firstStartedAt - before)
    before = endedAt
    return { name, ms, wait_ms: wait }
  })
  return { length_ms: length, nodes, left_out: path.length - nodes.length }
}

function jobsView({ nodes }: RunRecord): RunHead['jobs'] {
  const jobs = new Map<string, RunHead['jobs'][number]>()
  for (const node of nodes) {
    let found = jobs.get(node.job)
    if (found === undefined) {
      found = { name: node.job, place: node.place, nodes: 0, counts: {} }
      jobs.set(node.job, found)
    }
    found.nodes++
    const word = nodeWord(node)
    found.counts[word] = (found.counts[word] ?? 0) + 1
  }
  return [...jobs.values()]
}

/** The index after the last one that fits, or null at the end. */
function nextOf(from: number, limit: number, total: number): number | null {
  return from + limit < total ? from + limit : null
}

export function nodesView(run: ViewedRun, from: number, limit: number): NodeColumns {
  const { record, criticalPath, indexes } = run
  const { nodes, startedAt: zero } = record
  const page = nodes.slice(from, from + limit)
  const jobs = new Map<string, number>()
  const since = (at: number | undefined): number => (at === undefined ? -1 : Math.max(0, at - zero))
  const errors: NodeColumns['errors'] = []
  const blocked: NodeColumns['blocked_by'] = []
  page.forEach((node, i) => {
    const error = node.errors.at(-1)
    if (error !== undefined) errors.push([from + i, firstLine(error.message)])
    if (node.blockedBy !== undefined) blocked.push([from + i, node.blockedBy])
  })
  return {
    position: record.position,
    total: nodes.length,
    from,
    next: nextOf(from, limit, nodes.length),
    job: page.map(({ job }) => {
      const known = jobs.get(job) ?? jobs.size
      jobs.set(job, known)
      return known
    }),
    jobs: [...jobs.keys()],
    places: [...places],
    name: page.map(({ name }) => name),
    place: page.map(({ place }) => places.indexOf(place)),
    state: page.map((node) => stateCode[nodeWord(node)]),
    attempts: page.map(({ attempts }) => attempts.length),
    ready: page.map(({ readyAt }) => since(readyAt)),
    started: page.map((node) => since(node.startedAt ?? node.firstStartedAt)),
    ended: page.map(({ endedAt }) => since(endedAt)),
    slack: page.map(({ name }) => criticalPath.slackOf(name) ?? -1),
    parent: page.map(({ parent }) => (parent === undefined ? -1 : (indexes.get(parent) ?? -1))),
    errors,
    blocked_by: blocked,
  }
}

const longestLine = 300

export function firstLine(text: string): string {
  const end = text.search(/[\r\n]/)
  const line = end < 0 ? text : text.slice(0, end)
  return line.length > longestLine ? `${line.slice(0, longestLine)}…` : line
}

/** A node without the parts that are read from elsewhere: its value and its log. */
export type NodeView = Omit<NodeDetail, 'result' | 'input' | 'log_lines' | 'progress'>

export function nodeView(run: ViewedRun, index: number): NodeView {
  const { record, criticalPath } = run
  const node = record.nodes[index]!
  const { name } = node
  const before = record.nodes.filter(({ after }) => after.includes(name)).map((each) => each.name)
  const slack = criticalPath.slackOf(name)
  return {
    position: record.position,
    index,
    name,
    job: node.job,
    place: node.place,
    state: nodeWord(node),
    parent: node.parent ?? null,
    after: [...node.after],
    before: before.slice(0, neighboursShown),
    before_more: Math.max(0, before.length - neighboursShown),
    ready_at: node.readyAt ?? null,
    started_at: node.startedAt ?? null,
    ended_at: node.endedAt ?? null,
    run_ms: runTime(node),
    queued_ms: queueTime(node, record.until),
    slack_ms: slack ?? null,
    is_critical: slack === 0,
    blocked_by: node.blockedBy ?? null,
    attempts: node.attempts.map(attemptView),
    waits: waitsView(run, node),
  }
}

function attemptView(attempt: AttemptRecord): NodeDetail['attempts'][number] {
  const { number, queuedAt, startedAt, endedAt, outcome, error, suspended = [] } = attempt
  return {
    number,
    queued_at: queuedAt,
    started_at: startedAt,
    ended_at: endedAt,
    outcome,
    suspended: suspended.map(([from, to]) => [from, to]),
    ...(error !== undefined && { error }),
  }
}

/** Why a node does not run, as far as its history says. */
function waitsView({ record, indexes }: ViewedRun, node: NodeRecord): NodeDetail['waits'] {
  const wait = (
    kind: NonNullable<NodeDetail['waits']>['kind'],
    text: string,
    more: Partial<NonNullable<NodeDetail['waits']>> = {},
  ): NodeDetail['waits'] => ({
    kind,
    text,
    on: [],
    more: 0,
    since_at: null,
    until_at: null,
    ...more,
  })
  const word = nodeWord(node)
  const isOver = ['finished', 'cancelled'].includes(record.state)
  if (
    isOver ||
    ['running', 'succeeded', 'failed', 'blocked', 'skipped', 'cancelled'].includes(word)
  ) {
    return null
  }
  if (record.state === 'interrupted') {
    return wait(
      'process-gone',
      'The process that ran this run is gone. Resume the run to continue.',
    )
  }
  switch (word) {
    case 'retrying': {
      const until = node.retryAt ?? null
      return wait('backoff', 'It waits before its next attempt.', {
        since_at: node.attempts.at(-1)?.endedAt ?? null,
        until_at: until,
      })
    }
    case 'suspended': {
      const { waits = [] } = node
      const signals = waits.flatMap(({ signal }) => (signal === undefined ? [] : [signal]))
      return wait('suspended', suspendedText(signals, waits.length), {
        since_at: node.attempts.at(-1)?.suspended?.at(-1)?.[0] ?? null,
        on: [...new Set(signals)],
        until_at: waits.map(({ until }) => until).find((until) => until !== undefined) ?? null,
      })
    }
    case 'ready': {
      const since = { since_at: node.queuedAt ?? null }
      if (record.state === 'paused') return wait('paused', 'The run is paused.', since)
      if (record.state === 'draining') {
        return wait('draining', 'The run was cancelled: nothing new starts.', since)
      }
      const running = record.nodes.filter(({ state, place }) => {
        return state === 'running' && place === node.place
      })
      return wait(
        'permits',
        `It waits for a permit: ${running.length} nodes run on the ${node.place}.`,
        {
          ...since,
          on: running.slice(0, waitsShown).map(({ name }) => name),
          more: Math.max(0, running.length - waitsShown),
        },
      )
    }
    case 'waiting':
    case 'interrupted':
    case 'running':
    case 'succeeded':
    case 'failed':
    case 'blocked':
    case 'skipped':
    case 'cancelled': {
      const open = node.after.filter((name) => {
        const dependency = record.nodes[indexes.get(name) ?? -1]
        return dependency?.state !== 'succeeded'
      })
      const text =
        open.length === 1
          ? 'It waits for one dependency.'
          : `It waits for ${open.length} of ${node.after.length} dependencies.`
      return wait('dependencies', text, {
        on: open.slice(0, waitsShown),
        more: Math.max(0, open.length - waitsShown),
      })
    }
  }
}

export function graphView({ record, indexes }: ViewedRun, from: number, limit: number): GraphEdges {
  const page = record.nodes.slice(from, from + limit)
  const offsets = [0]
  const after: number[] = []
  for (const node of page) {
    for (const name of node.after) {
      const index = indexes.get(name)
      if (index !== undefined) after.push(index)
    }
    offsets.push(after.length)
  }
  const { position, nodes } = record
  const total = nodes.length
  return { position, total, from, next: nextOf(from, limit, total), offsets, after }
}

export interface Bar {
  readonly node: number
  readonly attempt: AttemptRecord
}

/** A gap of the event loop of the process that ran it. */
export type LoopGapInput = Pick<LoopGap, 'startedAt' | 'ms' | 'label'>

/** Up to which moment gaps belong to a run: its end, or whatever comes. */
function lastMoment(record: RunRecord): number {
  return hasEnded(outcomeOf(record)) ? record.until : Infinity
}

/** Bars in order of their start, with lanes in which they do not overlap. */
export function timelineView(
  run: ViewedRun,
  from: number,
  limit: number,
  gaps: readonly LoopGapInput[] = [],
): Timeline {
  const { record } = run
  const zero = record.startedAt
  const bars: Bar[] = []
  record.nodes.forEach((node, index) => {
    for (const attempt of node.attempts) bars.push({ node: index, attempt })
  })
  bars.sort((a, b) => a.attempt.startedAt - b.attempt.startedAt || a.node - b.node)
  const { lanes, laneOf } = layLanes(record, bars)
  const page = bars.slice(from, from + limit)
  const since = (at: number): number => Math.max(0, at - zero)
  return {
    position: record.position,
    started_at: zero,
    length_ms: Math.max(0, record.until - zero),
    lanes,
    total: bars.length,
    from,
    next: nextOf(from, limit, bars.length),
    node: page.map(({ node }) => node),
    attempt: page.map(({ attempt }) => attempt.number),
    lane: laneOf.slice(from, from + limit),
    queued: page.map(({ attempt }) => since(attempt.queuedAt)),
    started: page.map(({ attempt }) => since(attempt.startedAt)),
    ended: page.map(({ attempt }) => since(attempt.endedAt)),
    outcome: page.map(({ attempt }) => attemptCode[attempt.outcome]),
    suspended: page.flatMap(({ attempt }, i) =>
      (attempt.suspended ?? []).map(([start, end]): [number, number, number] => [
        i,
        since(start),
        since(end),
      ]),
    ),
    idle: from === 0 ? idleOf(bars, zero, record.until) : [],
    loop_gaps: gaps
      .filter(({ startedAt, ms }) => startedAt + ms >= zero && startedAt <= lastMoment(record))
      .map(({ startedAt, ms, label }): [number, number, string] => [
        since(startedAt),
        since(startedAt + ms),
        label ?? '',
      ]),
  }
}

interface Lane extends HeapItem {
  readonly lane: number
  until: number
}

/** Lanes of one place. Bars come in the order of their starts, so a lane that was found free stays free until it is taken. */
class PlaceLanes {
  readonly #busy = new IndexedHeap<Lane>((a, b) => a.until < b.until)
  readonly #free = new IndexedHeap<Lane>((a, b) => a.lane < b.lane)
  count = 0

  /** The first lane that is free at this time; undefined when all are busy. */
  take(at: number): Lane | undefined {
    for (let next = this.#busy.peek(); next && next.until <= at; next = this.#busy.peek()) {
      this.#busy.remove(next)
      this.#free.push(next)
    }
    return this.#free.pop()
  }

  fill(lane: Lane, until: number): void {
    lane.until = until
    this.#busy.push(lane)
  }
}

/** Each bar in the first lane of its place that is free: a search among the lanes would cost bars × lanes. */
export function layLanes(
  { nodes }: Pick<RunRecord, 'nodes'>,
  bars: readonly Bar[],
): { readonly lanes: Timeline['lanes']; readonly laneOf: number[] } {
  const byPlace = new Map<string, PlaceLanes>()
  const lanes: Timeline['lanes'] = []
  const laneOf = bars.map(({ node, attempt }) => {
    const { place } = nodes[node]!
    const known = byPlace.get(place) ?? new PlaceLanes()
    byPlace.set(place, known)
    let free = known.take(attempt.startedAt)
    if (free === undefined) {
      free = { lane: lanes.length, until: 0, heapIndex: -1 }
      lanes.push({ place, name: `${place} ${++known.count}` })
    }
    known.fill(free, Math.max(attempt.endedAt, attempt.startedAt))
    return free.lane
  })
  return { lanes, laneOf }
}

function idleOf(bars: readonly Bar[], zero: number, until: number): [number, number][] {
  const idle: [number, number][] = []
  let at = zero
  for (const { attempt } of bars) {
    if (attempt.startedAt > at) idle.push([at - zero, attempt.startedAt - zero])
    at = Math.max(at, attempt.endedAt)
  }
  if (until > at) idle.push([at - zero, until - zero])
  return idle
}

/** `waits`: sleeps and waits for signals together. */
function suspendedText(signals: readonly string[], waits: number): string {
  const [first] = signals
  if (first === undefined) return waits === 0 ? 'It is suspended.' : 'It sleeps.'
  const rest = waits === 1 ? '' : `, and ${waits - 1} more`
  return `It waits for the signal "${first}"${rest}.`
}
