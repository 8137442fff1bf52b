/**
 * Graphile Worker on PostgreSQL, with what its documentation recommends for throughput: jobs are added
 * in one call, taken in batches (`localQueue`), and those that end together are completed together.
 * Nothing polls: PostgreSQL notifies.
 */
import { Logger, makeWorkerUtils, run as startWorker } from 'graphile-worker'
import type { OpenQueue } from '../contract.ts'
import { postgresAddress } from './postgres-address.ts'

export const open: OpenQueue = async ({ durability, concurrency, run, onDone }) => {
  const preset = {
    worker: {
      connectionString: postgresAddress(durability),
      schema: `graphile_${process.pid}`,
      concurrentJobs: concurrency,
      maxPoolSize: 10,
      ...(concurrency > 1 && {
        localQueue: { size: concurrency + 1 },
        completeJobBatchDelay: 0,
      }),
      logger: new Logger(() => () => {}),
    },
  }
  const utilities = await makeWorkerUtils({ preset })
  const worker = await startWorker({
    preset,
    taskList: { job: (payload) => run((payload as { job: number }).job) },
    noHandleSignals: true,
  })
  worker.events.on('job:complete', ({ job }) => onDone((job.payload as { job: number }).job))
  return {
    transitions: 3,
    add: (jobs) => utilities.addJobs(jobs.map((job) => ({ identifier: 'job', payload: { job } }))),
  }
}
