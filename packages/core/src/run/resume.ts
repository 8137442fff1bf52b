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
 *  R7  A node that runs again because it, or something that it was computed from, has changed or has not succeeded, starts from nothing: no
 *      element, step, sleep or wait of it from before is used. The nodes of a sub-graph fall with it; that is written before
 *      anything that it is made from runs again. It holds at every depth.
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

/** Which run `resume: true` means. */
export interface WantedRun {
  readonly title: string | undefined
  /** The nodes that the graph is a part for: only a run of the same part is taken. */
  readonly only: readonly string[] | undefined
  /** Whether its results are to be used in a new run. */
  readonly isSource: boolean
}

/**
 * The run to resume: the given one, or the last of this title that no process runs. When that one has succeeded there
 * is nothing to do but to answer with its result: nothing older is resumed unless it is named. A run of a part of the graph
 * (`Graph.only`) is not the run of its title: only the same part is resumed from it.
 * @throws `HDL_UNKNOWN_RUN` when there is none.
 */
export async function findRun(
  journal: Journal,
  which: string | true,
  { title, only, isSource }: WantedRun,
): Promise<RunSnapshot> {
  if (which !== true) return journal.snapshot(which)
  let passed: { readonly partial: string; readonly only: readonly string[] } | undefined
  for (const run of await journal.runs()) {
    // Results of another program must not become those of this one.
    if (title !== undefined && run.title !== title) continue
    if (!hasWorkLeft(run) && run.state !== 'finished') continue
    const part = onlyOf((await journal.overview(run.id)).options)
    if (isSamePart(part, only)) return journal.snapshot(run.id)
    if (part !== undefined) passed ??= { partial: run.id, only: part }
  }
  const { address } = journal
  const run = isSource ? 'earlier' : 'unfinished'
  throw new HeddleError('HDL_UNKNOWN_RUN', { run, title, address, ...passed })
}

/** The nodes that a run was limited to, from its options. */
function onlyOf(options: RunSnapshot['options']): readonly string[] | undefined {
  const { only } = options
  return Array.isArray(only) ? only.map(String) : undefined
}

function isSamePart(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): boolean {
  if (one === undefined || other === undefined) return one === other
  return JSON.stringify(one.toSorted()) === JSON.stringify(other.toSorted())
}

/** A node of a sub-graph that an earlier process finished, with its result. In lists each comes after its dependencies. */
export type EndedNode = NodeSnapshot & { readonly value: unknown }

/** What of a sub-graph that was built again stands. */
export interface Regrown {
  /** Results of its own nodes. */
  readonly finished: ReadonlyMap<string, unknown>
  /** Nodes inside its sub-graphs that have ended: these are not built again. */
  readonly ended: readonly EndedNode[]
}

