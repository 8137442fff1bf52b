/** A worker with a number of leases for each place. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer, type Server } from '@heddle/server'
import { Worker } from '../src/index.ts'
import * as jobs from './fixtures/jobs.ts'

/** Holds a place on the loop until it is aborted. */
const held = job({ name: 'held' }, (_: unknown, { signal }) => {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise
})

async function post<T>({ url }: Server, route: string, body: unknown): Promise<T> {
  const response = await fetch(url + route, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return (await response.json()) as T
}

test('R1: jobs of threads are claimed and run while all places on the loop are taken', async () => {
  await using server = await startServer({ jobs, port: 0, limits: { loopGap: Infinity } })
  // Two, of which the one place on the loop takes one.
  for (const name of ['first', 'second']) {
    await post(server, '/campaigns', { name, job: 'held', units: 1 })
  }
  const started = Promise.withResolvers<void>()
  const names: string[] = []
  const worker = new Worker({
    server: server.url,
    jobs: [held, jobs.square],
    concurrency: { loop: 1, thread: 1 },
    onEvent: (event) => {
      if (event.kind !== 'started') return
      names.push(event.job)
      started.resolve()
    },
  })
  const end = worker.run()
  await started.promise
  // More than fit at once: each needs the place that the one before has given back.
  const squares = await Promise.all(
    [1, 2, 3, 4].map((n) => post<{ result: number }>(server, '/jobs/square?wait=60000', n)),
  )
  assert.deepEqual(
    squares.map(({ result }) => result),
    [1, 4, 9, 16],
  )
  assert.deepEqual(names, ['held', 'square', 'square', 'square', 'square'])
  await worker.stop({ deadline: 0 })
  assert.equal((await end).why, 'stopped')
})
