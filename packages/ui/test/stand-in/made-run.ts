/** Runs that never ran, as the server would describe them: for pictures, sizes and timing of the dashboard alone. */
import { seededRandom } from '@heddle/core/lowlevel'
import type {
  GraphEdges,
  NodeColumns,
  RunHead,
  RunSummary,
  Timeline,
} from '../../src/api/contract.ts'
import { stateCode } from '../../src/api/contract.ts'

export interface MadeRun {
  readonly summary: RunSummary
  readonly head: RunHead
  readonly nodes: NodeColumns
  readonly edges: GraphEdges
  readonly timeline: Timeline
}

export interface MadeOptions {
  readonly id: string
  readonly title: string
  /** Items that each pass through four jobs; then they are put together. */
  readonly items: number
  readonly startedAt: number
  readonly lanes?: number
  readonly seed?: number
  /** Share of attempts that fail the first time. */
  readonly failures?: number
  readonly outcome?: RunSummary['outcome']
}

const stages = [
  ['fetch', 0, 400],
  ['parse', 1, 250],
  ['score', 1, 600],
  ['store', 0, 120],
] as const

/** A fan-out of items through stages, on loop and threads, with a merge and a publish at the end. */
export function makeRun(options: MadeOptions): MadeRun {
  const { id, title, items, startedAt, lanes = 6, seed = 7, failures = 0.03 } = options
  const random = seededRandom(seed)
  const names: string[] = []
  const job: number[] = []
  const place: number[] = []
  const after: number[][] = []
  for (let item = 0; item < items; item++) {
    for (const [index, [stage, where]] of stages.entries()) {
      after.push(index === 0 ? [] : [names.length - 1])
      names.push(`${stage} ${String(item + 1).padStart(3, '0')}`)
      job.push(index)
      place.push(where)
    }
  }
  after.push(Array.from({ length: items }, (_, item) => item * stages.length + 3))
  names.push('merge')
  job.push(4)
  place.push(0)
  after.push([names.length - 1])
  names.push('publish')
  job.push(5)
  place.push(0)

  const count = names.length
  const free = [Array.from({ length: lanes }, () => 0), Array.from({ length: 2 }, () => 0)]
  const ready: number[] = []
  const started: number[] = []
  const ended: number[] = []
  const attempts: number[] = []
  const bars: {
    node: number
    attempt: number
    lane: number
    queued: number
    started: number
    ended: number
    outcome: number
  }[] = []
  for (let node = 0; node < count; node++) {
    ready[node] = after[node]!.reduce(
      (latest, dependency) => Math.max(latest, ended[dependency]!),
      0,
    )
    const usual = stages[job[node]!]?.[2] ?? 300
    let queued = ready[node]!
    for (let attempt = 1; ; attempt++) {
      const pool = free[place[node]!]!
      const lane = pool.indexOf(Math.min(...pool))
      const start = Math.max(queued, pool[lane]!)
      const end = start + usual * (0.5 + random.next())
      pool[lane] = end
      const isFailed = attempt === 1 && random.next() < failures
      bars.push({
        node,
        attempt,
        lane: place[node] === 0 ? lane : lanes + lane,
        queued,
        started: start,
        ended: end,
        outcome: isFailed ? 2 : 1,
      })
      if (attempt === 1) started[node] = start
      ended[node] = end
      attempts[node] = attempt
      if (!isFailed) break
      queued = end + 300
    }
  }
  bars.sort((a, b) => a.started - b.started)
  const length = ended.reduce((latest, end) => Math.max(latest, end), 0)
  const offsets = [0]
  for (const list of after) offsets.push(offsets.at(-1)! + list.length)
  const path = criticalPath(after, ended)
  const onPath = new Set(path)
  const summary: RunSummary = {
    id,
    key: null,
    title,
    outcome: options.outcome ?? 'succeeded',
    started_at: startedAt,
    ended_at: options.outcome === 'running' ? null : startedAt + length,
    elapsed_ms: length,
    counts: { succeeded: count },
    nodes: count,
    pid: 4711,
    host: 'loom',
    command: `heddle run ${title}`,
    graph: null,
    schedule: null,
    is_steerable: true,
  }
  const jobs = [...stages.map(([name]) => name), 'merge', 'publish']
  return {
    summary,
    head: {
      ...summary,
      position: bars.length * 3,
      rows: [1, bars.length * 3],
      elapsed_ms: length,
      busy_ms: bars.reduce((sum, bar) => sum + bar.ended - bar.started, 0),
      queued_ms: bars.reduce((sum, bar) => sum + bar.started - bar.queued, 0),
      until_at: startedAt + length,
      attempts: bars.length,
      options: { concurrency: lanes },
      sessions: [
        {
          started_at: startedAt,
          ended_at: startedAt + length,
          pid: 4711,
          host: 'loom',
          command: summary.command,
        },
      ],
      critical_path: {
        length_ms: length,
        nodes: path.map((node) => ({
          name: names[node]!,
          ms: ended[node]! - started[node]!,
          wait_ms: started[node]! - ready[node]!,
        })),
        left_out: 0,
      },
      jobs: jobs.map((name, index) => ({
        name,
        place: index === 1 || index === 2 ? 'thread' : 'loop',
        nodes: items,
        counts: { succeeded: items },
      })),
      forked_from: null,
    },
    nodes: {
      position: bars.length * 3,
      total: count,
      from: 0,
      next: null,
      jobs,
      places: ['loop', 'thread', 'fleet'],
      name: names,
      job,
      place,
      state: names.map(() => stateCode.succeeded),
      attempts,
      ready,
      started,
      ended,
      slack: names.map((_, node) => (onPath.has(node) ? 0 : 40 + (node % 50) * 20)),
      parent: names.map(() => -1),
      errors: bars
        .filter((bar) => bar.outcome === 2)
        .map((bar) => [bar.node, 'connection reset by peer'] as [number, string]),
      blocked_by: [],
    },
    edges: { position: 1, total: count, from: 0, next: null, offsets, after: after.flat() },
    timeline: {
      position: bars.length * 3,
      started_at: startedAt,
      length_ms: length,
      lanes: [
        ...Array.from({ length: lanes }, (_, i) => ({
          place: 'loop' as const,
          name: `loop ${i + 1}`,
        })),
        { place: 'thread', name: 'thread 1' },
        { place: 'thread', name: 'thread 2' },
      ],
      total: bars.length,
      from: 0,
      next: null,
      node: bars.map((bar) => bar.node),
      attempt: bars.map((bar) => bar.attempt),
      lane: bars.map((bar) => bar.lane),
      queued: bars.map((bar) => bar.queued),
      started: bars.map((bar) => bar.started),
      ended: bars.map((bar) => bar.ended),
      outcome: bars.map((bar) => bar.outcome),
      suspended: [],
      idle: [],
      loop_gaps: [[length * 0.3, length * 0.3 + 64, 'parse 012']],
    },
  }
}

function criticalPath(after: readonly (readonly number[])[], ended: readonly number[]): number[] {
  const path: number[] = []
  for (let node: number | undefined = after.length - 1; node !== undefined;) {
    path.unshift(node)
    const list: readonly number[] = after[node]!
    node = list.length === 0 ? undefined : list.reduce((a, b) => (ended[a]! >= ended[b]! ? a : b))
  }
  return path
}
