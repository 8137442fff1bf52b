/**
 * Running a part of a recorded run again: `run(graph, { journal, resume: id, from: 'plot' })`.
 *
 *   the old run ──results that are not computed from `from`──▶ a new run ──▶ resumed like any other
 *
 * The old run is not touched and keeps its key; the new one says where it comes from (`options.forkedFrom`). Results
 * that are files in the store are not copied: both runs name the same file, which is removed with the last of them.
 * Artifacts of results that are used are copied: each of the runs has its own, and keeps it when the other is removed
 * (docs/decisions/0410).
 *
 * Invariants, quoted by the tests:
 *  K1  `from`, everything computed from it, and everything that has not succeeded runs; nothing else does.
 *  K2  The old run has the same rows as before.
 *  K3  A process that dies while it makes the new run leaves one that can be resumed: it runs more than K1 says, never
 *      less.
 *  K4  The new run has the artifacts of every node, element and step whose result it uses, before it has the result.
 */
import type { ArtifactInfo } from '../artifacts/artifact-store.ts'
import { copyArtifact } from '../artifacts/copy-artifact.ts'
import { nodeOfOwner } from '../attempts/part-path.ts'
import { HeddleError } from '../errors.ts'
import type {
  Journal,
  NodeHeader,
  NodeSnapshot,
  RunSnapshot,
  RunWriter,
} from '../journal/journal.ts'
import { headerOf } from '../journal/node-header.ts'
import type { Clock } from '../kernel/clock.ts'
import { Slices } from '../kernel/slices.ts'
import { suggest } from '../kernel/suggest.ts'

/** Where a run comes from: recorded with its options. */
export interface ForkedFrom {
  readonly run: string
  readonly node: string
}

/** Results that are on their way to the journal at a time. */
const atOnce = 256

/** The part of a run that is used in a new one. */
export class Fork {
  readonly #source: RunSnapshot
  readonly #byName: ReadonlyMap<string, NodeSnapshot>
  /** Nodes whose results and parts are not used. */
  readonly #again = new Set<string>()
  /** Sub-graphs that contain such nodes: the results of their other nodes are used. */
  readonly #reopened = new Set<string>()

  private constructor(source: RunSnapshot) {
    this.#source = source
    this.#byName = new Map(source.nodes.map((node) => [node.name, node]))
  }

  /**
   * Determines the nodes that run again: `from`, `changed` and everything computed from them.
   *
   * *Cancellation*: none; the work is bounded by the size of the graph and yields to I/O.
   * @throws `HDL_UNKNOWN_NODE` when the run has no such node.
   */
  static async of(
    source: RunSnapshot,
    headers: readonly NodeHeader[],
    from: string,
    changed: ReadonlySet<string>,
    clock: Clock,
  ): Promise<Fork> {
    const fork = new Fork(source)
    const isKnown = fork.#byName.has(from) || headers.some(({ name }) => name === from)
    if (!isKnown) {
      const suggestion = suggest(from, [...fork.#byName.keys()])
      throw new HeddleError('HDL_UNKNOWN_NODE', { node: from, suggestion })
    }
    fork.#again.add(from)
    for (const name of changed) fork.#again.add(name)
    // Nodes of the current graph; nodes of sub-graphs as recorded.
    const nodes = [...headers, ...source.nodes.filter(({ parent }) => parent !== undefined)]
    const slices = new Slices(clock)
    for (let size = -1; size !== fork.#size;) {
      size = fork.#size
      for (const node of nodes) {
        fork.#see(node)
        if (slices.due) await slices.next()
      }
    }
    return fork
  }

  get #size(): number {
    return this.#again.size + this.#reopened.size
  }

  #see({ name, after, parent }: NodeHeader): void {
    const isAgain =
      (parent !== undefined && this.#again.has(parent)) ||
      after.some((each) => this.#again.has(each) || this.#reopened.has(each))
    if (isAgain) this.#again.add(name)
    if (parent === undefined || this.#again.has(parent)) return
    if (this.#again.has(name) || this.#reopened.has(name)) this.#reopened.add(parent)
  }

  /** Writes the reused part of the old run into the new one. */
  async copyInto(writer: RunWriter, journal: Journal, clock: Clock): Promise<void> {
    const isUsed = ({ name }: NodeSnapshot): boolean => !this.#again.has(name)
    const grown = this.#source.nodes.filter((node) => node.parent !== undefined && isUsed(node))
    if (grown.length > 0) writer.addNodes(grown.map(headerOf))
    await this.#copyArtifacts(writer.runId, journal)
    const at = clock.wallTime()
    const pending = new Set<Promise<void>>()
    const commit = async (...row: Parameters<RunWriter['commit']>): Promise<void> => {
      const writing = writer.commit(...row)
      pending.add(writing)
      void writing.finally(() => pending.delete(writing)).catch(() => undefined)
      if (pending.size >= atOnce) await Promise.all(pending)
    }
    for await (const [node, value] of journal.results(this.#source.id)) {
      const was = this.#byName.get(node)
      if (was === undefined || !isUsed(was) || this.#reopened.has(node)) continue
      if (was.state === 'succeeded') {
        await commit({ node, state: 'succeeded', attempt: 0, at }, value)
      }
    }
    // Elements and steps of nodes that have not come to their end.
    for (const node of this.#source.nodes) {
      const isOpen = node.parts !== undefined && node.state !== 'succeeded'
      if (!isOpen || !isUsed(node)) continue
      for await (const row of journal.parts(this.#source.id, node.name)) {
        const { position: _position, value, ...transition } = row
        // How often the process of the old run ended while it ran says nothing of the new one.
        if (row.state === 'running') continue
        if (row.state === 'succeeded') await commit(transition, value)
        else writer.append(transition)
      }
    }
    await Promise.all(pending)
  }

  /** K4. */
  async #copyArtifacts(into: string, { artifacts }: Journal): Promise<void> {
    for (const artifact of (await artifacts?.list(this.#source.id)) ?? []) {
      const node = this.#authorOf(artifact)
      const isUsed = node !== undefined && !this.#again.has(node.name)
      // For a node that has not succeeded, its elements and steps are used.
      const hasResults = isUsed && (node.state === 'succeeded' || node.parts !== undefined)
      if (hasResults) await copyArtifact(artifact, artifacts!, artifacts!, { into })
    }
  }

  /** The node that wrote an artifact, itself or with an element or a step. */
  #authorOf({ by }: ArtifactInfo): NodeSnapshot | undefined {
    return this.#byName.get(nodeOfOwner(by))
  }
}
