import { Graph, run } from '@heddle/core'
import { ThreadPool } from '@heddle/core/lowlevel'
import { threads } from '../suites/engine/conditions.ts'
import type { ThreadCaller, ThreadJob } from '../suites/engine/contract.ts'
import { spin, tiny } from './thread-jobs.ts'

const module = new URL('thread-jobs.ts', import.meta.url).href

export function open(): ThreadCaller {
  const pool = new ThreadPool({ threads })
  return (job, input) => pool.run({ module, job, input }) as Promise<number>
}

/** One graph with a node for each call; describing it is not timed. */
export function nodes(job: ThreadJob, size: number): () => Promise<void> {
  const work = { tiny, spin }[job]
  const graph = new Graph()
  const refs = Array.from({ length: size }, (_, input) =>
    graph.add(`node ${input}`, work, { input }),
  )
  return async () => {
    const result = await run(graph, { concurrency: { thread: threads } })
    for (const [input, ref] of refs.entries()) {
      if (result.of(ref) !== input + 1) throw new Error(`answered ${result.of(ref)} to ${input}`)
    }
  }
}
