import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer } from '@heddle/server'
import { Worker } from '../../src/index.ts'
import * as jobs from '../fixtures/jobs.ts'

test('a job on a worker leaves an artifact at the server: from a thread, as a stream, with its checksum', async () => {
  await using server = await startServer({ jobs, port: 0, limits: { loopGap: Infinity } })
  const created = await fetch(`${server.url}/campaigns`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'files', job: 'leave', units: 4, batch: 2 }),
  })
  const { id } = (await created.json()) as { id: string }
  const worker = new Worker({ server: server.url, jobs, concurrency: 1, exitWhenIdle: true })
  assert.equal((await worker.run()).why, 'idle')
  const list = (await (await fetch(`${server.url}/artifacts/${id}`)).json()) as {
    artifacts: { name: string; length: number }[]
  }
  assert.deepEqual(
    list.artifacts.map(({ name, length }) => [name, length]),
    [
      ['units-0.txt', 100_000],
      ['units-2.txt', 100_000],
    ],
  )
  const text = await (await fetch(`${server.url}/artifacts/${id}/units-2.txt`)).text()
  assert.equal(text, 'unit 2\n'.padEnd(1_000, '.').repeat(100))
})
