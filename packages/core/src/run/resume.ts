import { HeddleError } from '../errors.ts'
import type { Graph } from '../graph/graph.ts'
import type { Journal, RunSnapshot } from '../journal/journal.ts'
import { compareGraphs, describeDifference, headersOf } from './compare.ts'

/** Results that are read back at once: more would only fill the queue of the journal's thread. */
const readsAtOnce = 64

/** States from which a run can go on. */
const resumable = new Set(['interrupted', 'cancelled', 'running', 'paused', 'draining'])

/**
 * The run to go on with: the given one, or the last that has not ended.
 * @throws `HDL_UNKNOWN_RUN` when there is none.
 */
export async function findRun(journal: Journal, which: string | true): Promise<RunSnapshot> {
  if (which !== true) return journal.snapshot(which)
  const runs = await journal.runs()
  const last = runs.find((run) => resumable.has(run.state))
  if (last === undefined)
    throw new HeddleError('HDL_UNKNOWN_RUN', { run: 'unfinished', address: journal.address })
  return journal.snapshot(last.id)
}

/**
 * What an earlier run has finished, by node.
 *
 * @throws `HDL_GRAPH_CHANGED` with every difference named, unless `allowChanges`; `HDL_RUN_ENDED` when
 * there is nothing left to do.
 */
export async function finishedNodes(
  journal: Journal,
  run: RunSnapshot,
  graph: Graph,
  allowChanges: boolean,
): Promise<ReadonlyMap<string, unknown>> {
  if (run.nodes.every((node) => node.state === 'succeeded')) {
    throw new HeddleError('HDL_RUN_ENDED', { action: `Resuming run ${run.id}` })
  }
  const differences = compareGraphs(run.nodes, headersOf(graph))
  if (differences.length > 0 && !allowChanges) {
    throw new HeddleError('HDL_GRAPH_CHANGED', {
      run: run.id,
      differences: differences.map(describeDifference),
    })
  }
  const changed = new Set(differences.map(({ node }) => node))
  const succeeded = new Set(
    run.nodes.filter((node) => node.state === 'succeeded').map((node) => node.name),
  )
  /** A result stands only as long as everything it was computed from stands. */
  const reusable = new Set<string>()
  for (const { name, after } of graph.nodes()) {
    const stands = succeeded.has(name) && !changed.has(name)
    if (stands && after.every((dependency) => reusable.has(dependency))) reusable.add(name)
  }
  return readValues(journal, run.id, [...reusable])
}

async function readValues(
  journal: Journal,
  run: string,
  nodes: readonly string[],
): Promise<ReadonlyMap<string, unknown>> {
  const finished = new Map<string, unknown>()
  for (let i = 0; i < nodes.length; i += readsAtOnce) {
    const names = nodes.slice(i, i + readsAtOnce)
    const values = await Promise.all(names.map((name) => journal.valueOf(run, name)))
    for (const [k, name] of names.entries()) finished.set(name, values[k])
  }
  return finished
}
