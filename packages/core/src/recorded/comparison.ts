/** The differences between two runs. */
import { isDeepStrictEqual } from 'node:util'
import { systemKernel } from '../kernel/kernel.ts'
import { compareGraphs, type GraphDifference } from '../run/compare-graphs.ts'
import type { CriticalPath } from '../scheduler/insight.ts'
import { criticalPathOf, forecastOf } from '../scheduler/recorded-times.ts'
import { nodeWord, type NodeWord } from './node-word.ts'
import { outcomeOf, type RunOutcome } from '../journal/run-outcome.ts'
import { concurrencyOf } from './recorded-concurrency.ts'
import { timedNodes, type NodeRecord, type RunRecord } from './run-record.ts'

/** One number before and after. */
export interface Change {
  readonly before: number
  readonly now: number
  readonly change: number
  /** Relative to `before`; null where that is 0. */
  readonly percent: number | null
}

/** A node that succeeded in both runs and did not take the same time. */
export interface NodeChange extends Change {
  readonly node: string
  /**
   * Milliseconds by which the total of the first run changes when only this node takes its new time. Null
   * where it was not worked out: there are many changes, and this one is small.
   */
  readonly effect: number | null
}

export interface OutcomeChange {
  readonly node: string
  readonly before: NodeWord
  readonly now: NodeWord
  /** Milliseconds from its first start to its end; null where it did not run to an end. */
  readonly durations: readonly [before: number | null, now: number | null]
}

export interface LimitChange {
  readonly limit: string
  readonly before: unknown
  readonly now: unknown
}

export interface Side {
  readonly record: RunRecord
  readonly outcome: RunOutcome
  readonly criticalPath: CriticalPath
}

export interface Comparison {
  readonly a: Side
  readonly b: Side
  readonly total: Change
  readonly criticalPath: Change
  /** Largest effect on the total first. */
  readonly nodes: readonly NodeChange[]
  /** How many nodes took the same time, as far as the records show it. */
  readonly same: number
  readonly graph: readonly GraphDifference[]
  readonly outcomes: readonly OutcomeChange[]
  /** Limits of the run that are not the same. */
  readonly limits: readonly LimitChange[]
}

/** Less than this is noise: both a share of the old time, and milliseconds. */
export const noise = { percent: 5, ms: 10 } as const

/** Nodes played for the effects of single changes, all together: about a second. */
const playedNodes = 500_000
const mostEffects = 200

/**
 * *Cancellation*: none; the work is bounded.
 */
export async function compareRuns(before: RunRecord, now: RunRecord): Promise<Comparison> {
  const a = await sideOf(before)
  const b = await sideOf(now)
  const { changed, same } = durationChanges(before, now)
  return {
    a,
    b,
    total: changeOf(before.elapsed, now.elapsed),
    criticalPath: changeOf(a.criticalPath.length, b.criticalPath.length),
    nodes: await withEffects(changed, before),
    same,
    graph: await compareGraphs(byName(before), now.nodes, systemKernel.clock),
    outcomes: outcomeChanges(before, now),
    limits: limitChanges(before, now),
  }
}

function byName({ nodes }: RunRecord): ReadonlyMap<string, NodeRecord> {
  return new Map(nodes.map((node) => [node.name, node]))
}

async function sideOf(record: RunRecord): Promise<Side> {
  const criticalPath = await criticalPathOf(timedNodes(record))
  return { record, outcome: outcomeOf(record), criticalPath }
}

function changeOf(before: number, now: number): Change {
  const change = now - before
  return { before, now, change, percent: before === 0 ? null : (change / before) * 100 }
}

interface NamedChange extends Change {
  readonly node: string
}

/** Only of nodes that succeeded in both: how long something took to fail says little. */
function durationChanges(
  before: RunRecord,
  now: RunRecord,
): { readonly changed: NamedChange[]; readonly same: number } {
  const old = durations(before)
  const changed: NamedChange[] = []
  let same = 0
  for (const [node, ms] of durations(now)) {
    const was = old.get(node)
    if (was === undefined) continue
    const change = changeOf(was, ms)
    const isNoise =
      Math.abs(change.change) < noise.ms || Math.abs(change.percent ?? 100) < noise.percent
    if (isNoise) same++
    else changed.push({ node, ...change })
  }
  return { changed, same }
}

function durations(record: RunRecord): Map<string, number> {
  const found = new Map<string, number>()
  for (const node of record.nodes) {
    const ms = durationOf(node)
    if (node.state === 'succeeded' && ms !== null) found.set(node.name, ms)
  }
  return found
}

/** From the first start to the end, without the time between processes. */
export function durationOf({ firstStartedAt, keptTime = 0, endedAt }: NodeRecord): number | null {
  if (firstStartedAt === undefined || endedAt === undefined) return null
  return Math.max(0, endedAt - firstStartedAt) + keptTime
}

/** Plays the first run once for each change, largest first. */
async function withEffects(
  changed: readonly NamedChange[],
  before: RunRecord,
): Promise<NodeChange[]> {
  const nodes = timedNodes(before)
  const limits = { concurrency: concurrencyOf(before.options) }
  const { duration } = await forecastOf(nodes, limits)
  const most = Math.min(mostEffects, Math.ceil(playedNodes / Math.max(1, nodes.length)))
  const bySize = changed.toSorted((x, y) => Math.abs(y.change) - Math.abs(x.change))
  const found: NodeChange[] = []
  for (const [i, change] of bySize.entries()) {
    if (i >= most) {
      found.push({ ...change, effect: null })
      continue
    }
    const played = await forecastOf(
      nodes.map((node) =>
        node.name === change.node ? { ...node, longerBy: change.change } : node,
      ),
      limits,
    )
    found.push({ ...change, effect: played.duration - duration })
  }
  return found.sort((x, y) => Math.abs(y.effect ?? 0) - Math.abs(x.effect ?? 0))
}

function outcomeChanges(before: RunRecord, now: RunRecord): OutcomeChange[] {
  const old = byName(before)
  const found: OutcomeChange[] = []
  for (const node of now.nodes) {
    const was = old.get(node.name)
    if (was === undefined || nodeWord(was) === nodeWord(node)) continue
    found.push({
      node: node.name,
      before: nodeWord(was),
      now: nodeWord(node),
      durations: [durationOf(was), durationOf(node)],
    })
  }
  return found
}

function limitChanges({ options: before }: RunRecord, { options: now }: RunRecord): LimitChange[] {
  const names = new Set([...Object.keys(before), ...Object.keys(now)])
  // Where a run comes from is not a limit of it.
  for (const other of ['forkedFrom', 'labels', 'args', 'only']) names.delete(other)
  return [...names]
    .filter((limit) => !isDeepStrictEqual(before[limit], now[limit]))
    .map((limit) => ({ limit, before: before[limit], now: now[limit] }))
}

/** Whether the second run is worse: it took longer than allowed, or did not succeed as the first did. */
export function isRegression({ a, b, total }: Comparison, allowedPercent: number): boolean {
  if (a.outcome === 'succeeded' && b.outcome !== 'succeeded') return true
  return total.change > 0 && (total.percent ?? Infinity) > allowedPercent
}
