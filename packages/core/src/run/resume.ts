/**
 * Going on with a run of the journal.
 *
 *   findRun ──▶ the journaled graph is compared with the graph ──▶ results that stand are read back
 *     │                               └── differs, not allowed ──▶ HDL_GRAPH_CHANGED
 *     └── everything in it has succeeded ──▶ its recorded result, and nothing runs
 *
 * Invariants, quoted by the tests:
 *  R1  A node with a success in the journal is never run again by a resumed run, unless it, or something
 *      that it was computed from, has changed and the changes are allowed. A clean-up node stands only when all its
 *      dependencies do: after a failure it cleans up again what the second try leaves.
 *  R2  A run has at most one success per node in the journal, with the same exception.
 *  R3  `result.of(node)` gives the same value after a resume as before the crash.
 *  R4  Once changes are allowed they are part of the run: a second resume with the same graph finds
 *      no difference in what was added or changed, and a result that fell with a change stays fallen.
 *  R5  A node that was running each of the last three times the process ended is set aside: it fails with
 *      `HDL_NODE_SET_ASIDE` and the others continue. When the run is resumed after that, it runs again.
 *  R6  A process that resumes an interrupted run makes the start of a node, an element or a step durable before its job is called,
 *      so that a job which ends the process at once is set aside too. R5 holds for elements and steps, counted from there on.
 */
import { outcomeOf } from '../journal/outcome.ts'
import { HeddleError } from '../errors.ts'
import type {
  Journal,
  NodeHeader,
  NodeSnapshot,
  RunSnapshot,
  RunSummary,
  RunWriter,
} from '../journal/journal.ts'
import type { Clock } from '../kernel/clock.ts'
import { Slices } from '../kernel/slices.ts'
import { mostInterruptions } from './starts.ts'
import { compareGraphs, describeDifference, isSameHeader, type GraphDifference } from './compare.ts'

/** Differences that are spelled out in the error. */
const toldDifferences = 20

/**
 * Whether a run has something left to do, and nobody doing it. A node that was skipped in a run which was
 * not cancelled was taken out of it on purpose.
 */
export function hasWorkLeft(run: Pick<RunSummary, 'state' | 'counts'>): boolean {
  const outcome = outcomeOf(run)
  return outcome === 'interrupted' || outcome === 'cancelled' || outcome === 'failed'
}

/**
 * The run to resume: the given one, or the last of this title that no process runs. When that one has succeeded there
 * is nothing to do but to answer with its result: nothing older is resumed unless it is named.
 * @throws `HDL_UNKNOWN_RUN` when there is none.
 */
export async function findRun(
  journal: Journal,
  which: string | true,
  title?: string,
): Promise<RunSnapshot> {
  if (which !== true) return journal.snapshot(which)
  for (const run of await journal.runs()) {
    // Results of another program must not become those of this one.
    if (title !== undefined && run.title !== title) continue
    if (hasWorkLeft(run) || run.state === 'finished') return journal.snapshot(run.id)
  }
  const { address } = journal
  throw new HeddleError('HDL_UNKNOWN_RUN', { run: 'unfinished', title, address })
}

/** What a resumed run starts from. */
export interface Continuation {
  /** Results that stand, by node. */
  readonly finished: ReadonlyMap<string, unknown>
  readonly past: GrownPast
  /** Nodes that are set aside, and how often the process has ended while they ran. */
  readonly setAside: ReadonlyMap<string, number>
  /** Whether the last process ended without a word: starts are durable before jobs are called (R6). */
  readonly wasInterrupted: boolean
  /** Writes down what has changed since, before anything of the new graph is (R4). */
  announce(writer: RunWriter): void
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
  const before = await byName(run.nodes.filter(isOfGraph), clock)
  const differences = await compareGraphs(before, headers, clock)
  if (differences.length > 0) throw graphChanged(run.id, differences)
}

/** Nodes of sub-graphs are compared when their builder has run again. */
function isOfGraph({ parent }: NodeHeader): boolean {
  return parent === undefined
}

