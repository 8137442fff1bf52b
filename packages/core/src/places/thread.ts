import type { Job } from '../graph/job.ts'
import { ThreadPool } from '../threads/pool.ts'
import type { Place, PlaceContext } from './place.ts'

let places = 0

/**
 * Runs jobs in the threads of a pool. A node that keeps ending threads is put in quarantine for this
 * place, so the next run, with a place of its own, may try it again.
 */
export function threadPlace(pool: ThreadPool): Place {
  const id = ++places
  return {
    run: (job, input, context) =>
      pool.hasRoom
        ? runIn(pool, job, input, context, `${id} ${context.name}`)
        : runLater(pool, job, input, context, `${id} ${context.name}`),
  }
}

function runIn(
  pool: ThreadPool,
  job: Job,
  input: unknown,
  context: PlaceContext,
  key: string,
): Promise<unknown> {
  const { name, attempt, signal } = context
  const onLog = (text: string): void => context.log(text)
  const onProgress = (fraction: number, text?: string): void => context.progress(fraction, text)
  const onStart = (): void => context.started()
  context.queued()
  return pool.run(
    { module: job.module!, job: job.name, input },
    { name, attempt, signal, key, onLog, onProgress, onStart },
  )
}

/** A run may have more slots than the pool has room: its jobs wait instead of being refused. */
async function runLater(
  pool: ThreadPool,
  job: Job,
  input: unknown,
  context: PlaceContext,
  key: string,
): Promise<unknown> {
  context.queued()
  while (!pool.hasRoom) await pool.waitRoom({ signal: context.signal })
  return runIn(pool, job, input, context, key)
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