/** What a resumed run starts from. */
export interface Continuation {
  /** Results that stand, by node. */
  readonly finished: ReadonlyMap<string, unknown>
  readonly past: GrownPast
  /** Nodes inside sub-graphs that stand. */
  readonly ended: readonly EndedNode[]
  readonly parts: StandingParts
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
  const parts = new StandingParts(run)
  const past = new GrownPast(run, results, parts, options)
  const ended: EndedNode[] = []
  const changes = new Changes()
  const slices = new Slices(clock)
  for (const header of headers) {
    const { name } = header
    const was = before.get(name)
    if (was === undefined || !isSameHeader(was, header)) changes.headers.push(header)
    const isStanding = stands(header, changed, finished)
    if (was?.state === 'succeeded') {
      // A success without its result is what a damaged page can leave of one.
      if (isStanding && results.has(name)) finished.set(name, results.get(name))
      else changes.fallen.push(name)
    }
    if (!isStanding && parts.fall(name)) changes.invalid.push(name)
    if (isStanding && header.grows === 'subgraph') past.see(header, finished, ended)
    else if (was?.grows === 'subgraph') await past.fall(name, changes)
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

/** Which rows of the parts of a node stand (R7). */
export class StandingParts {
  /** After which position they begin. */
  readonly #from = new Map<string, number>()
  readonly #end: number

  constructor(run: RunSnapshot) {
    this.#end = run.position
    for (const { name, partsFrom } of run.nodes) {
      if (partsFrom !== undefined) this.#from.set(name, partsFrom)
    }
  }

  /** The rows that stand come after this position. */
  from(node: string): number {
    return this.#from.get(node) ?? 0
  }

  /** None of the rows so far stands any more. False when there were none. */
  fall(node: string): boolean {
    if (!this.#from.has(node)) return false
    this.#from.set(node, this.#end)
    return true
  }
}

/** Nodes of sub-graphs that earlier processes have added. */
export class GrownPast {
  readonly #run: RunSnapshot
  readonly #results: ReadonlyMap<string, unknown>
  readonly #parts: StandingParts
  readonly #options: { readonly allowChanges: boolean; readonly clock: Clock }
  readonly #byParent = new Map<string, NodeSnapshot[]>()
  readonly #standing = new Set<string>()

  constructor(
    run: RunSnapshot,
    results: ReadonlyMap<string, unknown>,
    parts: StandingParts,
    options: { readonly allowChanges: boolean; readonly clock: Clock },
  ) {
    this.#run = run
    this.#results = results
    this.#parts = parts
    this.#options = options
    for (const node of run.nodes) {
      if (node.parent === undefined) continue
      const siblings = this.#byParent.get(node.parent)
      if (siblings === undefined) this.#byParent.set(node.parent, [node])
      else siblings.push(node)
    }
  }

  /** Looks at a sub-graph that stands. When it has ended, what is in it has ended too and is added to `ended`. */
  see({ name }: NodeHeader, finished: ReadonlyMap<string, unknown>, ended: EndedNode[]): void {
    this.#standing.add(name)
    if (finished.has(name)) this.#take(name, ended)
  }

  /** R7: a sub-graph does not stand any more. What is in it is taken out until its builder makes it again. */
  async fall(subgraph: string, changes: Changes): Promise<void> {
    await this.#below(subgraph, (node) => {
      if (node.state !== 'skipped') changes.removed.push(node)
      if (this.#parts.fall(node.name)) changes.invalid.push(node.name)
    })
  }

  /** A node is not there any more, nor is what was in it. */
  async remove(node: NodeSnapshot, changes: Changes): Promise<void> {
    const take = (each: NodeSnapshot): void => {
      if (each.state !== 'succeeded') changes.removed.push(each)
    }
    take(node)
    await this.#below(node.name, take)
  }

  async #below(subgraph: string, visit: (node: NodeSnapshot) => void): Promise<void> {
    const slices = new Slices(this.#options.clock)
    const left = [subgraph]
    for (let name = left.pop(); name !== undefined; name = left.pop()) {
      for (const node of this.#byParent.get(name) ?? []) {
        visit(node)
        if (node.grows === 'subgraph') left.push(node.name)
        if (slices.due) await slices.next()
      }
    }
  }

  /**
   * What stands of the nodes that a builder has made again, and what is to be written of the others.
   *
   * @throws `HDL_GRAPH_CHANGED` with every difference named, unless changes are allowed.
   */
  async compare(
    parent: string,
    headers: readonly NodeHeader[],
  ): Promise<Regrown & { announce(writer: RunWriter): void }> {
    const { clock, allowChanges } = this.#options
    const isStanding = this.#standing.has(parent)
    const made = await byName(this.#byParent.get(parent) ?? [], clock)
    // What was taken out is made anew.
    const isThere = ({ state }: NodeSnapshot): boolean => isStanding && state !== 'skipped'
    const before = new Map([...made].filter(([, node]) => isThere(node)))
    const differences = await compareGraphs(before, headers, clock)
    // A builder that was interrupted may not have announced all of its nodes.
    const real = differences.filter(({ kind }) => kind !== 'added')
    if (isStanding && real.length > 0 && !allowChanges) throw graphChanged(this.#run.id, real)
    const changed = new Set(differences.map(({ node }) => node))
    const finished = new Map<string, unknown>()
    const ended: EndedNode[] = []
    const changes = new Changes()
    const slices = new Slices(clock)
    for (const header of headers) {
      const { name } = header
      const was = before.get(name)
      if (was === undefined || !isSameHeader(was, header)) changes.headers.push(header)
      if (was !== undefined)
        await this.#seeChild(header, was, changed, { finished, ended }, changes)
      else if (made.has(name)) changes.fallen.push(name)
      if (slices.due) await slices.next()
    }
    for (const { kind, node } of differences) {
      if (kind === 'removed') await this.remove(before.get(node)!, changes)
    }
    return {
      finished,
      ended,
      announce: (writer) => announceChanges(writer, changes, clock.wallTime()),
    }
  }

  async #seeChild(
    header: NodeHeader,
    was: NodeSnapshot,
    changed: ReadonlySet<string>,
    { finished, ended }: { finished: Map<string, unknown>; ended: EndedNode[] },
    changes: Changes,
  ): Promise<void> {
    const { name } = header
    const isStanding = stands(header, changed, finished)
    if (was.state === 'succeeded') {
      if (isStanding && this.#results.has(name)) finished.set(name, this.#results.get(name))
      else changes.fallen.push(name)
    }
    if (!isStanding && this.#parts.fall(name)) changes.invalid.push(name)
    if (isStanding && header.grows === 'subgraph') this.see(header, finished, ended)
    else if (was.grows === 'subgraph') await this.fall(name, changes)
  }

  #take(subgraph: string, ended: EndedNode[]): void {
    const left = [subgraph]
    for (let parent = left.pop(); parent !== undefined; parent = left.pop()) {
      for (const node of this.#byParent.get(parent) ?? []) {
        if (node.state !== 'succeeded') continue
        ended.push({ ...node, value: this.#results.get(node.name) })
        if (node.grows === 'subgraph') left.push(node.name)
      }
    }
  }
}

function graphChanged(run: string, all: readonly GraphDifference[]): HeddleError {
  const differences = all.slice(0, toldDifferences).map(describeDifference)
  const more = all.length - differences.length
  if (more > 0) differences.push(`and ${more} more differences`)
  return new HeddleError('HDL_GRAPH_CHANGED', { run, differences })
}

/** What of a run is not as it was. */
class Changes {
  /** Nodes whose results do not stand any more, and those that were taken out and are made again. */
  readonly fallen: string[] = []
  /** Nodes that are not there any more, and have not succeeded or do not stand. */
  readonly removed: NodeSnapshot[] = []
  /** Nodes that are new or not as the journal knows them. */
  readonly headers: NodeHeader[] = []
  /** Nodes whose elements and steps do not stand any more. */
  readonly invalid: string[] = []
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
  for (const { name: node, attempt } of changes.removed) {
    writer.append({ node, state: 'skipped', attempt, at })
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
