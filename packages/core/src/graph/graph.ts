import { HeddleError } from '../errors.ts'
import { checkName, checkOptions, type OptionNames } from '../kernel/check.ts'
import { NameMap } from '../kernel/name-map.ts'
import { suggest } from '../kernel/suggest.ts'
import { checkOwnLimits, type Job, type NeedsOf, type OwnLimits } from './job.ts'

declare const output: unique symbol

/** A node of a graph, and the type of what it will return. Made by {@link Graph.add}. */
export interface NodeRef<out O = unknown> {
  readonly name: string
  /** Exists only for the compiler. */
  readonly [output]?: O
}

/** What the node behind a reference returns. */
export type OutputOf<R> = R extends NodeRef<infer O> ? O : never

/** Reads the result of a dependency: accepts only what is listed in `after`. */
export type ReadResult<A extends readonly unknown[]> = <R extends Extract<A[number], NodeRef>>(
  node: R,
) => OutputOf<R>

export interface NodeOptions<A extends readonly (NodeRef | string)[], I = unknown> {
  /** Nodes that must succeed first: references, or names of nodes that are in the graph already. */
  readonly after?: A
  /** How often a failed attempt is tried again. The job's own value when absent. */
  readonly retries?: number
  /** Milliseconds an attempt may take, more than 0; `Infinity` for no limit. The job's own value when absent. */
  readonly timeout?: number
  /** Added to what the job needs, name by name. The node's own number or key counts; `{ db: 0 }` drops the job's `db`. */
  readonly needs?: NeedsOf<I>
  /** 0 is first, 9 is last. */
  readonly priority?: number
}

const optionNames = {
  after: 1,
  retries: 1,
  timeout: 1,
  needs: 1,
  priority: 1,
  input: 1,
} satisfies OptionNames<NodeOptions<readonly []> & { input: unknown }>

function checkJob(node: string, job: Job): void {
  if (typeof job === 'object' && job !== null && typeof job.run === 'function') return
  const expected = 'a job: job({ name }, function)'
  throw new HeddleError('HDL_BAD_OPTION', { option: `job of ${node}`, value: job, expected })
}

function refuseAfter(value: unknown): never {
  const isOne = typeof value === 'string' || value instanceof Reference
  const expected = `a list of names, or of references that add() returned${isOne ? ': write it in brackets' : ''}`
  throw new HeddleError('HDL_BAD_OPTION', { option: 'after', value, expected })
}

/** The input itself, or a function that makes it from the results of dependencies, on the loop. */
export type InputOf<I, A extends readonly unknown[]> = I | ((of: ReadResult<A>) => I | Promise<I>)

/** The options of a node; `input` may be left out only where the job takes none. */
type AddArguments<I, A extends readonly (NodeRef | string)[]> = undefined extends I
  ? [options?: NodeOptions<A, I> & { readonly input?: InputOf<I, A> }]
  : [options: NodeOptions<A, I> & { readonly input: InputOf<I, A> }]

/** A node as the runner sees it. */
export interface GraphNode {
  readonly name: string
  readonly job: Job
  readonly after: readonly string[]
  readonly input: unknown
  readonly options: NodeOptions<readonly []>
}

/** What add() returns. It knows its node, so that a node of the same name in another graph is not taken for it. */
class Reference implements NodeRef {
  readonly name: string
  readonly #node: GraphNode

  constructor(node: GraphNode) {
    this.name = node.name
    this.#node = node
  }

  /** False for what was not made by add(): it is nothing but a name. */
  static isTo(ref: NodeRef, node: GraphNode | undefined): boolean {
    return !(#node in ref) || ref.#node === node
  }
}

/**
 * The name of a node that a reference stands for. `node` is the one of that name in the graph that is asked.
 * @throws `HDL_BAD_OPTION` for what is not a reference, `HDL_UNKNOWN_NODE` for one that belongs to another graph.
 */
export function nameOfReference(
  ref: NodeRef,
  find: (name: string) => GraphNode | undefined,
): string {
  const name: unknown = typeof ref === 'object' ? ref?.name : undefined
  if (typeof name !== 'string') {
    const expected = 'a reference that add() returned'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'of', value: ref, expected })
  }
  if (Reference.isTo(ref, find(name))) return name
  throw new HeddleError('HDL_UNKNOWN_NODE', { node: name, isForeign: true })
}

