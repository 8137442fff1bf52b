/** The rows that a resumed run writes about a changed graph (R4 and R7 of resume.ts). */
import { HeddleError } from '../errors.ts'
import type { NodeHeader, NodeSnapshot, RunWriter } from '../journal/journal.ts'
import { describeDifference, type GraphDifference } from './compare-graphs.ts'

/** Differences that the error lists. */
const mostDifferences = 20

export function graphChanged(run: string, all: readonly GraphDifference[]): HeddleError {
  const differences = all.slice(0, mostDifferences).map(describeDifference)
  const more = all.length - differences.length
  if (more > 0) differences.push(`and ${more} more differences`)
  return new HeddleError('HDL_GRAPH_CHANGED', { run, differences })
}

/** The differences between a run and its record. */
export class GraphChanges {
  /** Nodes whose results are no longer valid, and nodes that were removed and are made again. */
  readonly invalidResults: string[] = []
  /** Nodes that are not in the graph any more, and have not succeeded or are not valid. */
  readonly removed: NodeSnapshot[] = []
  /** Nodes that are new or not as the journal knows them. */
  readonly headers: NodeHeader[] = []
  /** Nodes whose elements and steps are not valid any more. */
  readonly invalidParts: string[] = []
}

/**
 * Writes the changes. The order matters if the process ends in between: the headers make the new graph the graph of the run,
 * so results are invalidated before them.
 */
export function writeChanges(writer: RunWriter, changes: GraphChanges, at: number): void {
  for (const node of changes.invalidResults)
    writer.append({ node, state: 'waiting', attempt: 0, at })
  for (const node of changes.invalidParts) {
    writer.append({ node, state: 'skipped', attempt: 0, at, part: { path: '' } })
  }
  for (const { name: node, attempt } of changes.removed) {
    writer.append({ node, state: 'skipped', attempt, at })
  }
  if (changes.headers.length > 0) writer.addNodes(changes.headers)
}
