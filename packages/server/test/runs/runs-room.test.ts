import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { Graph, job } from '@heddle/core'
import { startServer, type Server } from '../../src/server.ts'
import {
  connect,
  type CallOptions,
  type Client,
  type ReplyBody,
  type Route,
  type RunChange,
} from '../../src/client/index.ts'

/** Jobs that wait until the test says so, by name of their gate. */
const gates = new Map<string, PromiseWithResolvers<void>>()

function gate(name: string): PromiseWithResolvers<void> {
  const found = gates.get(name) ?? Promise.withResolvers<void>()
  gates.set(name, found)
  return found
}

const fetchPage = job({ name: 'fetch' }, (_: void, ctx) => {
  ctx.log('fetching')
  return { pages: 3 }
})
const waitFor = job({ name: 'wait' }, async (name: string) => {
  await gate(name).promise
  return `after ${name}`
})
const fail = job({ name: 'fail', retries: 0 }, () => {
  throw new TypeError('answered 503\nwith a second line')
})

/** Logs 3 MB. */
const shout = job({ name: 'shout' }, (_: void, ctx) => {
  for (let line = 0; line < 50; line++) ctx.log(`${line} ${'x'.repeat(60_000)}`)
})

function loud(): Graph {
  const graph = new Graph()
  graph.add('shout', shout)
  return graph
}

function sample(args: unknown): Graph {
  const { gate: name } = args as { gate: string }
  const graph = new Graph()
  const first = graph.add('fetch', fetchPage)
  const second = graph.add('hold', waitFor, { after: [first], input: name })
  graph.add('report', fetchPage, { after: [second] })
  return graph
}

function broken(): Graph {
  const graph = new Graph()
  const first = graph.add('upload', fail)
  graph.add('notify', fetchPage, { after: [first] })
  return graph
}

const exported = { fetchPage, graphs: { sample, broken, loud } }

async function serve(t: TestContext, store: string): Promise<{ server: Server; client: Client }> {
  const server = await startServer({ jobs: exported, port: 0, store })
  t.after(() => server[Symbol.asyncDispose]())
  return { server, client: connect({ url: server.url }) }
}

/** The body of an answer. */
async function ask<R extends Route>(
  client: Client,
  name: R,
  options: CallOptions<R>,
): Promise<ReplyBody<R>> {
  const calling = client as {
    call(name: R, options: CallOptions<R>): Promise<{ body: ReplyBody<R> }>
  }
  return (await calling.call(name, options)).body
}

const stores = ['memory', 'sqlite'] as const

async function address(t: TestContext, store: (typeof stores)[number]): Promise<string> {
  if (store === 'memory') return 'memory'
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-runs-room-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return `sqlite:${path.join(folder, 'runs.db')}`
}

/** Frames of a run until one satisfies the test. */
async function follow(
  client: Client,
  id: string,
  isEnough: (seen: RunChange[]) => boolean,
  after?: number,
): Promise<RunChange[]> {
  const seen: RunChange[] = []
  const options = { params: { id }, ...(after !== undefined && { query: { after } }) }
  for await (const { event, data } of client.events('GET /runs/:id/events', options)) {
    if (event === 'change') seen.push(JSON.parse(data) as RunChange)
    if (event === 'end' || isEnough(seen)) break
  }
  return seen
}

