/** Nodes of a graph with the places they run at, and the limits of their attempts. */
import { HeddleError, isError } from '../errors.ts'
import { nameOfReference, type Graph, type GraphNode, type NodeRef } from '../graph/graph.ts'
import type { Job, Needs, NeedsOf, OwnLimits } from '../graph/job.ts'
import type { PlacePermits } from '../capacity/lane-table.ts'
import { isThenable } from '../kernel/call.ts'
import { checkRecord } from '../kernel/check.ts'
import type { Clock } from '../kernel/clock.ts'
import type { NameMap } from '../kernel/name-map.ts'
import { Slices } from '../kernel/slices.ts'
import { waitFor } from '../kernel/wait-for.ts'
import { findPlace, type Places } from '../places/find-place.ts'
import { loopPlace } from '../places/loop.ts'
import { final } from '../attempts/retry.ts'
import { redactError, textRedaction, type Redact } from '../graph/redact.ts'
import { redactTexts } from '../attempts/attempt.ts'
import { validateInput } from '../graph/schema.ts'
import type { Place, PlaceContext } from '../places/place.ts'
import type { AddOptions, NeedsFunction } from '../scheduler/scheduler.ts'

/** The graph that a node was added to, and what the names of its nodes begin with in the run. */
export interface NodeScope {
  readonly graph: Graph
  /** Empty for the graph of the run, `train/` for the sub-graph `train`. */
  readonly prefix: string
  /** How many sub-graphs it is inside of. */
  readonly level: number
}

export interface PlacedNode {
  /** Its name in the run. */
  readonly name: string
  readonly node: GraphNode
  readonly place: Place
  readonly scope: NodeScope
}

export type PlacedNodes = NameMap<PlacedNode>

/** Reads results by the names of the run. */
export type ResultOf = (name: string) => unknown

/**
 * Adds the nodes of a graph to those of the run.
 *
 * *Cancellation*: none; the work is bounded by the size of the graph and yields to I/O.
 * @throws `HDL_PLACE_UNAVAILABLE`; `HDL_DUPLICATE_NODE` for a name that the run has already.
 */
export async function placeNodes(
  nodes: PlacedNodes,
  scope: NodeScope,
  places: Places,
  clock: Clock,
): Promise<PlacedNode[]> {
  const placed: PlacedNode[] = []
  const slices = new Slices(clock)
  for (const node of scope.graph.nodes()) {
    const name = scope.prefix + node.name
    if (nodes.has(name)) throw new HeddleError('HDL_DUPLICATE_NODE', { node: name })
    placed.push({ name, node, scope, place: findPlace(name, node.job.place, places) })
    if (slices.due) await slices.next()
  }
  for (const each of placed) {
    nodes.add(each)
    if (slices.due) await slices.next()
  }
  return placed
}

/** What a placed node waits for, by the names of the run. */
export function dependenciesOf({ node, scope }: PlacedNode): readonly string[] {
  return scope.prefix === '' ? node.after : node.after.map((name) => scope.prefix + name)
}

/** What `of()` is in the functions of a node. */
export function reader(scope: NodeScope, resultOf: ResultOf): (dependency: NodeRef) => unknown {
  const find = (name: string): GraphNode | undefined => scope.graph.get(name)
  return (dependency) => resultOf(scope.prefix + nameOfReference(dependency, find))
}

/**
 * Calls `use` with the input of a node. What an input function returns is awaited once when it is a promise, for
 * `needs` as for the job; an input that is not made by a function is given as it is.
 */
export function withInput(
  { node: { input }, scope }: PlacedNode,
  resultOf: ResultOf,
  use: (input: unknown) => unknown,
): unknown {
  if (typeof input !== 'function') return use(input)
  return withValue(input(reader(scope, resultOf)), use)
}

/** Runs a job at its place, with an input that its schema has checked. */
export function runJob(job: Job, input: unknown, place: Place, context: PlaceContext): unknown {
  const call = (): unknown =>
    withChecked(context.name, job, input, (checked) => place.run(job, checked, context))
  return job.redact === undefined ? call() : runRedacted(job.redact, input, context, call)
}

/** What the job logs, reports and throws is redacted before anything hears of it. */
function runRedacted(
  redact: Redact,
  input: unknown,
  context: PlaceContext,
  call: () => unknown,
): unknown {
  const redactText = textRedaction(redact, input)
  redactTexts(context, redactText)
  const fail = (error: unknown): never => {
    throw redactError(error, redactText)
  }
  let result: unknown
  try {
    result = call()
  } catch (error) {
    return fail(error)
  }
  return isThenable(result) ? Promise.resolve(result).then(undefined, fail) : result
}

/** What an input needs: the function is given what the schema makes of it, as the job is. A promise when the schema takes time. */
export function neededFor(
  node: string,
  job: Job,
  needs: NeedsOf<unknown> | undefined,
  input: unknown,
): unknown {
  if (typeof needs !== 'function') return needs
  return withChecked(node, job, input, (checked) => answerOf(needs, checked))
}

/** Calls `use` with what the schema makes of an input. A wrong input stays wrong: it is not tried again. */
function withChecked(
  node: string,
  { input: schema }: Job,
  input: unknown,
  use: (checked: unknown) => unknown,
): unknown {
  if (schema === undefined) return use(input)
  const refuse = (error: unknown): never => {
    throw isError(error, 'HDL_WRONG_INPUT') ? final(error) : error
  }
  let checked: unknown
  try {
    checked = validateInput(node, schema, input)
  } catch (error) {
    return refuse(error)
  }
  return isThenable(checked) ? Promise.resolve(checked).then(use, refuse) : use(checked)
}

