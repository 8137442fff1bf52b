import type { Graph, GraphNode, MapSpec } from '../graph/graph.ts'
import type { NodeHeader } from '../journal/journal.ts'
import { rareFieldsOf, type RareFields } from '../journal/node-header.ts'
import type { Clock } from '../kernel/clock.ts'
import { Slices } from '../kernel/slices.ts'
import { fingerprint } from './fingerprint.ts'

/** One way in which a graph is not the one that was journaled. */
export type GraphDifference =
  | { readonly kind: 'added' | 'removed'; readonly node: string }
  | { readonly kind: 'job'; readonly node: string; readonly before: string; readonly now: string }
  | {
      readonly kind: 'dependencies'
      readonly node: string
      readonly gained: readonly string[]
      readonly lost: readonly string[]
    }
  | { readonly kind: 'input'; readonly node: string }
  | {
      readonly kind: 'option'
      readonly node: string
      readonly option: string
      readonly before: string
      readonly now: string
    }
  | {
      readonly kind: 'version'
      readonly node: string
      readonly before: string | undefined
      readonly now: string | undefined
    }

/** Where the graph of a sub-graph is in its run. */
export interface HeaderScope {
  /** What the names of its nodes begin with. */
  readonly prefix: string
  readonly parent: string
}

/** The graph as the journal keeps it. */
export async function headersOf(
  graph: Graph,
  clock: Clock,
  scope?: HeaderScope,
): Promise<NodeHeader[]> {
  const headers: NodeHeader[] = []
  const slices = new Slices(clock)
  for (const node of graph.nodes()) {
    const { job } = node
    const made = fingerprint(node, clock)
    const input = typeof made === 'string' ? made : await made
    const name = scope === undefined ? node.name : scope.prefix + node.name
    const after = scope === undefined ? node.after : node.after.map((each) => scope.prefix + each)
    headers.push({
      name,
      job: job.name,
      place: job.place,
      after,
      input,
      ...optionalFields(node, scope),
    })
    if (slices.due) await slices.next()
  }
  return headers
}

/** Most nodes have none: nothing is made for them. */
function optionalFields(
  { grows, options: { when }, job: { version, redact } }: GraphNode,
  scope: HeaderScope | undefined,
): RareFields | undefined {
  if ((grows ?? when ?? version ?? redact ?? scope) === undefined) return undefined
  const map = grows?.kind === 'map' ? mapIdentity(grows) : undefined
  return rareFieldsOf({ parent: scope?.parent, grows: grows?.kind, map, when, version, redact })
}

/**
 * The options of a map that decide what its elements are, how they are found again, and what its result looks like. Functions are
 * not compared, only whether there is one. How many elements run or may fail is not part of it: that may change.
 */
function mapIdentity({
  over,
  input,
  key,
  reportsFailures,
  collect,
}: MapSpec): Readonly<Record<string, string>> {
  const given = (value: unknown): string => (value === undefined ? 'absent' : 'a function')
  return {
    over: typeof over === 'string' ? JSON.stringify(over) : given(over),
    input: given(input),
    key: given(key),
    failures: reportsFailures ? 'collect or atMost' : 'stop',
    collect: String(collect),
  }
}

/**
 * What changed from `before` to `now`. Moving a job to another place changes nothing that was computed.
 *
 * *Cancellation*: none; the work is bounded by the size of the graphs and yields to I/O.
 */
export async function compareGraphs(
  before: ReadonlyMap<string, NodeHeader>,
  now: readonly NodeHeader[],
  clock: Clock,
): Promise<GraphDifference[]> {
  const differences: GraphDifference[] = []
  const slices = new Slices(clock)
  const names = new Set<string>()
  for (const node of now) {
    names.add(node.name)
    const was = before.get(node.name)
    if (was === undefined) differences.push({ kind: 'added', node: node.name })
    else differences.push(...compareNodes(was, node))
    if (slices.due) await slices.next()
  }
  for (const name of before.keys()) {
    if (!names.has(name)) differences.push({ kind: 'removed', node: name })
    if (slices.due) await slices.next()
  }
  return differences
}

function compareNodes(was: NodeHeader, now: NodeHeader): GraphDifference[] {
  const node = now.name
  const differences: GraphDifference[] = []
  if (was.job !== now.job) differences.push({ kind: 'job', node, before: was.job, now: now.job })
  else if (was.grows !== now.grows) {
    differences.push({ kind: 'job', node, before: was.grows ?? was.job, now: now.grows ?? now.job })
  }
  if (was.version !== now.version) {
    differences.push({ kind: 'version', node, before: was.version, now: now.version })
  }
  if (!isSameList(was.after, now.after)) {
    const gained = without(now.after, was.after)
    const lost = without(was.after, now.after)
    if (gained.length > 0 || lost.length > 0) {
      differences.push({ kind: 'dependencies', node, gained, lost })
    }
  }
  if (was.input !== undefined && was.input !== now.input) differences.push({ kind: 'input', node })
  // An earlier version has not recorded the options of maps.
  if (was.map !== undefined && now.map !== undefined) {
    for (const [option, text] of Object.entries(now.map)) {
      const before = was.map[option]
      if (before === undefined || before === text) continue
      differences.push({ kind: 'option', node, option, before, now: text })
    }
  }
  return differences
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i])
}

function without(names: readonly string[], others: readonly string[]): string[] {
  const known = new Set(others)
  return names.filter((name) => !known.has(name))
}

/**
 * Whether the journal has the node in its current form, apart from fields that may change freely: its place, and when
 * it runs.
 */
export function isSameHeader(was: NodeHeader, now: NodeHeader): boolean {
  const isAsRecorded =
    was.place === now.place &&
    was.input === now.input &&
    was.when === now.when &&
    (was.map === undefined) === (now.map === undefined)
  return isAsRecorded && compareNodes(was, now).length === 0
}

/** A difference in words. */
export function describeDifference(difference: GraphDifference): string {
  const { node } = difference
  switch (difference.kind) {
    case 'added':
      return `"${node}" is new`
    case 'removed':
      return `"${node}" is gone`
    case 'job':
      return `"${node}" runs ${difference.now} instead of ${difference.before}`
    case 'version': {
      const { before = 'none', now = 'none' } = difference
      return `the version of the job of "${node}" is ${now} instead of ${before}`
    }
    case 'input':
      return `the input of "${node}" changed`
    case 'option': {
      const { option, before, now } = difference
      return `the option "${option}" of the map "${node}" is ${now} instead of ${before}`
    }
    case 'dependencies': {
      const gained = difference.gained.map((name) => `now needs "${name}"`)
      const lost = difference.lost.map((name) => `no longer needs "${name}"`)
      return `"${node}" ${[...gained, ...lost].join(', ')}`
    }
  }
}
