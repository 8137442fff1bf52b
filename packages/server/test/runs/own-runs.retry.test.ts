import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { Graph, job } from '@heddle/core'
import { connect } from '../../src/client/index.ts'
import { startServer } from '../../src/server.ts'

test('O4 a node is run again with everything computed from it, in a new run; the old run is unchanged', async (t) => {
  const ran: string[] = []
  let isBroken = true
  const fetchPage = job({ name: 'fetch' }, () => {
    ran.push('fetch')
    return 20
  })
  const parse = job({ name: 'parse', retries: 0 }, (n: number) => {
    ran.push('parse')
    if (isBroken) throw new Error('not this time')
    return n + 1
  })
  const plot = job({ name: 'plot' }, (n: number) => {
    ran.push('plot')
    return n * 2
  })
  const pages = (): Graph => {
    const graph = new Graph()
    const first = graph.add('fetch', fetchPage)
    const second = graph.add('parse', parse, { after: [first], input: (of) => of(first) })
    graph.add('plot', plot, { after: [second], input: (of) => of(second) })
    return graph
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-retry-'))
  const store = `sqlite:${path.join(folder, 'serve.db')}`
  const server = await startServer({ jobs: { plot, graphs: { pages } }, port: 0, store })
  t.after(async () => {
    await server[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })
  const client = connect({ url: server.url })
  const ended = async (id: string): Promise<void> => {
    const options = { params: { id }, query: { after: 0 } }
    for await (const { event } of client.events('GET /runs/:id/events', options)) {
      if (event === 'end') return
    }
  }
  const { body } = await client.call('POST /runs', { body: { graph: 'pages', key: 'today' } })
  const old = body.run!
  await ended(old)
  assert.deepEqual(ran, ['fetch', 'parse'])
  isBroken = false
  const params = { id: old, name: 'parse' }
  const retried = await client.call('POST /runs/:id/nodes/:name/retry', { params })
  assert.equal(retried.status, 201)
  assert.equal(retried.body.forked_from, old)
  const { run } = retried.body
  assert.notEqual(run, old)
  await ended(run)
  assert.deepEqual(ran, ['fetch', 'parse', 'parse', 'plot'])
  const result = { params: { id: run, name: 'plot' } }
  assert.equal((await client.call('GET /runs/:id/nodes/:name/result', result)).body, 42)
  const head = (await client.call('GET /runs/:id', { params: { id: run } })).body
  assert.deepEqual([head.outcome, head.forked_from, head.key], ['succeeded', old, null])
  const before = (await client.call('GET /runs/:id', { params: { id: old } })).body
  assert.deepEqual([before.outcome, before.key], ['failed', 'today'])
  await assert.rejects(
    client.call('POST /runs/:id/nodes/:name/retry', { params: { id: old, name: 'pars' } }),
    (error: { code: string }) => error.code === 'unknown_node',
  )
  await assert.rejects(
    client.call('POST /runs/:id/nodes/:name/retry', { params: { id: 'none', name: 'parse' } }),
    (error: { code: string }) => error.code === 'unknown_run',
  )
})
