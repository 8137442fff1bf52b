import type { Graph } from '../graph/graph.ts'
import type { NodeHeader } from '../journal/journal.ts'
import { fingerprint } from './fingerprint.ts'

/** One way in which a graph is not the one that was journaled. */
export type GraphDifference =
  | { readonly kind: 'added' | 'removed'; readonly node: string }
  | { readonly kind: 'job'; readonly node: string; readonly before: string; readonly now: string }
  | {
      readonly kind: 'dependencies'
      readonly node: string
      readonly gained: readonly string[]
      readonly lost: readonly string[]
    }
  | { readonly kind: 'input'; readonly node: string }

/** The graph as the journal keeps it. */
export function headersOf(graph: Graph): NodeHeader[] {
  return Array.from(graph.nodes(), (node) => {
    const { name, job, after } = node
    const input = fingerprint(node)
    return { name, job: job.name, place: job.place, after, ...(input !== undefined && { input }) }
  })
}

/** What changed from `before` to `now`. Moving a job to another place changes nothing that was computed. */
export function compareGraphs(
  before: readonly NodeHeader[],
  now: readonly NodeHeader[],
): GraphDifference[] {
  const differences: GraphDifference[] = []
  const old = new Map(before.map((node) => [node.name, node]))
  for (const node of now) {
    const was = old.get(node.name)
    old.delete(node.name)
    if (was === undefined) {
      differences.push({ kind: 'added', node: node.name })
      continue
    }
    if (was.job !== node.job) {
      differences.push({ kind: 'job', node: node.name, before: was.job, now: node.job })
    }
    const gained = node.after.filter((name) => !was.after.includes(name))
    const lost = was.after.filter((name) => !node.after.includes(name))
    if (gained.length > 0 || lost.length > 0) {
      differences.push({ kind: 'dependencies', node: node.name, gained, lost })
    }
    if (was.input !== undefined && node.input !== undefined && was.input !== node.input) {
      differences.push({ kind: 'input', node: node.name })
    }
  }
  for (const name of old.keys()) differences.push({ kind: 'removed', node: name })
  return differences
}

/** A difference in words. */
export function describeDifference(difference: GraphDifference): string {
  const { node } = difference
  switch (difference.kind) {
    case 'added':
      return `"${node}" is new`
    case 'removed':
      return `"${node}" is gone`
    case 'job':
      return `"${node}" runs ${difference.now} instead of ${difference.before}`
    case 'input':
      return `the input of "${node}" changed`
    case 'dependencies': {
      const gained = difference.gained.map((name) => `now needs "${name}"`)
      const lost = difference.lost.map((name) => `no longer needs "${name}"`)
      return `"${node}" ${[...gained, ...lost].join(', ')}`
    }
  }
}