/**
 * Checks inputs that are known before anything starts.
 *
 * *Cancellation*: aborting `signal` ends the wait for a schema; what is left is not checked, because nothing will start.
 * @throws `HDL_WRONG_INPUT`, `HDL_SCHEMA_FAILED`; `HDL_TIMEOUT` for a schema that takes longer than an attempt of its node may.
 */
export async function checkInputs(
  placed: Iterable<PlacedNode>,
  clock: Clock,
  timeout: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const slices = new Slices(clock)
  for (const { name, node } of placed) {
    if (slices.due) await slices.next()
    if (node.job.input === undefined || typeof node.input === 'function') continue
    const checked = validateInput(name, node.job.input, node.input)
    if (!isThenable(checked)) continue
    const deadline = ownLimits(node).timeout ?? timeout
    const what = `The schema for the input of "${name}"`
    try {
      await waitFor(Promise.resolve(checked), what, clock, { signal, deadline })
    } catch (error) {
      if (signal?.aborted === true) return
      throw error
    }
  }
}

/** Calls `use` with a value, or with what a promise of it comes to. */
export function withValue(value: unknown, use: (value: unknown) => unknown): unknown {
  return isThenable(value) ? Promise.resolve(value).then(use) : use(value)
}

/** Which permits of the process a job takes. */
export function placement(place: Place, job: Job): { readonly place?: PlacePermits } {
  if (place === loopPlace) return {}
  return { place: place.permitsOf?.(job) ?? { place: job.place, shared: 'none' } }
}

/** What is said of a node's attempts: its own limits go over those of its job. */
export function ownLimits({ job, options }: GraphNode): OwnLimits {
  const needs = mergeNeeds(job.needs, options.needs)
  return { ...whatIsSet(job), ...whatIsSet(options), ...(needs !== undefined && { needs }) }
}

/** Options for the scheduler, besides dependencies and results. Undefined for most nodes: they have none. */
export function addOptionsOf(placed: PlacedNode): Omit<AddOptions, 'after'> | undefined {
  const { node, place } = placed
  const when = node.options.when === undefined ? undefined : { when: node.options.when }
  if (node.grows !== undefined) {
    // It only waits for what it starts. Limits of a map are those of its elements.
    const { priority } = node.options
    const { timeout } = node.grows.kind === 'subgraph' ? node.options : {}
    return { ...when, needs: { loop: 0 }, retries: 0, ...whatIsSet({ priority, timeout }) }
  }
  if (!hasLimits(node.job) && !hasLimits(node.options)) {
    return place === loopPlace ? when : { ...when, ...placement(place, node.job) }
  }
  const { needs, ...limits } = ownLimits(node)
  const at = { ...when, ...placement(place, node.job) }
  if (needs === undefined) return { ...limits, ...at }
  if (typeof needs !== 'function') return { ...limits, ...at, needs }
  const ask: NeedsFunction = (resultOf) =>
    withInput(placed, resultOf, (input) =>
      withChecked(placed.name, node.job, input, needs),
    ) as ReturnType<NeedsFunction>
  return { ...limits, ...at, needs: ask }
}

/** What a node needs goes over what its job needs, name by name. */
function mergeNeeds(
  ofJob: NeedsOf<unknown> | undefined,
  ofNode: NeedsOf<unknown> | undefined,
): NeedsOf<unknown> | undefined {
  if (ofJob === undefined || ofNode === undefined) return ofNode ?? ofJob
  if (typeof ofJob !== 'function' && typeof ofNode !== 'function') return { ...ofJob, ...ofNode }
  return (input) => ({ ...answerOf(ofJob, input), ...answerOf(ofNode, input) })
}

/** What is needed for an input. */
function answerOf(needs: NeedsOf<unknown>, input: unknown): Needs | undefined {
  if (typeof needs !== 'function') return needs
  const answer: Needs | undefined = needs(input)
  return answer === undefined ? answer : checkRecord('needs', answer, 'an object: { db: 1 }')
}

type Limits = OwnLimits

function hasLimits({ retries, retryBaseDelay, timeout, needs, priority }: Limits): boolean {
  return (
    retries !== undefined ||
    retryBaseDelay !== undefined ||
    timeout !== undefined ||
    needs !== undefined ||
    priority !== undefined
  )
}

function whatIsSet({
  retries,
  retryBaseDelay,
  timeout,
  priority,
}: {
  readonly retries?: number | undefined
  readonly retryBaseDelay?: number | undefined
  readonly timeout?: number | undefined
  readonly priority?: number | undefined
}): Omit<Limits, 'needs'> {
  return {
    ...(retries !== undefined && { retries }),
    ...(retryBaseDelay !== undefined && { retryBaseDelay }),
    ...(timeout !== undefined && { timeout }),
    ...(priority !== undefined && { priority }),
  }
}

/** A wrong limit is reported with the node that has it. */
export function withNodeName<T>(name: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!isError(error, 'HDL_BAD_OPTION')) throw error
    const { option, value, expected } = error.details
    throw new HeddleError('HDL_BAD_OPTION', { option: `${option} of ${name}`, value, expected })
  }
}
