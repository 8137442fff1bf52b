/**
 * plainjob on better-sqlite3, driven by hand: its own worker sleeps when there is nothing to do and looks
 * again later; here the jobs that were just added are taken at once. It writes on the loop.
 */
import path from 'node:path'
import Database from 'better-sqlite3'
import { better, defineQueue } from 'plainjob'
import type { OpenQueue } from '../contract.ts'
import { workFolder } from '../../../servers/work-folder.ts'

const type = 'job'

export const open: OpenQueue = async ({ durability, run, onDone }) => {
  const database = new Database(path.join(await workFolder(), 'plainjob.db'))
  const queue = defineQueue({ connection: better(database) })
  // It sets NORMAL itself.
  if (durability === 'fsync') database.pragma('synchronous = FULL')
  const work = (): void => {
    for (;;) {
      const taken = queue.getAndMarkJobAsProcessing(type)
      if (taken === undefined) return
      const job = Number(queue.getJobById(taken.id)!.data)
      run(job)
      queue.markJobAsDone(taken.id)
      onDone(job)
    }
  }
  return {
    transitions: 3,
    // oxlint-disable-next-line require-await -- it blocks until the jobs are added
    add: async (jobs) => {
      if (jobs.length === 1) queue.add(type, jobs[0])
      else queue.addMany(type, jobs)
      queueMicrotask(work)
    },
  }
}