/**
 * Works out what of an earlier run stands.
 *
 * @throws `HDL_GRAPH_CHANGED` with every difference named, unless `allowChanges`.
 */
export async function continueRun(
  journal: Journal,
  run: RunSnapshot,
  headers: readonly NodeHeader[],
  options: { readonly allowChanges: boolean; readonly clock: Clock },
): Promise<Continuation> {
  const { clock } = options
  const before = await byName(run.nodes.filter(isOfGraph), clock)
  const differences = await compareGraphs(before, headers, clock)
  if (differences.length > 0 && !options.allowChanges) throw graphChanged(run.id, differences)
  const changed = new Set(differences.map(({ node }) => node))
  const results = new Map<string, unknown>()
  for await (const [node, value] of journal.results(run.id)) results.set(node, value)
  /** A result stands only as long as everything it was computed from stands. */
  const finished = new Map<string, unknown>()
  const fallen: string[] = []
  const announced: NodeHeader[] = []
  const invalid: string[] = []
  const slices = new Slices(clock)
  for (const header of headers) {
    const { name, after } = header
    const was = before.get(name)
    if (was === undefined || !isSameHeader(was, header)) announced.push(header)
    if (was?.state === 'succeeded') {
      // A success without its result is what a damaged page can leave of one.
      const isKnown = results.has(name) && !changed.has(name)
      const isStanding = isKnown && after.every((dependency) => finished.has(dependency))
      if (isStanding) finished.set(name, results.get(name))
      else fallen.push(name)
    }
    if (was?.parts !== undefined && !stands(header, changed, finished)) invalid.push(name)
    if (slices.due) await slices.next()
  }
  const removed = differences.flatMap(({ kind, node }) =>
    kind === 'removed' ? [before.get(node)!] : [],
  )
  const changes: Changes = { fallen, removed, headers: announced, invalid }
  const past = new GrownPast(run, results, options)
  for (const header of headers) {
    if (header.grows === 'subgraph') past.see(header, stands(header, changed, finished), finished)
  }
  return {
    finished,
    past,
    setAside: suspectsOf(run),
    wasInterrupted: run.state === 'interrupted',
    announce: (writer) => announceChanges(writer, changes, clock.wallTime()),
  }
}

/**
 * The nodes that are not as they were in a recorded run.
 *
 * @throws `HDL_GRAPH_CHANGED` with every difference named, unless `allowChanges`.
 */
