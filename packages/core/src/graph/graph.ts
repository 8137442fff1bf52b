import { HeddleError } from '../errors.ts'
import {
  checkCount,
  checkFlag,
  checkFunction,
  checkName,
  checkOptions,
  checkWord,
  type OptionNames,
} from '../kernel/check.ts'
import { NameMap } from '../kernel/name-map.ts'
import { suggest } from '../kernel/suggest.ts'
import { checkOwnLimits, type Job, type NeedsOf } from './job.ts'

declare const output: unique symbol

/** A node of a graph, and the type of its result. Made by {@link Graph.add}. */
export interface NodeRef<out O = unknown> {
  readonly name: string
  /** Exists only for the compiler. */
  readonly [output]?: O
}

/** What the node behind a reference returns. */
export type OutputOf<R> = R extends NodeRef<infer O> ? O : never

/** Whether a node runs also when a dependency did not succeed. */
export type When = 'always' | undefined

/** The compiler shows this where `of()` is given another node than those of `after`. */
type NotListed = 'of() reads only nodes that are listed in `after`'

/**
 * Reads the result of a dependency: accepts only nodes listed in `after`. With `when: 'always'` it may be undefined.
 */
export type ReadResult<A extends readonly unknown[], W extends When = undefined> = <
  R extends NodeRef,
>(
  node: R extends Extract<A[number], NodeRef> ? R : NotListed,
) => W extends 'always' ? OutputOf<R> | undefined : OutputOf<R>

export interface NodeOptions<
  A extends readonly (NodeRef | string)[],
  I = unknown,
  W extends When = When,
> {
  /** Nodes that must succeed first: references, or names of nodes that are in the graph already. */
  readonly after?: A
  /**
   * `always`: a clean-up node. It starts when its dependencies have ended, however they ended, and also after a graceful
   * cancel of the run, within the grace.
   */
  readonly when?: W
  /** How often a failed attempt is tried again. The job's own value when absent. */
  readonly retries?: number
  /** Milliseconds of the first back-off. The job's own value when absent. */
  readonly retryBaseDelay?: number
  /** Milliseconds an attempt may take, more than 0; `Infinity` for no limit. The job's own value when absent. */
  readonly timeout?: number
  /**
   * Added to the needs of the job, name by name. The node's own number or key counts; `{ db: 0 }` drops the job's `db`.
   */
  readonly needs?: NeedsOf<I>
  /** 0 is first, 9 is last. */
  readonly priority?: number
}

const optionNames = {
  after: 1,
  when: 1,
  retries: 1,
  retryBaseDelay: 1,
  timeout: 1,
  needs: 1,
  priority: 1,
  input: 1,
} satisfies OptionNames<NodeOptions<readonly []> & { input: unknown }>

/** How many failed elements a map accepts: none, all, or this many. */
export type Failures = 'stop' | 'collect' | { readonly atMost: number }

/** The outcome of one element, where elements may fail. */
export type ElementResult<O> =
  | { readonly ok: true; readonly value: O }
  | { readonly ok: false; readonly error: ElementError }

/** An error of an element, as plain data. */
export interface ElementError {
  readonly name: string
  readonly message: string
  readonly code?: string
}

/** What a map returns with `collect: false`. */
export interface MapCounts {
  readonly elements: number
  readonly succeeded: number
  readonly failed: number
}

/** What a map returns. */
export type MapOutput<O, F extends Failures, C extends boolean> = C extends false
  ? MapCounts
  : F extends 'stop'
    ? O[]
    : ElementResult<O>[]

/** Elements, in order. */
export type Elements<E> = Iterable<E> | AsyncIterable<E>

/** Where the elements of a map come from: a node that returns them, or a function of results. */
export type Over<E, A extends readonly unknown[]> =
  | NodeRef<Iterable<E>>
  | ((of: ReadResult<A>) => Elements<E> | Promise<Elements<E>>)

export interface MapOptions<
  E,
  V,
  A extends readonly (NodeRef | string)[],
  F extends Failures = Failures,
  C extends boolean = boolean,
