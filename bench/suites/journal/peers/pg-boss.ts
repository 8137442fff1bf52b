/**
 * pg-boss on PostgreSQL, driven by hand: many jobs in one `insert`, one `fetch` and one `complete`. Its
 * own workers look for jobs every half second; here the jobs that were just added are fetched at once.
 */
import { PgBoss } from 'pg-boss'
import type { OpenQueue } from '../contract.ts'
import { postgresAddress } from './postgres-address.ts'

const name = 'bench'

export const open: OpenQueue = async ({ durability, concurrency, run, onDone }) => {
  const boss = new PgBoss({
    connectionString: postgresAddress(durability),
    schema: `boss_${process.pid}`,
    supervise: false,
    schedule: false,
  })
  await boss.start()
  await boss.createQueue(name)
  const work = async (): Promise<void> => {
    const jobs = await boss.fetch<{ job: number }>(name, { batchSize: concurrency })
    if (jobs.length === 0) return
    for (const { data } of jobs) run(data.job)
    await boss.complete(
      name,
      jobs.map(({ id }) => id),
    )
    for (const { data } of jobs) onDone(data.job)
    // There may be more than fit into the batch.
    void work()
  }
  return {
    transitions: 3,
    add: async (jobs) => {
      await boss.insert(
        name,
        jobs.map((job) => ({ data: { job } })),
      )
      void work()
    },
  }
}
