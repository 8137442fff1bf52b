import type { ServerOptions } from './server.ts'

/**
 * What `heddle.config.ts` exports by default: the options of `startServer()`, with the path of the module as `jobs`.
 * Options that the command sets itself (its output, the dashboard) are left out.
 *
 * @example
 * export default { store: 'postgres://db/app', limits: { queue: 10_000 } } satisfies ServerConfig
 */
export interface ServerConfig extends Omit<
  ServerOptions,
  'jobs' | 'journal' | 'ui' | 'onLog' | 'onDrain' | 'kernel'
> {
  /** The module whose jobs are served, from the folder in which the command was typed. `jobs.ts` when absent. */
  readonly jobs?: string | undefined
}
