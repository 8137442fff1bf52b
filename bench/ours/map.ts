/** Heddle in the rows of maps: one `Graph.map` with `collect: false`. */
import { Graph, job, run, type MapCounts, type RunOptions } from '@heddle/core'
import { openJournal } from '@heddle/core/lowlevel'
import { runChild } from './child-process.ts'
import { numbers } from '../suites/map/conditions.ts'

/** A map over this many numbers. */
export function mapOf(
  size: number,
  window: number,
  { isLastBroken = false }: { readonly isLastBroken?: boolean } = {},
): Graph {
  const element = job({ name: 'element' }, (n: number) => {
    if (isLastBroken && n === size - 1) throw new Error('the last element is broken')
    return n
  })
  const graph = new Graph()
  graph.map('map', element, { over: () => numbers(size), window, collect: false })
  return graph
}

async function play(graph: Graph, size: number, options: RunOptions): Promise<void> {
  const result = await run(graph, options)
  const { succeeded } = result.valueOf('map') as MapCounts
  if (succeeded !== size) throw new Error(`${succeeded} of ${size} succeeded`)
}

/** Runs the graph without a journal. */
export function playPlain(size: number, window: number): Promise<void> {
  return play(mapOf(size, window), size, { concurrency: window })
}

/** Runs the graph with a journal, which is open before. */
export async function openMap(address: string, window: number) {
  const journal = await openJournal(address)
  const limits = { journal, concurrency: window }
  return {
    play: (size: number) => play(mapOf(size, window), size, limits),
    /**
     * Runs all elements but the last in a process of its own, and gives the function that resumes the run: that is what is timed.
     * In one process the garbage of the first life would be collected in the second.
     */
    prepareResume: async (size: number) => {
      const resume = await runChild('map-first-life.ts', address, String(size), String(window))
      return () => play(mapOf(size, window), size, { ...limits, resume })
    },
  }
}
