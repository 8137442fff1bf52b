/** Heddle in the rows about a recall: a server's reads of acknowledged jobs when it starts. */
import { randomUUID } from 'node:crypto'
import {
  AcknowledgedJobs,
  openStore,
  shardOf,
  Shards,
  systemKernel,
  type StoreRow,
} from '@heddle/core/lowlevel'

/** Milliseconds: longer than the row takes. */
const long = 600_000

/** Jobs without an outcome in the store, acknowledged by a server that is gone. */
export async function leaveJobs(address: string, count: number): Promise<void> {
  await using store = await openStore(address)
  // Each process that serves has an id of its own.
  const earlier = randomUUID()
  const session = `${earlier}/1`
  await store.renew(earlier, long)
  const grants = new Map(
    (await store.acquire(earlier, 256)).map((grant) => [grant.shard, grant] as const),
  )
  await store.openSession(earlier, session)
  const input = new TextEncoder().encode(JSON.stringify({ text: 'x'.repeat(200) }))
  const handles = Array.from({ length: count }, (_, index) => `${earlier} ${index}`)
  const batches = Array.from(
    Map.groupBy(handles, (handle) => shardOf(handle)),
    ([shard, names]) => ({
      ...grants.get(shard)!,
      rows: names.map((handle): StoreRow => ({
        kind: 'job-acknowledged',
        handle,
        job: 'echo',
        version: '1',
        input,
      })),
    }),
  )
  await store.commit(session, 1, batches)
  await store.release(earlier, [...grants.values()])
  await store.renew(earlier, 0)
}

/** Milliseconds from the start of a server until the last of its jobs was handed to its runner, and until all have ended. */
export async function recallJobs(
  address: string,
  count: number,
): Promise<{ readonly begun: number; readonly ended: number }> {
  const kernel = systemKernel
  await using store = await openStore(address)
  const allBegun = Promise.withResolvers<void>()
  let begun = 0
  const shards = new Shards({ server: randomUUID(), database: store, kernel, isAlone: true })
  const { ownership, committer } = shards
  const jobs = new AcknowledgedJobs({
    ownership,
    committer,
    database: store,
    kernel,
    runner: {
      has: () => true,
      run: async (_, attempt) => {
        await attempt.begin()
        if (++begun === count) allBegun.resolve()
        return 'finished'
      },
    },
  })
  shards.add(jobs)
  const start = performance.now()
  await shards.start()
  await allBegun.promise
  const begunAfter = performance.now() - start
  while (jobs.stats().open > 0) await new Promise((resolve) => setImmediate(resolve))
  const endedAfter = performance.now() - start
  await jobs.stop()
  await shards.stop()
  return { begun: begunAfter, ended: endedAfter }
}