/**
 * Jobs with dependencies. Results of dependencies flow, typed, into dependents.
 *
 * A node can only depend on nodes that are there already, so a graph has no cycles.
 * @example
 * const g = new Graph()
 * const a = g.add('a', job({ name: 'two' }, () => 2))
 * const b = g.add('b', job({ name: 'square' }, (n: number) => n * n), { after: [a], input: (of) => of(a) })
 * const result = await run(g)
 * result.of(b) // => 4
 */
export class Graph {
  readonly #nodes = new NameMap<GraphNode>()

  /**
   * Adds a node and returns its reference.
   * @throws `HDL_DUPLICATE_NODE`; `HDL_UNKNOWN_DEPENDENCY` with a suggestion, also for a reference that belongs to
   *   another graph.
   */
  add<I, O, const A extends readonly (NodeRef | string)[] = readonly []>(
    name: string,
    job: Job<I, O>,
    ...[options]: AddArguments<I, A>
  ): NodeRef<O> {
    if (this.#nodes.has(checkName('name', name))) {
      throw new HeddleError('HDL_DUPLICATE_NODE', { node: name })
    }
    checkJob(name, job as Job)
    if (options !== undefined) checkOptions(options, optionNames)
    const { after = [], input, ...rest } = options ?? {}
    if (!Array.isArray(after)) refuseAfter(after)
    checkOwnLimits(rest as OwnLimits)
    const node: GraphNode = {
      name,
      job: job as Job,
      after: after.map((dependency) => this.#resolve(name, dependency)),
      input,
      options: rest as NodeOptions<readonly []>,
    }
    this.#nodes.add(node)
    return new Reference(node)
  }

  /**
   * A graph of these nodes and everything that they depend on.
   * @throws `HDL_UNKNOWN_NODE` with a suggestion.
   */
  only(names: Iterable<NodeRef | string>): Graph {
    const wanted = new Set<GraphNode>()
    const open = Array.from(names, (named) => this.#find(named))
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (wanted.has(node)) continue
      wanted.add(node)
      for (const dependency of node.after) open.push(this.#nodes.get(dependency)!)
    }
    const part = new Graph()
    for (const node of this.#nodes.values()) if (wanted.has(node)) part.#nodes.add(node)
    return part
  }

  get size(): number {
    return this.#nodes.size
  }

  get(name: string): GraphNode | undefined {
    return this.#nodes.get(name)
  }

  /** All nodes, each after its dependencies. */
  nodes(): IterableIterator<GraphNode> {
    return this.#nodes.values()
  }

  #find(named: NodeRef | string): GraphNode {
    const name = typeof named === 'string' ? named : named?.name
    const node = this.#nodes.get(name)
    if (typeof named === 'object' && named !== null && !Reference.isTo(named, node)) {
      throw new HeddleError('HDL_UNKNOWN_NODE', { node: name, isForeign: true })
    }
    if (node !== undefined) return node
    const suggestion = suggest(name, this.#nodes.keys())
    throw new HeddleError('HDL_UNKNOWN_NODE', { node: name, suggestion })
  }

  #resolve(node: string, dependency: NodeRef | string): string {
    const name = typeof dependency === 'string' ? dependency : dependency?.name
    if (typeof name !== 'string') refuseAfter(dependency)
    const known = this.#nodes.get(name)
    if (typeof dependency !== 'string' && !Reference.isTo(dependency, known)) {
      throw new HeddleError('HDL_UNKNOWN_DEPENDENCY', { node, dependency: name, isForeign: true })
    }
    if (known !== undefined) return name
    throw new HeddleError('HDL_UNKNOWN_DEPENDENCY', {
      node,
      dependency: name,
      suggestion: suggest(name, this.#nodes.keys()),
    })
  }
}
