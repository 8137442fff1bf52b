import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { Graph, job } from '@heddle/core'
import { testStores } from '@heddle/test-servers'
import { connect } from '../../src/client/index.ts'
import { startServer } from '../../src/server.ts'

const report = job({ name: 'report' }, async (_: void, { artifact }) => {
  await artifact('report.txt', ['all ', 'is well'])
})

function graph(): Graph {
  const made = new Graph()
  made.add('report', report)
  return made
}

/** Starts a run on a server, waits for its end, and gives its id with the artifacts that the server lists. */
async function runOn(
  t: TestContext,
  store: string,
  artifacts?: string,
): Promise<{ run: string; text: string }> {
  const server = await startServer({
    jobs: { report, graphs: { graph } },
    port: 0,
    store,
    artifacts,
  })
  t.after(() => server[Symbol.asyncDispose]())
  const client = connect({ url: server.url })
  const { body } = await client.call('POST /runs', { body: { graph: 'graph' } })
  const run = body.run!
  for await (const { event } of client.events('GET /runs/:id/events', { params: { id: run } })) {
    if (event === 'end') break
  }
  for (const route of [`/runs/${run}/artifacts`, `/artifacts/${run}`]) {
    const listed = (await (await fetch(server.url + route)).json()) as {
      artifacts: { name: string; by: string; length: number }[]
    }
    assert.deepEqual(
      listed.artifacts.map(({ name, by, length }) => [name, by, length]),
      [['report.txt', 'report', 11]],
    )
  }
  const text = await (await fetch(`${server.url}/artifacts/${run}/report.txt`)).text()
  return { run, text }
}

for (const store of testStores()) {
  test(`artifacts of a graph that the server runs are listed and sent (${store.name})`, async (t) => {
    assert.equal((await runOn(t, await store.address())).text, 'all is well')
  })
}

test('artifacts of a graph that the server runs are where its option says', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-artifacts-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const { run, text } = await runOn(t, 'memory', `folder:${folder}`)
  assert.equal(text, 'all is well')
  assert.deepEqual(await readdir(folder), [run])
})