> extends NodeOptions<A, V, undefined> {
  /** The elements. A function is called again when the run is resumed, and must then give the same elements. */
  readonly over: Over<E, A>
  /**
   * What names an element over restarts; its index when absent. Keys of finished elements are kept in memory while a map
   * is resumed.
   */
  readonly key?: (element: E, index: number) => string
  /** How many elements wait or run at once, and so how many are in memory. Default 100. */
  readonly window?: number
  /** Default `stop`: the first failure fails the map. With the others it returns the outcome of each element. */
  readonly failures?: F
  /** False: results are not kept, and the map returns how many there were. Default true. */
  readonly collect?: C
}

const mapOptionNames = {
  after: 1,
  when: 1,
  retries: 1,
  retryBaseDelay: 1,
  timeout: 1,
  needs: 1,
  priority: 1,
  input: 1,
  over: 1,
  key: 1,
  window: 1,
  failures: 1,
  collect: 1,
} satisfies OptionNames<MapOptions<unknown, unknown, readonly []> & { input: unknown }>

export interface SubgraphOptions<A extends readonly (NodeRef | string)[], W extends When = When> {
  /** Nodes that must succeed before the graph is built. */
  readonly after?: A
  /** `always`: it is built and run whatever the outcome of its dependencies, as a clean-up. */
  readonly when?: W
  /** Milliseconds the builder may take. The run's own value when absent. */
  readonly timeout?: number
  /** 0 is first, 9 is last. Priority of the builder: its nodes have their own. */
  readonly priority?: number
}

const subgraphOptionNames = {
  after: 1,
  when: 1,
  timeout: 1,
  priority: 1,
} satisfies OptionNames<SubgraphOptions<readonly []>>

/** A graph, and the node of it whose result is that of the sub-graph. */
export interface BuiltGraph<O> {
  readonly graph: Graph
  readonly result: NodeRef<O>
}

/** How a map makes and keeps its elements. */
export interface MapSpec {
  readonly kind: 'map'
  /** The name of a dependency, or the function of results. */
  readonly over: string | ((of: unknown) => unknown)
  readonly input: ((element: unknown, index: number) => unknown) | undefined
  readonly key: ((element: unknown, index: number) => string) | undefined
  readonly window: number
  /** How many may fail. */
  readonly atMost: number
  /** Whether it returns the outcome of each element. */
  readonly reportsFailures: boolean
  readonly collect: boolean
}

export interface SubgraphSpec {
  readonly kind: 'subgraph'
  readonly build: (of: unknown) => unknown
}

const defaultWindow = 100

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

function refuseOver(value: unknown): never {
  const expected = 'a node that returns the elements, or a function: (of) => elements'
  throw new HeddleError('HDL_BAD_OPTION', { option: 'over', value, expected })
}

/** The input itself, or a function that makes it from the results of dependencies, on the loop. */
export type InputOf<I, A extends readonly unknown[], W extends When = undefined> =
  | (unknown extends I ? {} | null | undefined : I)
  | ((of: ReadResult<A, W>) => I | Promise<I>)

/** The compiler shows this where a job that takes an input is added without options. */
type MissingInput = 'this job takes an input: add it as { input }'

/** The options of a node; `input` may be left out only where the job takes none. */
type AddArguments<
  I,
  A extends readonly (NodeRef | string)[],
  W extends When,
  V,
> = undefined extends I
  ? [options?: NodeOptions<A, V, W> & { readonly input?: InputOf<I, A, W> }]
  : [options: NodeOptions<A, V, W> & { readonly input: InputOf<I, A, W> }]

/** A node as the runner sees it. */
export interface GraphNode {
  readonly name: string
  readonly job: Job
  readonly after: readonly string[]
  readonly input: unknown
  readonly options: NodeOptions<readonly []>
  /** Set for a node that stands for many: its job is that of the elements, or builds the sub-graph. */
  readonly grows?: MapSpec | SubgraphSpec
}

/** What add() returns. It knows its node, so that a node of the same name in another graph is not taken for it. */
class Reference implements NodeRef {
  readonly name: string
  readonly #node: GraphNode

  constructor(node: GraphNode) {
    this.name = node.name
    this.#node = node
  }

