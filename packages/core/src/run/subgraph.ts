/** Builds the graph of a sub-graph and waits until its nodes have ended: docs/design/growing.md. */
import { suspendAttempt } from '../attempts/attempt.ts'
import { HeddleError, describe, isError } from '../errors.ts'
import { final } from '../attempts/retry.ts'
import {
  isGraph,
  nameOfReference,
  sealGraph,
  type BuiltGraph,
  type Graph,
  type SubgraphSpec,
} from '../graph/graph.ts'
import { shorten } from '../kernel/shorten.ts'
import { Slices } from '../kernel/slices.ts'
import type { NodeState } from '../scheduler/node.ts'
import { headersOf } from './compare-graphs.ts'
import { untilAborted, type AttemptContext, type GrowthHost } from './growth-host.ts'
import { placeNodes, reader, type NodeScope, type PlacedNode } from './placed.ts'

/**
 * The result of a sub-graph.
 *
 * *Cancellation*: by the signal of its attempt; its nodes are removed then.
 */
export async function runSubgraph(
  placed: PlacedNode,
  context: AttemptContext,
  host: GrowthHost,
): Promise<unknown> {
  const { build } = placed.node.grows as SubgraphSpec
  const of = reader(placed.scope, (name) => context.resultOf(name))
  const { graph, result } = readBuilt(placed.name, await build(of))
  checkNotInside(placed, graph)
  const level = checkLevel(placed)
  const find = (name: string): ReturnType<Graph['get']> => graph.get(name)
  const returned = result === undefined ? undefined : nameOfReference(result, find)
  sealGraph(graph)
  const scope: NodeScope = { graph, prefix: `${placed.name}/`, outer: placed.scope, level }
  suspendAttempt(context)
  const group = new NodeGroup(placed.name, context, host)
  const joined = await join(placed, scope, context, host)
  host.growth.describe(context, () => group.describe())
  await untilAborted(context, group.wait(joined), () => group.remove(joined))
  return returned === undefined ? undefined : host.growth.valueOf(scope.prefix + returned)
}

function readBuilt(
  node: string,
  built: unknown,
): { graph: Graph; result?: BuiltGraph<unknown>['result'] } {
  const given = built as Partial<BuiltGraph<unknown>> & Partial<Graph>
  if (isGraph(given)) return { graph: given }
  if (isGraph(given?.graph)) {
    return { graph: given.graph, ...(given.result !== undefined && { result: given.result }) }
  }
  const expected = 'a graph, or { graph, result }'
  throw new HeddleError('HDL_BAD_OPTION', { option: `build of ${node}`, value: built, expected })
}

/** In nested sub-graphs each error repeats the next; the repetition is cut at this length. */
const longestRepeated = 500

/** A graph inside itself never ends. @throws `HDL_GRAPH_INSIDE_ITSELF`. */
function checkNotInside({ name, scope }: PlacedNode, graph: Graph): void {
  for (let outer: NodeScope | undefined = scope; outer !== undefined; outer = outer.outer) {
    if (outer.graph !== graph) continue
    const holder = outer.prefix === '' ? undefined : outer.prefix.slice(0, -1)
    const details = {
      node: shorten(name, longestRepeated),
      holder: holder && shorten(holder, longestRepeated),
    }
    throw final(new HeddleError('HDL_GRAPH_INSIDE_ITSELF', details))
  }
}

/** How many sub-graphs may be inside one another. A builder that never ends would take all memory. */
const mostLevels = 1_000

/** The level of the graph that a node builds. @throws `HDL_BAD_OPTION`. */
function checkLevel({ name, scope }: PlacedNode): number {
  if (scope.level < mostLevels) return scope.level + 1
  throw new HeddleError('HDL_BAD_OPTION', {
    option: `build of ${shorten(name, 60)}`,
    value: 'a graph',
    expected: `at most ${mostLevels} sub-graphs inside one another`,
  })
}

/** Adds the nodes to the run: valid nodes of an earlier process as done. */
async function join(
  placed: PlacedNode,
  scope: NodeScope,
  context: AttemptContext,
  host: GrowthHost,
): Promise<readonly string[]> {
  const { clock, journal, growth } = host
  const headers = await headersOf(scope.graph, clock, { prefix: scope.prefix, parent: placed.name })
  // Before the journal: nodes that cannot join the run must not be announced there.
  const nodes = await placeNodes(host.nodes, scope, host.places, clock)
  const past = await journal?.growInto(placed.name, headers).catch((error: unknown) => {
    throw isError(error, 'HDL_GRAPH_CHANGED') ? final(error) : error
  })
  const { finished, ended = [] } = past ?? {}
  growth.joined(placed.name, headers)
  const slices = new Slices(clock)
  for (const each of nodes) {
    const isDone = finished?.has(each.name) === true
    host.addNode(context, each, isDone ? { value: finished.get(each.name) } : undefined)
    if (slices.due) await slices.next()
  }
  // Sub-graphs of this one that have ended are not built again: their nodes join with them.
  for (const { name, job, place, after, value, parent } of ended) {
    growth.joined(parent!, [{ name, job, place, after }])
    growth.add(context, name, { after, done: true, value })
    if (slices.due) await slices.next()
  }
  return headers.map(({ name }) => name)
}

class NodeGroup {
  readonly #name: string
  readonly #context: AttemptContext
  readonly #host: GrowthHost
  readonly #done = Promise.withResolvers<void>()
  #total = 0
  #ended = 0
  #bad: { readonly name: string; readonly state: NodeState } | undefined

  constructor(name: string, context: AttemptContext, host: GrowthHost) {
    this.#name = name
    this.#context = context
    this.#host = host
  }

  /** Ends when all have ended. @throws `HDL_SUBGRAPH_FAILED`. */
  async wait(names: readonly string[]): Promise<void> {
    this.#total = names.length
    if (names.length === 0) return
    for (const name of names) {
      this.#host.growth.watchEnd(name, (state) => this.#onEnd(name, state))
    }
    if (this.#ended === 0) this.#report()
    await this.#done.promise
    const { growth } = this.#host
    const refusal = growth.refusal(this.#context)
    if (this.#bad === undefined) return
    if (refusal !== undefined && this.#bad.state !== 'failed') {
      growth.cancelNode(this.#context, refusal)
      throw refusal as Error
    }
    const cause = growth.errorOf(this.#bad.name)
    const details = {
      node: this.#name,
      failed: this.#bad.name,
      state: this.#bad.state === 'blocked' ? 'was blocked' : this.#bad.state,
      cause: cause === undefined ? undefined : shorten(describe(cause), longestRepeated),
    }
    throw final(new HeddleError('HDL_SUBGRAPH_FAILED', details, { cause }))
  }

  /** Removes unfinished nodes: the sub-graph itself was stopped. */
  remove(names: readonly string[]): void {
    this.#host.growth.removeNodes(names)
  }

  describe(): string {
    return `${this.#ended} of ${this.#total} nodes of the sub-graph have ended`
  }

  #onEnd(name: string, state: NodeState): void {
    this.#ended++
    // A failure says more than the nodes it has blocked. A node that was removed on purpose is not a failure.
    const isRemoved = state === 'skipped' && this.#host.growth.refusal(this.#context) === undefined
    if (state === 'failed' && this.#bad?.state !== 'failed') this.#bad = { name, state }
    else if (state !== 'succeeded' && !isRemoved) this.#bad ??= { name, state }
    this.#report()
    if (this.#ended === this.#total) this.#done.resolve()
  }

  #report(): void {
    const { progress } = this.#context
    progress(this.#ended / this.#total, `${this.#ended} of ${this.#total}`)
  }
}
