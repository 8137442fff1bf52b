/** Loads the graph that a module exports, with errors that say what to change and where. */
import { Graph, HeddleError, type RunOptions } from '@heddle/core'
import { attempt, loadModule } from './load-module.ts'

/** What a module exports for `heddle run`. */
export interface GraphModule {
  readonly graph: Graph
  /** Its `options`: how it wants to be run where the command line does not say otherwise. */
  readonly options: ModuleOptions
}

/** All options except those of the command: its observers, and the run that it resumes. */
export type ModuleOptions = Omit<RunOptions, keyof typeof reserved | 'journal'> & {
  readonly journal?: string
}

/** Options of run() that a module cannot set, and what to use instead. */
const reserved = {
  observer: 'to be left out: subscribe to the diagnostics channel "heddle:run"',
  kernel: 'to be left out: heddle run uses the real clock',
  signal: 'to be left out: a run is cancelled by keys and signals',
  resume: 'to be left out: type --resume',
  from: 'to be left out: type --from',
  allowChanges: 'to be left out: type --allow-changes',
  module: 'to be left out: heddle run records the module itself',
} as const satisfies Partial<Record<keyof RunOptions, string>>

/**
 * The graph of a module (its default export, or what that returns when called with `args`; both may be
 * promises) and its options.
 *
 * *Cancellation*: none; an import cannot be stopped.
 * @throws `HDL_NO_MODULE`, `HDL_LOAD_FAILED`, `HDL_NOT_A_GRAPH`, `HDL_BAD_OPTION`.
 */
export async function loadGraph(file: string, args: readonly string[]): Promise<GraphModule> {
  const loaded = await loadModule(file)
  const options = checkModuleOptions(file, loaded['options'])
  const exported: unknown = await attempt(file, 'make its graph', () => loaded['default'])
  if (typeof exported !== 'function') {
    return { graph: checkGraph(file, exported, describeExports(loaded)), options }
  }
  const made: unknown = await attempt(file, 'make its graph', () =>
    (exported as (args: readonly string[]) => unknown)(args),
  )
  const found = `the exported function returned ${describe(made)}`
  return { graph: checkGraph(file, made, found), options }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/**
 * The `options` that a module exports. Names and values are checked by the run or the server itself, before anything
 * starts.
 * @throws `HDL_BAD_OPTION` for an option that belongs to the command.
 */
export function checkModuleOptions(file: string, options: unknown): ModuleOptions {
  if (options === undefined) return {}
  const option = `options of ${file}`
  // A promise, a Map or an instance of a class has none of the names that are looked for: nothing of it would count.
  const prototype: unknown = isObject(options) ? Object.getPrototypeOf(options) : undefined
  if (!isObject(options) || (prototype !== Object.prototype && prototype !== null)) {
    const expected =
      options instanceof Promise
        ? 'an object, not a promise of it: export const options = await …'
        : 'an object: export const options = { concurrency: 8 }'
    throw new HeddleError('HDL_BAD_OPTION', { option, value: options, expected })
  }
  for (const [name, expected] of Object.entries(reserved)) {
    if (!(name in options)) continue
    const value = (options as Readonly<Record<string, unknown>>)[name]
    throw new HeddleError('HDL_BAD_OPTION', { option: `${name} in the ${option}`, value, expected })
  }
  const { journal } = options as { readonly journal?: unknown }
  if (journal !== undefined && typeof journal !== 'string') {
    const expected = 'an address: sqlite:FILE, postgres://HOST/DATABASE, or memory'
    throw new HeddleError('HDL_BAD_OPTION', {
      option: `journal in the ${option}`,
      value: journal,
      expected,
    })
  }
  return options
}

/**
 * A module may have been loaded with another copy of the engine than this one, whose graphs are not
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
