import { ThreadPool } from '../threads/pool.ts'
import type { Place } from './place.ts'

/** Runs jobs in the threads of a pool. */
export function threadPlace(pool: ThreadPool): Place {
  return {
    run: (job, input, { name, attempt, signal }) =>
      pool.run({ module: job.module!, job: job.name, input }, { name, attempt, signal }),
  }
}

let shared: ThreadPool | undefined

/**
 * One pool for all runs of the process that bring none: threads are costly to start. It starts a
 * thread only when there is work, and idle threads do not keep the process alive.
 */
export function sharedThreadPlace(): Place {
  shared ??= new ThreadPool()
  return threadPlace(shared)
}