for (const store of stores) {
  test(`a run is started, followed, shown and listed (${store})`, async (t) => {
    const { client } = await serve(t, await address(t, store))
    const name = `${store} one`
    const started = await ask(client, 'POST /runs', {
      body: { graph: 'sample', args: { gate: name }, key: 'nightly' },
    })
    assert.equal(started.how, 'started')
    const id = started.run!
    const again = await ask(client, 'POST /runs', {
      body: { graph: 'sample', args: { gate: name }, key: 'nightly' },
    })
    assert.deepEqual(again, { run: id, how: 'attached' })

    const isHolding = (seen: RunChange[]): boolean =>
      seen.some(({ nodes }) => nodes.some(([node, state]) => node === 'hold' && state === 2))
    const before = await follow(client, id, isHolding, 0)
    const { position } = before.at(-1)!
    assert.deepEqual(
      before[0]!.added.map(({ name: each }) => each),
      ['fetch', 'hold', 'report'],
    )

    const head = await ask(client, 'GET /runs/:id', { params: { id } })
    assert.equal(head.outcome, 'running')
    assert.equal(head.graph, 'sample')
    const waiting = await ask(client, 'GET /runs/:id/nodes/:name', {
      params: { id, name: 'report' },
    })
    assert.deepEqual(
      [waiting.state, waiting.waits?.kind, waiting.waits?.on],
      ['waiting', 'dependencies', ['hold']],
    )

    const holding = await ask(client, 'GET /runs/:id/nodes/:name', { params: { id, name: 'hold' } })
    const bytes = JSON.stringify(name).length
    assert.deepEqual(holding.input, { bytes, json: name }, 'the input of a job that runs')
    const cut = await ask(client, 'GET /runs/:id/nodes/:name', {
      params: { id, name: 'hold' },
      query: { value_limit: 3 },
    })
    assert.deepEqual(cut.input, { bytes, head: JSON.stringify(name).slice(0, 3) })

    gate(name).resolve()
    const after = await follow(client, id, () => false, position)
    const states = after.flatMap(({ nodes }) => nodes.map(([node]) => node))
    assert.ok(!states.includes('fetch'), 'nothing of before the position is sent again')
    assert.deepEqual(after.at(-1)!.counts, { succeeded: 3 })
    assert.equal(after.findLast(({ outcome }) => outcome !== undefined)?.outcome, 'succeeded')

    const columns = await ask(client, 'GET /runs/:id/nodes', { params: { id } })
    assert.deepEqual(columns.name, ['fetch', 'hold', 'report'])
    assert.deepEqual(columns.state, [4, 4, 4])
    assert.deepEqual(columns.slack, [0, 0, 0])
    const page = await ask(client, 'GET /runs/:id/nodes', {
      params: { id },
      query: { from: 1, limit: 1 },
    })
    assert.deepEqual([page.name, page.next, page.total], [['hold'], 2, 3])
    const edges = await ask(client, 'GET /runs/:id/graph', { params: { id } })
    assert.deepEqual(
      [edges.offsets, edges.after],
      [
        [0, 0, 1, 2],
        [0, 1],
      ],
    )
    const bars = await ask(client, 'GET /runs/:id/timeline', { params: { id } })
    assert.deepEqual(
      [bars.node, bars.attempt, bars.lane],
      [
        [0, 1, 2],
        [1, 1, 1],
        [0, 0, 0],
      ],
    )
    const node = await ask(client, 'GET /runs/:id/nodes/:name', { params: { id, name: 'fetch' } })
    assert.deepEqual(node.result, { bytes: 11, json: { pages: 3 } })
    assert.deepEqual(node.input, { bytes: null })
    assert.equal(node.log_lines, 1)
    assert.deepEqual(node.before, ['hold'])
    const log = await ask(client, 'GET /runs/:id/log', {
      params: { id },
      query: { node: 'fetch' },
    })
    assert.deepEqual(
      log.lines.map(({ text }) => text),
      ['fetching'],
    )
    assert.deepEqual(
      await ask(client, 'GET /runs/:id/nodes/:name/result', { params: { id, name: 'hold' } }),
      `after ${name}`,
    )

    const past = await ask(client, 'GET /runs/:id', { params: { id }, query: { position } })
    assert.deepEqual([past.outcome, past.position], ['running', position])

    const listed = await ask(client, 'GET /runs', { query: { state: 'finished', q: 'SAMPLE' } })
    assert.deepEqual(
      listed.runs.map((run) => [run.id, run.outcome, run.key, run.nodes]),
      [[id, 'succeeded', 'nightly', 3]],
    )
    const other = await ask(client, 'POST /runs', { body: { graph: 'broken' } })
    await follow(client, other.run!, () => false, 0)
    const comparison = await ask(client, 'GET /runs/:id/compare', {
      params: { id },
      query: { with: other.run! },
    })
    assert.equal(comparison.before.outcome, 'failed')
    const mermaid = await ask(client, 'GET /runs/:id/export/:format', {
      params: { id, format: 'mermaid' },
    })
    assert.match(mermaid, /n0 --> n1/)
    const { counts } = await ask(client, 'GET /runs/counts', {})
    assert.deepEqual([counts.succeeded, counts.failed], [1, 1])
    const failed = await ask(client, 'GET /runs/:id/nodes', { params: { id: other.run! } })
    assert.deepEqual(failed.errors, [[0, 'answered 503']])
    assert.deepEqual(failed.blocked_by, [[1, 'upload']])
  })
}

