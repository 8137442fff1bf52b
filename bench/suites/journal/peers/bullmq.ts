/**
 * BullMQ on Redis: many jobs are added in one pipeline (`addBulk`), one worker runs `concurrency` jobs
 * at once and gets the next job in the answer to the last. Jobs are removed when they are done, which
 * keeps Redis small.
 */
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import type { OpenQueue } from '../contract.ts'
import { addressIn, redisVariable } from '../needs.ts'

export const open: OpenQueue = async ({ durability, concurrency, run, onDone }) => {
  const connect = () =>
    new Redis(addressIn(redisVariable[durability]), { maxRetriesPerRequest: null })
  const name = `bench-${process.pid}`
  const queue = new Queue<number>(name, {
    connection: connect(),
    defaultJobOptions: { removeOnComplete: true },
  })
  const worker = new Worker<number>(
    name,
    // oxlint-disable-next-line require-await -- a processor returns a promise
    async ({ data }) => run(data),
    { connection: connect(), concurrency },
  )
  worker.on('completed', ({ data }) => onDone(data))
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])
  return {
    transitions: 3,
    add: (jobs) => queue.addBulk(jobs.map((data) => ({ name: 'job', data }))),
  }
}
