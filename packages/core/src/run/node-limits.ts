/** The limits of the attempts of nodes, elements and steps: their needs, the number of tries, the time. */
import type { PlacePermits } from '../capacity/lane-table.ts'
import { HeddleError, isError } from '../errors.ts'
import type { GraphNode } from '../graph/graph.ts'
import type { Job, Needs, NeedsOf, OwnLimits } from '../graph/job.ts'
import { checkRecord } from '../kernel/check.ts'
import { loopPlace } from '../places/loop.ts'
import type { Place } from '../places/place.ts'
import type { AddOptions, NeedsFunction } from '../scheduler/scheduler.ts'
import { withInput, withValidInput } from './job-input.ts'
import type { PlacedNode } from './placed.ts'

/** Which permits of the process a job takes. */
export function placement(place: Place, job: Job): { readonly place?: PlacePermits } {
  if (place === loopPlace) return {}
  return { place: place.permitsOf?.(job) ?? { place: job.place, shared: 'none' } }
}

/**
 * The needs of an input: the function gets the output of the schema, like the job. A promise when the schema takes
 * time.
 */
export function neededFor(
  node: string,
  job: Job,
  needs: NeedsOf<unknown> | undefined,
  input: unknown,
): unknown {
  if (typeof needs !== 'function') return needs
  return withValidInput(node, job, input, (checked) => askNeeds(needs, checked))
}

/** The limits of a node's attempts: its own take precedence over those of its job. */
export function ownLimits({ job, options }: GraphNode): OwnLimits {
  const needs = mergeNeeds(job.needs, options.needs)
  return {
    ...definedLimits(job),
    ...definedLimits(options),
    ...(needs !== undefined && { needs }),
  }
}

/** Options for the scheduler, besides dependencies and results. Undefined for most nodes: they have none. */
export function addOptionsOf(placed: PlacedNode): Omit<AddOptions, 'after'> | undefined {
  const { node, place } = placed
  const when = node.options.when === undefined ? undefined : { when: node.options.when }
  if (node.grows !== undefined) {
    // It only waits for its elements. Limits of a map are those of its elements.
    const { priority } = node.options
    const { timeout } = node.grows.kind === 'subgraph' ? node.options : {}
    return { ...when, needs: { loop: 0 }, retries: 0, ...definedLimits({ priority, timeout }) }
  }
  if (!hasLimits(node.job) && !hasLimits(node.options)) {
    return place === loopPlace ? when : { ...when, ...placement(place, node.job) }
  }
  const { needs, ...limits } = ownLimits(node)
  const at = { ...when, ...placement(place, node.job) }
  if (needs === undefined) return { ...limits, ...at }
  if (typeof needs !== 'function') return { ...limits, ...at, needs }
  const needsOf: NeedsFunction = (resultOf) =>
    withInput(placed, resultOf, (input) =>
      withValidInput(placed.name, node.job, input, needs),
    ) as ReturnType<NeedsFunction>
  return { ...limits, ...at, needs: needsOf }
}

/** The needs of a node take precedence over those of its job, name by name. */
function mergeNeeds(
  ofJob: NeedsOf<unknown> | undefined,
  ofNode: NeedsOf<unknown> | undefined,
): NeedsOf<unknown> | undefined {
  if (ofJob === undefined || ofNode === undefined) return ofNode ?? ofJob
  if (typeof ofJob !== 'function' && typeof ofNode !== 'function') return { ...ofJob, ...ofNode }
  return (input) => ({ ...askNeeds(ofJob, input), ...askNeeds(ofNode, input) })
}

/** What is needed for an input. */
function askNeeds(needs: NeedsOf<unknown>, input: unknown): Needs | undefined {
  if (typeof needs !== 'function') return needs
  const answer: Needs | undefined = needs(input)
  return answer === undefined ? answer : checkRecord('needs', answer, 'an object: { db: 1 }')
}

function hasLimits({ retries, retryBaseDelay, timeout, needs, priority }: OwnLimits): boolean {
  return (
    retries !== undefined ||
    retryBaseDelay !== undefined ||
    timeout !== undefined ||
    needs !== undefined ||
    priority !== undefined
  )
}

function definedLimits({
  retries,
  retryBaseDelay,
  timeout,
  priority,
}: {
  readonly retries?: number | undefined
  readonly retryBaseDelay?: number | undefined
  readonly timeout?: number | undefined
  readonly priority?: number | undefined
}): Omit<OwnLimits, 'needs'> {
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