  /** False for a reference that add() did not make: it is nothing but a name. */
  static isTo(ref: NodeRef, node: GraphNode | undefined): boolean {
    return !(#node in ref) || ref.#node === node
  }
}

/**
 * The name of a node that a reference stands for. `node` is the node of that name in this graph.
 * @throws `HDL_BAD_OPTION` for a value that is not a reference, `HDL_UNKNOWN_NODE` for one that belongs to another
 * graph.
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

/** Another copy of the package has another class: the methods of a graph are checked instead. */
export function isGraph(value: unknown): value is Graph {
  const { nodes, get, size } = (value ?? {}) as Partial<Graph>
  return typeof nodes === 'function' && typeof get === 'function' && typeof size === 'number'
}

let seal: (graph: Graph) => void

/** From here on the graph takes no more nodes: it is being run. */
export function sealGraph(graph: Graph): void {
  seal(graph)
}

/** Keyed by a graph that is a part of another one: the nodes for which it was made. */
const chosenIn = new WeakMap<Graph, readonly string[]>()

/** The nodes that were given to `only()`; undefined for a graph that is not a part of another one. */
export function chosenNodes(graph: Graph): readonly string[] | undefined {
  return chosenIn.get(graph)
}

/** The job name, in the journal, of a node that builds a graph. The job itself is never called. */
const subgraphJob: Job = { name: 'subgraph', place: 'loop', run: () => undefined }

function checkFailures(failures: Failures): number {
  if (failures === 'stop') return 0
  if (failures === 'collect') return Infinity
  if (typeof failures === 'object' && failures !== null) {
    return checkCount('failures.atMost', failures.atMost, 0, true)
  }
  const expected = "'stop', 'collect' or { atMost: n }"
  throw new HeddleError('HDL_BAD_OPTION', { option: 'failures', value: failures, expected })
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
  #isStarted = false

  static {
    seal = (graph) => {
      if (#isStarted in graph) graph.#isStarted = true
    }
  }

  /**
   * Adds a node and returns its reference.
   * @throws `HDL_DUPLICATE_NODE`; `HDL_UNKNOWN_DEPENDENCY` with a suggestion, also for a reference that belongs to
   *   another graph; `HDL_GRAPH_STARTED` when the graph has been run.
   */
  add<
    I,
    O,
    const A extends readonly (NodeRef | string)[] = readonly [],
    const W extends When = undefined,
    V = I,
  >(name: string, job: Job<I, O, V>, ...[options]: AddArguments<I, A, W, V>): NodeRef<O>
  add<I, O, V = I>(
    name: string,
    job: Job<I, O, V> & (undefined extends I ? unknown : MissingInput),
  ): NodeRef<O>
  add(
    name: string,
    job: Job,
    options?: NodeOptions<readonly (NodeRef | string)[]> & { readonly input?: unknown },
  ): NodeRef {
    this.#checkName(name)
    checkJob(name, job)
    if (options !== undefined) checkOptions(options, optionNames)
    const { after = [], input, ...rest } = options ?? {}
    const limits = rest as NodeOptions<readonly []>
    return this.#insert(name, job, after, input, limits)
  }

  /**
   * Adds a node that runs a job for each element of a list that is known only while the graph runs.
   *
   * Its result has those of the elements, in their order. Elements take permits, retries and timeouts of their own;
   * each has a row in the journal, and one that has succeeded is not run again when the run is resumed.
   * @throws as {@link add}.
   * @example
   * const g = new Graph()
   * const list = g.add('list', job({ name: 'list' }, () => [1, 2, 3]))
   * const squares = g.map('squares', job({ name: 'square' }, (n: number) => n * n), { over: list, window: 2 })
   * const result = await run(g)
   * result.of(squares) // => [1, 4, 9]
   */
  map<
    E,
    I,
    O,
    const A extends readonly (NodeRef | string)[] = readonly [],
    const F extends Failures = 'stop',
    const C extends boolean = true,
    V = I,
  >(
    name: string,
    job: Job<I, O, V>,
    options: MapOptions<E, V, A, F, C> & {
      /** The input that the job gets for an element. */
      readonly input: (element: E, index: number) => I | Promise<I>
    },
  ): NodeRef<MapOutput<O, F, C>>
  map<
    I,
    O,
    const A extends readonly (NodeRef | string)[] = readonly [],
    const F extends Failures = 'stop',
    const C extends boolean = true,
    V = I,
  >(
    name: string,
    job: Job<I, O, V>,
    options: MapOptions<I, V, A, F, C> & { readonly input?: undefined },
  ): NodeRef<MapOutput<O, F, C>>
  map(name: string, job: unknown, given: unknown): NodeRef<never> {
    this.#checkName(name)
    checkJob(name, job as Job)
    const options = given as MapOptions<unknown, unknown, readonly (NodeRef | string)[]> & {
      readonly input?: MapSpec['input']
    }
    checkOptions(options, mapOptionNames)
    const { after = [], over, input, key, window, failures, collect, ...rest } = options
    if (!Array.isArray(after)) refuseAfter(after)
    if (input !== undefined) checkFunction('input', input)
    if (key !== undefined) checkFunction('key', key)
    const named: unknown = typeof over === 'object' ? (over as NodeRef | null)?.name : over
    if (typeof named !== 'string' && typeof named !== 'function') refuseOver(over)
    const source = typeof over === 'function' ? over : this.#resolve(name, over)
    const spec: MapSpec = {
      kind: 'map',
      over: source as MapSpec['over'],
      input,
      key,
      window: checkCount('window', window ?? defaultWindow, 1),
      atMost: checkFailures(failures ?? 'stop'),
      reportsFailures: failures !== undefined && failures !== 'stop',
      collect: checkFlag('collect', collect ?? true),
    }
    const all = typeof source === 'string' && !after.includes(over) ? [over, ...after] : after
    // A function, so that its mark in the journal is that of an input made from results.
    const made = (): unknown => undefined
    const limits = rest as NodeOptions<readonly []>
    return this.#insert(name, job as Job, all as NodeRef[], made, limits, spec)
  }

  /**
   * Adds a node that builds a graph from results and runs it: its nodes join the run as `name/node`.
   *
   * The builder returns a graph, or `{ graph, result }` with the node whose result is that of the sub-graph. It runs again
   * when the run is resumed before the sub-graph has ended, and must then build the same graph.
   * @throws as {@link add}.
   */
  subgraph<
    O,
    const A extends readonly (NodeRef | string)[] = readonly [],
    const W extends When = undefined,
  >(
    name: string,
    build: (of: ReadResult<A, W>) => BuiltGraph<O> | Promise<BuiltGraph<O>>,
    options?: SubgraphOptions<A, W>,
  ): NodeRef<O>
  subgraph<
    const A extends readonly (NodeRef | string)[] = readonly [],
    const W extends When = undefined,
  >(
    name: string,
    build: (of: ReadResult<A, W>) => Graph | Promise<Graph>,
    options?: SubgraphOptions<A, W>,
  ): NodeRef<void>
  subgraph(
    name: string,
    build: (of: never) => unknown,
    options: SubgraphOptions<readonly (NodeRef | string)[]> = {},
  ): NodeRef<never> {
    this.#checkName(name)
    checkFunction('build', build)
    checkOptions(options, subgraphOptionNames)
    const { after = [], ...rest } = options
    const spec: SubgraphSpec = { kind: 'subgraph', build: build as SubgraphSpec['build'] }
    const made = (): unknown => undefined
    const limits = rest as NodeOptions<readonly []>
    return this.#insert(name, subgraphJob, after, made, limits, spec)
  }

  #checkName(name: string): void {
    checkName('name', name)
    if (this.#isStarted) throw new HeddleError('HDL_GRAPH_STARTED', { node: name })
    if (this.#nodes.has(name)) throw new HeddleError('HDL_DUPLICATE_NODE', { node: name })
  }

  #insert(
    name: string,
    job: Job,
    after: readonly (NodeRef | string)[],
    input: unknown,
    options: NodeOptions<readonly []>,
    grows?: MapSpec | SubgraphSpec,
  ): Reference & NodeRef<never> {
    if (!Array.isArray(after)) refuseAfter(after)
    checkOwnLimits(options)
    if (options.when !== undefined) checkWord('when', options.when, ['always'])
    const node: GraphNode = {
      name,
      job,
      after: after.map((dependency) => this.#resolve(name, dependency)),
      input,
      options,
      ...(grows !== undefined && { grows }),
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
    const chosen = open.map(({ name }) => name)
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (wanted.has(node)) continue
      wanted.add(node)
      for (const dependency of node.after) open.push(this.#nodes.get(dependency)!)
    }
    const part = new Graph()
    for (const node of this.#nodes.values()) if (wanted.has(node)) part.#nodes.add(node)
    if (part.size < this.size) chosenIn.set(part, chosen)
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
