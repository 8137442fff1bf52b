import type { Job, JobContext } from '../graph/job.ts'
import { ThreadPool } from '../threads/pool.ts'
import type { Place } from './place.ts'

/** Runs jobs in the threads of a pool. */
export function threadPlace(pool: ThreadPool): Place {
  return {
    run: (job, input, context) =>
      pool.hasRoom ? runIn(pool, job, input, context) : runLater(pool, job, input, context),
  }
}

function runIn(pool: ThreadPool, job: Job, input: unknown, context: JobContext): Promise<unknown> {
  const { name, attempt, signal } = context
  const onLog = (text: string): void => context.log(text)
  return pool.run(
    { module: job.module!, job: job.name, input },
    { name, attempt, signal, key: name, onLog },
  )
}

/** A run may have more slots than the pool has room: its jobs wait instead of being refused. */
async function runLater(
  pool: ThreadPool,
  job: Job,
  input: unknown,
  context: JobContext,
): Promise<unknown> {
  while (!pool.hasRoom) await pool.waitRoom({ signal: context.signal })
  return runIn(pool, job, input, context)
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
