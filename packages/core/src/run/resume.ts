/**
 * Resuming a run of the journal.
 *
 *   findEarlierRun ──▶ the journaled graph is compared with the graph ──▶ valid results are read back
 *     │                               └── differs, not allowed ──▶ HDL_GRAPH_CHANGED
 *     └── everything in it has succeeded ──▶ its recorded result, and nothing runs
 *
 * Invariants, quoted by the tests:
 *  R1  A node with a success in the journal is never run again by a resumed run, unless it, or something
 *      that it was computed from, has changed and the changes are allowed. A clean-up node is valid only when all its
 *      dependencies are: after a failure it cleans up again after the second try.
 *  R2  A run has at most one success per node in the journal, with the same exception.
 *  R3  `result.of(node)` gives the same value after a resume as before the crash.
 *  R4  Once changes are allowed they are part of the run: a second resume with the same graph finds
 *      no difference in added or changed nodes, and a result that a change made invalid stays invalid.
 *  R5  A node that was running each of the last three times the process ended is set aside: it fails with
 *      `HDL_NODE_SET_ASIDE` and the others continue. When the run is resumed after that, it runs again.
 *  R6  A process that resumes an interrupted run makes the start of a node, an element or a step durable before its job
 *      is called, so that a job which ends the process at once is set aside too. R5 holds for elements and steps,
 *      counted from there on.
 *  R7  A node that runs again because it, or something that it was computed from, has changed or has not succeeded,
 *      starts from nothing: no element, step, sleep or wait of it from before is used. The nodes of a sub-graph become
 *      invalid with it; that is written before anything that it is made from runs again. It holds at every depth.
 */
import type {
  Journal,
  NodeHeader,
  NodeSnapshot,
  RunSnapshot,
  RunWriter,
} from '../journal/journal.ts'
import type { Clock } from '../kernel/clock.ts'
import { mostInterruptions } from '../kernel/most-interruptions.ts'
import { Slices } from '../kernel/slices.ts'
import { compareGraphs, isSameHeader, type GraphDifference } from './compare-graphs.ts'
import { GraphChanges, graphChanged, writeChanges } from './graph-changes.ts'
import { NodePast, nodesByName, type EndedNode } from './node-past.ts'
import { ValidParts } from './valid-parts.ts'

/** The state from which a resumed run starts. */
export interface Continuation {
  /** Valid results, by node. */
  readonly finished: ReadonlyMap<string, unknown>
  readonly past: NodePast
  /** Nodes inside sub-graphs that have ended. */
  readonly ended: readonly EndedNode[]
  readonly parts: ValidParts
  /** Nodes that are set aside, and how often the process has ended while they ran. */
  readonly setAside: ReadonlyMap<string, number>
  /** Whether the last process was interrupted: starts are durable before jobs are called (R6). */
  readonly wasInterrupted: boolean
  /** Writes the changes, before anything of the new graph is written (R4). */
  writeChanges(writer: RunWriter): void
}

interface ResumeOptions {
  readonly allowChanges: boolean
  readonly clock: Clock
}

/**
 * Makes sure that a recorded run is one of this graph.
 *
 * @throws `HDL_GRAPH_CHANGED` with every difference named.
 */
export async function checkSameGraph(
  run: RunSnapshot,
  headers: readonly NodeHeader[],
  clock: Clock,
): Promise<void> {
  await compareWithRecorded(run, headers, { allowChanges: false, clock })
}

/**
 * The nodes that are not as they were in a recorded run.
 *
 * @throws `HDL_GRAPH_CHANGED` with every difference named, unless `allowChanges`.
 */
export async function changedNodes(
  run: RunSnapshot,
  headers: readonly NodeHeader[],
  options: ResumeOptions,
): Promise<ReadonlySet<string>> {
  const { differences } = await compareWithRecorded(run, headers, options)
  return new Set(differences.map(({ node }) => node))
}

/** Without nodes of sub-graphs: they are compared when their builder has run again. */
async function compareWithRecorded(
  run: RunSnapshot,
  headers: readonly NodeHeader[],
  { allowChanges, clock }: ResumeOptions,
): Promise<{
  readonly before: ReadonlyMap<string, NodeSnapshot>
  readonly differences: readonly GraphDifference[]
}> {
  const ofGraph = run.nodes.filter(({ parent }) => parent === undefined)
  const before = await nodesByName(ofGraph, clock)
  const differences = await compareGraphs(before, headers, clock)
  if (differences.length > 0 && !allowChanges) throw graphChanged(run.id, differences)
  return { before, differences }
}

/**
 * Decides which part of an earlier run is valid.
 *
 * @throws `HDL_GRAPH_CHANGED` with every difference named, unless `allowChanges`.
 */
export async function continueRun(
  journal: Journal,
  run: RunSnapshot,
  headers: readonly NodeHeader[],
  options: ResumeOptions,
): Promise<Continuation> {
  const { clock } = options
  const { before, differences } = await compareWithRecorded(run, headers, options)
  const changed = new Set(differences.map(({ node }) => node))
  const results = new Map<string, unknown>()
  for await (const [node, value] of journal.results(run.id)) results.set(node, value)
  const finished = new Map<string, unknown>()
  const ended: EndedNode[] = []
  const parts = new ValidParts(run)
  const past = new NodePast(run, results, parts, options)
  const changes = new GraphChanges()
  const slices = new Slices(clock)
  for (const header of headers) {
    const was = before.get(header.name)
    if (was === undefined || !isSameHeader(was, header)) changes.headers.push(header)
    const pending = past.judge(header, was, changed, { finished, ended }, changes)
    if (pending !== undefined) await pending
    if (slices.due) await slices.next()
  }
  for (const { kind, node } of differences) {
    if (kind === 'removed') await past.remove(before.get(node)!, changes)
  }
  return {
    finished,
    past,
    ended,
    parts,
    setAside: suspectsOf(run),
    wasInterrupted: run.state === 'interrupted',
    writeChanges: (writer) => writeChanges(writer, changes, clock.wallTime()),
  }
}

/** Nodes that are not run again: each time the process ended they were running (R5). */
function suspectsOf(run: RunSnapshot): ReadonlyMap<string, number> {
  const suspects = new Map<string, number>()
  if (run.state !== 'interrupted') return suspects
  for (const { name, state, interruptions = 0 } of run.nodes) {
    if (state === 'running' && interruptions + 1 >= mostInterruptions) {
      suspects.set(name, interruptions + 1)
    }
  }
  return suspects
}
