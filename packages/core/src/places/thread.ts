import { processCapacity } from '../capacity/capacity.ts'
import type { PlacePermits } from '../capacity/lane-table.ts'
import type { Job } from '../graph/job.ts'
import type { OnArtifact } from '../threads/artifact-flow.ts'
import { ThreadPool } from '../threads/pool.ts'
import type { Place, PlaceContext } from './place.ts'

let places = 0

/**
 * Runs jobs in the threads of a pool. A node that keeps ending threads is put in quarantine for this
 * place, so the next run, with a place of its own, may try it again.
 */
export function threadPlace(pool: ThreadPool): Place {
  const id = ++places
  const permits = new WeakMap<Job, PlacePermits>()
  return {
    permitsOf: (job) => {
      let found = permits.get(job)
      if (found === undefined) permits.set(job, (found = permitsIn(pool, job)))
      return found
    },
    run: (job, input, context) =>
      pool.hasRoom
        ? runIn(pool, job, input, context, `${id} ${context.name}`)
        : runLater(pool, job, input, context, `${id} ${context.name}`),
  }
}

/** A thread, or the part of one that a job takes which is known to be short. */
function permitsIn(pool: ThreadPool, { module = '', name }: Job): PlacePermits {
  return {
    place: 'thread',
    shared: pool.permits,
    share: () => pool.shareOf(module, name),
    shareKey: `${module} ${name}`,
  }
}

function runIn(
  pool: ThreadPool,
  job: Job,
  input: unknown,
  context: PlaceContext,
  key: string,
): Promise<unknown> {
  const { name, attempt, signal, grace, idempotencyKey, traceparent } = context
  const onLog = (text: string): void => context.log(text)
  const onProgress = (fraction: number, text?: string): void => context.progress(fraction, text)
  const onStart = (): void => context.started()
  const onArtifact: OnArtifact = (artifact, content) => context.artifact(artifact, content)
  context.queued()
  return pool.run(
    { module: job.module!, job: job.name, input },
    {
      name,
      attempt,
      signal,
      grace,
      key,
      idempotencyKey,
      traceparent,
      onLog,
      onProgress,
      onArtifact,
      onStart,
    },
  )
}

/** Others may use the pool without permits: then a job waits instead of being refused. */
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
  shared ??= new ThreadPool({ capacity: processCapacity() })
  return threadPlace(shared)
}