test('O3 a run is paused, resumed and cancelled', async (t) => {
  const { client } = await serve(t, 'memory')
  const { run } = await ask(client, 'POST /runs', {
    body: { graph: 'sample', args: { gate: 'steered' } },
  })
  const id = run!
  const params = { id }
  const paused = await ask(client, 'POST /runs/:id/pause', { params })
  assert.deepEqual(paused, { run: id, outcome: 'paused', changed: true })
  const again = await ask(client, 'POST /runs/:id/pause', { params })
  assert.equal(again.changed, false)
  const resumed = await ask(client, 'POST /runs/:id/resume', { params })
  assert.equal(resumed.outcome, 'running')
  await ask(client, 'POST /runs/:id/cancel', { params, body: { reason: 'enough' } })
  gate('steered').resolve()
  const seen = await follow(client, id, () => false, 0)
  assert.equal(seen.findLast(({ outcome }) => outcome !== undefined)?.outcome, 'cancelled')
  const late = await ask(client, 'POST /runs/:id/cancel', { params, body: {} })
  assert.deepEqual(late, { run: id, outcome: 'cancelled', changed: false })
})

test('mistakes are refused with the fault', async (t) => {
  const { client } = await serve(t, 'memory')
  const params = { id: 'none' }
  const code = (wanted: string) => (error: { code: string }) => error.code === wanted
  await assert.rejects(ask(client, 'GET /runs/:id', { params }), code('unknown_run'))
  await assert.rejects(
    ask(client, 'POST /runs', { body: { graph: 'sampl' } }),
    (error: { code: string; message: string }) =>
      error.code === 'unknown_graph' && error.message.includes('sample'),
  )
  await assert.rejects(
    ask(client, 'GET /runs', { query: { cursor: '1; DROP' } }),
    code('bad_request'),
  )
  const { run } = await ask(client, 'POST /runs', { body: { graph: 'broken' } })
  await assert.rejects(
    ask(client, 'GET /runs/:id', { params: { id: run! }, query: { position: 0 } }),
    code('bad_request'),
  )
  await assert.rejects(
    ask(client, 'GET /runs/:id/nodes/:name', { params: { id: run!, name: 'uplod' } }),
    code('unknown_node'),
  )
  for (const body of [
    { graph: 'sample', key: 'with a zero\0' },
    { graph: 'sample', debounce: { key: 'with a zero\0', delay_ms: 1_000 } },
  ]) {
    await assert.rejects(client.call('POST /runs', { body }), { status: 400 })
  }
})

test('O1 a run that was interrupted is resumed by the next server', async (t) => {
  const store = await address(t, 'sqlite')
  const first = await startServer({ jobs: exported, port: 0, store })
  const client = connect({ url: first.url })
  const { run } = await ask(client, 'POST /runs', {
    body: { graph: 'sample', args: { gate: 'restart' } },
  })
  const id = run!
  await follow(
    client,
    id,
    (seen) =>
      seen.some(({ nodes }) => nodes.some(([node, state]) => node === 'hold' && state === 2)),
    0,
  )
  const { isClean } = await first.drain({ deadline: 0 })
  assert.equal(isClean, false)
  const second = await startServer({ jobs: exported, port: 0, store })
  t.after(() => second[Symbol.asyncDispose]())
  gate('restart').resolve()
  const next = connect({ url: second.url })
  const seen = await follow(next, id, () => false, 0)
  assert.deepEqual(seen.at(-1)!.counts, { succeeded: 3 })
  const head = await ask(next, 'GET /runs/:id', { params: { id } })
  assert.equal(head.sessions.length, 2)
})

test('names of nodes may have 4,096 characters in an address', async (t) => {
  const { client } = await serve(t, 'memory')
  const { run } = await ask(client, 'POST /runs', { body: { graph: 'broken' } })
  const wanted = (error: { code: string }): boolean => error.code === 'unknown_node'
  const params = { id: run!, name: 'n'.repeat(4_000) }
  await assert.rejects(ask(client, 'GET /runs/:id/nodes/:name', { params }), wanted)
})

test('a log of megabytes comes in pages that a tab can hold, and nothing of it is left out', async (t) => {
  const { client } = await serve(t, 'memory')
  const { run } = await ask(client, 'POST /runs', { body: { graph: 'loud' } })
  const id = run!
  await follow(client, id, () => false)
  const sizes: number[] = []
  const lines: string[] = []
  for (let after: number | null = 0; after !== null;) {
    const page: ReplyBody<'GET /runs/:id/log'> = await ask(client, 'GET /runs/:id/log', {
      params: { id },
      query: { after },
    })
    sizes.push(page.lines.reduce((sum, { text }) => sum + text.length, 0))
    lines.push(...page.lines.map(({ text }) => text.split(' ', 1)[0]!))
    after = page.next
  }
  assert.deepEqual(
    lines,
    Array.from({ length: 50 }, (_, line) => String(line)),
  )
  assert.ok(sizes.length > 1 && Math.max(...sizes) < 2_100_000, sizes.join())
})
