/** Acknowledged jobs through the store, as a server writes them: one row at the acknowledgement and one at the end. */
import { setImmediate as turn } from 'node:timers/promises'
import { AcknowledgedJobs, openStore, Shards, systemKernel } from '@heddle/core/lowlevel'
import type { Ledger } from '../suites/journal/contract.ts'

/** A node is a job: its last step is its acknowledgement and its end. */
export async function openJobLoad(address: string): Promise<Ledger> {
  const kernel = systemKernel
  const database = await openStore(address, { kernel })
  const shards = new Shards({ server: `bench-${process.pid}`, database, kernel })
  const ended = new Map<string, () => void>()
  const { ownership, committer } = shards
  const jobs = new AcknowledgedJobs({
    ownership,
    committer: {
      write: async (grant, rows) => {
        await committer.write(grant, rows)
        for (const row of rows) if (row.kind === 'job-ended') ended.get(row.handle)?.()
      },
    },
    database,
    kernel,
    runner: { has: () => true, run: () => Promise.resolve('finished') },
  })
  shards.add(jobs)
  await shards.start()
  const input = new Uint8Array(64)
  while (shards.stats().ownership.shards < 256) await turn()
  let count = 0
  return {
    append: () => undefined,
    async commit() {
      const handle = `job ${process.pid} ${count++}`
      const { promise, resolve } = Promise.withResolvers<void>()
      ended.set(handle, resolve)
      await acknowledge(jobs, { handle, job: 'job', version: '1', input })
      await promise
      ended.delete(handle)
    },
    async [Symbol.asyncDispose]() {
      await jobs.stop()
      await shards.stop()
      await database[Symbol.asyncDispose]()
    },
  }
}

type Request = Parameters<AcknowledgedJobs['acknowledge']>[0]

/** The open jobs of a shard are read before it takes new ones. */
async function acknowledge(jobs: AcknowledgedJobs, request: Request): Promise<void> {
  for (;;) {
    try {
      await jobs.acknowledge(request)
      return
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'HDL_NOT_OWNER') throw error
      await turn()
    }
  }
}
