/**
 * The queue of AdonisJS on better-sqlite3, at its driver: its own worker looks for jobs from time to time;
 * here the jobs that were just added are taken at once. It writes on the loop.
 */
import path from 'node:path'
import { QueueSchemaService } from '@boringnode/queue'
import { KnexAdapter } from '@boringnode/queue/drivers/knex_adapter'
import createKnex from 'knex'
import type { OpenQueue } from '../contract.ts'
import { workFolder } from '../../../servers/work-folder.ts'

const name = 'bench'

/** It makes one statement of a call, and SQLite has a limit for those. */
const jobsPerCall = 250

export const open: OpenQueue = async ({ durability, run, onDone }) => {
  const connection = createKnex({
    client: 'better-sqlite3',
    connection: { filename: path.join(await workFolder(), 'boringnode.db') },
    useNullAsDefault: true,
  })
  await connection.raw('PRAGMA journal_mode = WAL')
  await connection.raw(`PRAGMA synchronous = ${durability === 'fsync' ? 'FULL' : 'NORMAL'}`)
  await new QueueSchemaService(connection).createJobsTable()
  const queue = new KnexAdapter({ connection })
  queue.setWorkerId(name)
  const work = async (): Promise<void> => {
    for (;;) {
      const taken = await queue.popFrom(name)
      if (taken === null) return
      run(taken.payload)
      await queue.completeJob(taken.id, name, true)
      onDone(taken.payload)
    }
  }
  return {
    transitions: 3,
    add: async (jobs) => {
      for (let at = 0; at < jobs.length; at += jobsPerCall) {
        const some = jobs.slice(at, at + jobsPerCall)
        await queue.pushManyOn(
          name,
          some.map((job) => ({ id: String(job), name: 'job', payload: job, attempts: 0 })),
        )
      }
      void work()
    },
  }
}
