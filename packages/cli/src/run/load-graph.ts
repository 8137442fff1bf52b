/** Loads the graph that a module exports, with errors that say what to change and where. */
import { Graph, HeddleError } from '@heddle/core'
import { attempt, loadModule } from './load-module.ts'

/**
 * The graph of a module: its default export, or what that returns when called with `args`; both may be
 * promises.
 *
 * *Cancellation*: none; an import cannot be stopped.
 * @throws `HDL_NO_MODULE`, `HDL_LOAD_FAILED`, `HDL_NOT_A_GRAPH`.
 */
export async function loadGraph(file: string, args: readonly string[]): Promise<Graph> {
  const loaded = await loadModule(file)
  const exported: unknown = await attempt(file, 'make its graph', () => loaded['default'])
  if (typeof exported !== 'function') return checkGraph(file, exported, describeExports(loaded))
  const made: unknown = await attempt(file, 'make its graph', () =>
    (exported as (args: readonly string[]) => unknown)(args),
  )
  return checkGraph(file, made, `the exported function returned ${describe(made)}`)
}

/**
 * A module may have been loaded with another copy of the engine than this one, whose graphs are no
 * instances of our class.
 */
function isGraph(value: unknown): value is Graph {
  if (value instanceof Graph) return true
  if (typeof value !== 'object' || value === null) return false
  const { nodes, get, size } = value as Partial<Record<string, unknown>>
  return typeof nodes === 'function' && typeof get === 'function' && typeof size === 'number'
}

function checkGraph(file: string, value: unknown, found: string): Graph {
  if (isGraph(value)) return value
  throw new HeddleError('HDL_NOT_A_GRAPH', { file, found })
}

function describeExports(loaded: Readonly<Record<string, unknown>>): string {
  if (loaded['default'] !== undefined) return `its default export is ${describe(loaded['default'])}`
  const graphs = Object.keys(loaded).filter((name) => isGraph(loaded[name]))
  const near =
    graphs.length === 0 ? '' : `; "${graphs.join('", "')}" is a graph, but not the default`
  return `it has no default export${near}`
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'an array'
  if (typeof value !== 'object') return `a ${typeof value}`
  const { constructor } = value as { constructor?: { name?: string } }
  const name = constructor?.name
  return name === undefined || name === 'Object' ? 'a plain object' : `an object of class ${name}`
}