export async function changedNodes(
  run: RunSnapshot,
  headers: readonly NodeHeader[],
  options: { readonly allowChanges: boolean; readonly clock: Clock },
): Promise<ReadonlySet<string>> {
  const before = await byName(run.nodes.filter(isOfGraph), options.clock)
  const differences = await compareGraphs(before, headers, options.clock)
  if (differences.length > 0 && !options.allowChanges) throw graphChanged(run.id, differences)
  return new Set(differences.map(({ node }) => node))
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

/** Whether what was computed for a node still holds: it has not changed, and what it was computed from stands. */
function stands(
  { name, after }: NodeHeader,
  changed: ReadonlySet<string>,
  finished: ReadonlyMap<string, unknown>,
): boolean {
  return !changed.has(name) && after.every((dependency) => finished.has(dependency))
}

/** Nodes of sub-graphs that earlier processes have added. */
export class GrownPast {
  readonly #run: RunSnapshot
  readonly #results: ReadonlyMap<string, unknown>
  readonly #options: { readonly allowChanges: boolean; readonly clock: Clock }
  readonly #byParent = new Map<string, NodeSnapshot[]>()
  readonly #standing = new Set<string>()
  readonly #done: NodeSnapshot[] = []

  constructor(
    run: RunSnapshot,
    results: ReadonlyMap<string, unknown>,
    options: { readonly allowChanges: boolean; readonly clock: Clock },
  ) {
    this.#run = run
    this.#results = results
    this.#options = options
    for (const node of run.nodes) {
      if (node.parent === undefined) continue
      const siblings = this.#byParent.get(node.parent)
      if (siblings === undefined) this.#byParent.set(node.parent, [node])
      else siblings.push(node)
    }
  }

  /** Nodes of sub-graphs that have succeeded, each after its dependencies, with their results. */
  *done(): IterableIterator<NodeSnapshot & { readonly value: unknown }> {
    for (const node of this.#done) yield { ...node, value: this.#results.get(node.name) }
  }

  /** Looks at a sub-graph of the graph, and at those inside it when it has ended. */
  see({ name }: NodeHeader, isStanding: boolean, finished: ReadonlyMap<string, unknown>): void {
    if (!isStanding) return
    this.#standing.add(name)
    if (finished.has(name)) this.#take(name)
  }

  /**
   * What stands of the nodes that a builder has made again.
   *
   * @throws `HDL_GRAPH_CHANGED` with every difference named, unless changes are allowed.
   */
  async compare(
    parent: string,
    headers: readonly NodeHeader[],
  ): Promise<{
    readonly finished: ReadonlyMap<string, unknown>
    readonly news: readonly NodeHeader[]
  }> {
    const { clock, allowChanges } = this.#options
    const before = await byName(this.#byParent.get(parent) ?? [], clock)
    const isStanding = this.#standing.has(parent)
    const differences = await compareGraphs(before, headers, clock)
    // A builder that was interrupted may not have announced all of its nodes.
    const real = differences.filter(({ kind }) => kind !== 'added')
    if (isStanding && real.length > 0 && !allowChanges) throw graphChanged(this.#run.id, real)
    const changed = new Set(differences.map(({ node }) => node))
    const finished = new Map<string, unknown>()
    const news: NodeHeader[] = []
    for (const header of headers) {
      const { name } = header
      const was = before.get(name)
      if (was === undefined || !isSameHeader(was, header)) news.push(header)
      const isKnown = isStanding && was?.state === 'succeeded' && this.#results.has(name)
      const holds = stands(header, changed, finished)
      if (isKnown && holds) finished.set(name, this.#results.get(name))
      if (isStanding && holds && header.grows === 'subgraph') this.see(header, true, finished)
    }
    return { finished, news }
  }

  #take(parent: string): void {
    for (const node of this.#byParent.get(parent) ?? []) {
      if (node.state !== 'succeeded') continue
      this.#done.push(node)
      if (node.grows === 'subgraph') this.#take(node.name)
    }
  }
}

function graphChanged(run: string, all: readonly GraphDifference[]): HeddleError {
  const differences = all.slice(0, toldDifferences).map(describeDifference)
  const more = all.length - differences.length
  if (more > 0) differences.push(`and ${more} more differences`)
  return new HeddleError('HDL_GRAPH_CHANGED', { run, differences })
}

interface Changes {
  /** Nodes whose results do not stand any more. */
  readonly fallen: readonly string[]
  readonly removed: readonly NodeSnapshot[]
  /** Nodes that are new or not as the journal knows them. */
  readonly headers: readonly NodeHeader[]
  /** Nodes whose elements and steps do not stand any more. */
  readonly invalid: readonly string[]
}

/**
 * The order matters to a crash in between: the headers make the new graph the run's graph, so a result
 * that falls has fallen before they are there.
 */
function announceChanges(writer: RunWriter, changes: Changes, at: number): void {
  for (const node of changes.fallen) writer.append({ node, state: 'waiting', attempt: 0, at })
  for (const node of changes.invalid) {
    writer.append({ node, state: 'skipped', attempt: 0, at, part: { path: '' } })
  }
  for (const { name: node, state, attempt } of changes.removed) {
    if (state !== 'succeeded') writer.append({ node, state: 'skipped', attempt, at })
  }
  if (changes.headers.length > 0) writer.addNodes(changes.headers)
}

async function byName(
  nodes: readonly NodeSnapshot[],
  clock: Clock,
): Promise<ReadonlyMap<string, NodeSnapshot>> {
  const found = new Map<string, NodeSnapshot>()
  const slices = new Slices(clock)
  for (const node of nodes) {
    found.set(node.name, node)
    if (slices.due) await slices.next()
  }
  return found
}
