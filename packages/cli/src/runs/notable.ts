import { runTime, type NodeRecord } from '@heddle/core/lowlevel'

/** How many long nodes are shown: a few show where the time goes, more add nothing. */
const longestShown = 12

/**
 * The most important nodes, at most `limit`: failed ones, then the critical path from its longest node
 * on, then the few that ran longest.
 */
export function notableNodes(
  nodes: readonly NodeRecord[],
  critical: ReadonlySet<string>,
  limit: number,
): ReadonlySet<NodeRecord> {
  if (nodes.length <= limit) return new Set(nodes)
  const byRunTime = nodes
    .filter(({ attempts }) => attempts.length > 0)
    .map((node) => ({ node, ms: runTime(node) }))
    .sort((a, b) => b.ms - a.ms)
    .map(({ node }) => node)
  const found = new Set<NodeRecord>()
  const take = (some: readonly NodeRecord[], most: number): void => {
    for (const node of some) if (found.size < most) found.add(node)
  }
  take(byRunTime.filter(isTrouble), Math.ceil(limit / 2))
  take(
    byRunTime.filter(({ name }) => critical.has(name)),
    Math.ceil(limit * 0.8),
  )
  take(byRunTime, Math.min(limit, found.size + longestShown))
  return found
}

/** Whether a node needs attention, or an attempt of it did. */
export function isTrouble({ state, attempts }: NodeRecord): boolean {
  if (state === 'failed' || state === 'cancelled') return true
  return attempts.some(({ outcome }) => outcome !== 'succeeded')
}
