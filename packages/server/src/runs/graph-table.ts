/** The graphs that a served module registers, by name. */
import { HeddleError, type Graph } from '@heddle/core'
import { suggest } from '@heddle/core/lowlevel'

/** Makes the graph of one run from the arguments of its start. */
export interface GraphMaker {
  (args: unknown): Graph | Promise<Graph>
  /** What was exported: the graph, or the function that makes it. */
  readonly source?: unknown
}

export type GraphTable = ReadonlyMap<string, GraphMaker>

/**
 * `default` of a module (a graph, or a function that makes one) has the name `default`; `graphs` is an object of such by
 * name; other exports that are graphs have the name of their export.
 *
 * @throws `HDL_BAD_OPTION` for an entry of `graphs` that is neither.
 */
export function graphTable(
  exported: Readonly<Record<string, unknown>> | readonly unknown[],
): GraphTable {
  const table = new Map<string, GraphMaker>()
  if (Array.isArray(exported)) return table
  const module = exported as Readonly<Record<string, unknown>>
  for (const [name, value] of Object.entries(module)) {
    if (isGraph(value)) table.set(name, makerOf(value))
    else if (name === 'default' && typeof value === 'function')
      table.set(name, makerOf(value as GraphMaker))
  }
  for (const [name, value] of Object.entries(module['graphs'] ?? {})) {
    if (isGraph(value)) table.set(name, makerOf(value))
    else if (typeof value === 'function') table.set(name, makerOf(value as GraphMaker))
    else {
      const expected = 'a graph, or a function that makes one'
      throw new HeddleError('HDL_BAD_OPTION', { option: `graphs.${name}`, value, expected })
    }
  }
  return table
}

/** Makes the graph of a run from an export. */
export function makerOf(source: Graph | GraphMaker): GraphMaker {
  const make = typeof source === 'function' ? source : (): Graph => source
  return Object.assign((args: unknown) => make(args), { source })
}

/** Another copy of the package has another class: the methods of a graph are checked instead. */
function isGraph(value: unknown): value is Graph {
  const graph = value as Partial<Graph> | null | undefined
  return typeof graph === 'object' && typeof graph?.nodes === 'function'
}

/** @throws `HDL_UNKNOWN_GRAPH`. */
export function refuseGraph(table: GraphTable, name: string): never {
  const suggestion = suggest(name, [...table.keys()])
  throw new HeddleError('HDL_UNKNOWN_GRAPH', { graph: name, suggestion })
}

/** @throws `HDL_UNKNOWN_GRAPH`; the error of the function. */
export async function makeGraph(table: GraphTable, name: string, args: unknown): Promise<Graph> {
  const make = table.get(name) ?? refuseGraph(table, name)
  const made: unknown = await make(args)
  if (isGraph(made)) return made
  const expected = `a graph from the function of "${name}"`
  throw new HeddleError('HDL_BAD_OPTION', { option: 'graph', value: made, expected })
}
