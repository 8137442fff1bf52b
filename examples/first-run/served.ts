/** What `npm start` serves, and its workers run: the jobs of the sample, and its graph to start from the dashboard. */
import type { Graph } from '@heddle/core'
import makeGraph from './graph.ts'

export { compare, download, publish, smooth, smoothFar } from './jobs.ts'

export const graphs = {
  /** Takes the number of stations: 10 when there is none. */
  climate: (args: unknown): Graph =>
    makeGraph(typeof args === 'number' ? [String(args)] : [], { hasFleet: true }),
}

/** The same limits as `heddle run --concurrency 4`. */
export const options = { concurrency: { loop: 4, thread: 2 } }
