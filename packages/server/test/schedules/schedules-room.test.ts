import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { Graph, job } from '@heddle/core'
import { connect, type Client, type ScheduleInfo } from '../../src/client/index.ts'
import { schedule } from '../../src/schedules/schedule.ts'
import { startServer } from '../../src/server.ts'
import { until } from '../../../core/test/kernel/until.ts'

const note = job({ name: 'note' }, (input: unknown) => input)

function report(args: unknown): Graph {
  const graph = new Graph()
  graph.add('note', note, { input: args })
  return graph
}

const nightly = schedule('nightly', '0 3 * * *', report, { timezone: 'Europe/Berlin' })
const exported = { note, graphs: { report }, schedules: [nightly] }

async function serve(t: TestContext, jobs: Record<string, unknown> = exported): Promise<Client> {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-schedules-'))
  const store = `sqlite:${path.join(folder, 'serve.db')}`
  const server = await startServer({ jobs, port: 0, store })
  t.after(async () => {
    await server[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })
  return connect({ url: server.url })
}

const code = (wanted: string) => (error: { code: string }) => error.code === wanted

test('exported schedules and those made over HTTP are listed with their next times', async (t) => {
  const client = await serve(t)
  const body = { name: 'nightly', cron: '30 4 * * 1-5', graph: 'report', args: { days: 7 } }
  const made = (await client.call('POST /schedules', { body })).body
  assert.deepEqual(
    [made.id, made.origin, made.overlap, made.missed, made.timezone, made.next.length],
    ['made:nightly', 'made', 'skip', 'once', 'UTC', 5],
  )
  const { schedules } = (await client.call('GET /schedules')).body
  assert.deepEqual(
    schedules.map(({ id, graph, args }) => [id, graph, args]),
    [
      ['exported:nightly', 'report', undefined],
      ['made:nightly', 'report', { days: 7 }],
    ],
  )
  const params = { id: 'made:nightly' }
  const paused = await client.call('PATCH /schedules/:id', { params, body: { paused: true } })
  assert.deepEqual([paused.body.paused, paused.body.next], [true, []])
  const shown = await client.call('GET /schedules/:id', { params })
  assert.equal(shown.body.paused, true)
  await client.call('DELETE /schedules/:id', { params })
  await assert.rejects(client.call('GET /schedules/:id', { params }), code('unknown_schedule'))
  await assert.rejects(
    client.call('DELETE /schedules/:id', { params: { id: 'exported:nightly' } }),
    code('schedule_exported'),
  )
})

test('mistakes are refused with the fault', async (t) => {
  const client = await serve(t)
  const good = { name: 'a', cron: '0 3 * * *', graph: 'report' }
  const wrong = async (change: object, wanted: string, text: RegExp): Promise<void> => {
    await assert.rejects(
      client.call('POST /schedules', { body: { ...good, ...change } }),
      (error: { code: string; message: string }) =>
        error.code === wanted && text.test(error.message),
    )
  }
  await wrong({ cron: '61 * * * *' }, 'bad_request', /^cron: .*minute/)
  await wrong({ timezone: 'Europe/Berlim' }, 'bad_request', /^timezone: .*time zone/)
  await wrong({ cron: '0 0 30 2 *' }, 'bad_request', /never due/)
  await wrong({ name: 'a/b' }, 'bad_request', /name/)
  await wrong({ graph: 'reprt' }, 'unknown_graph', /report/)
  await wrong({ overlap: 'both' }, 'bad_request', /overlap/)
  const preview = await client.call('GET /schedules/preview', {
    query: { cron: '30 2 * * *', timezone: 'Europe/Berlin', count: 3 },
  })
  assert.equal(preview.body.next.length, 3)
  await assert.rejects(
    client.call('GET /schedules/preview', { query: { cron: 'often' } }),
    code('bad_request'),
  )
})

test('a schedule starts runs, which carry its name, and its firings are listed', async (t) => {
  const client = await serve(t)
  const body = { name: 'often', cron: '* * * * * *', graph: 'report', overlap: 'queue' } as const
  await client.call('POST /schedules', { body })
  const params = { id: 'made:often' }
  let last: ScheduleInfo['last'] = null
  await until(async () => {
    last = (await client.call('GET /schedules/:id', { params })).body.last
    return last?.state === 'started'
  })
  await client.call('PATCH /schedules/:id', { params, body: { paused: true } })
  const { firings } = (await client.call('GET /schedules/:id/firings', { params })).body
  const first = firings.at(-1)!
  assert.equal(first.state, 'started')
  assert.equal(first.due_at % 1_000, 0)
  const head = (await client.call('GET /runs/:id', { params: { id: first.run! } })).body
  assert.deepEqual([head.schedule, head.graph], ['made:often', 'report'])
  assert.equal(head.key, `schedule:made:often@${new Date(first.due_at).toISOString()}`)
})

test('a run starts later, by time or after a pause, and can be cancelled before', async (t) => {
  const client = await serve(t)
  const far = Date.now() + 3_600_000
  const later = await client.call('POST /runs', {
    body: { graph: 'report', start_at: new Date(far).toISOString() },
  })
  assert.equal(later.status, 202)
  const { run, how, start, due_at: dueAt } = later.body
  assert.deepEqual([run, how, dueAt], [null, 'delayed', far])
  const { starts } = (await client.call('GET /starts')).body
  assert.deepEqual(
    starts.map(({ id }) => id),
    [start],
  )
  await client.call('DELETE /starts/:id', { params: { id: start! } })
  await assert.rejects(
    client.call('DELETE /starts/:id', { params: { id: start! } }),
    code('unknown_start'),
  )
  // Only the last one is due before the test ends, however long each call takes.
  for (const [args, delay] of [
    [1, 3_600_000],
    [2, 3_600_000],
    [3, 1],
  ]) {
    const debounce = { key: 'save', delay_ms: delay! }
    await client.call('POST /runs', { body: { graph: 'report', args, debounce } })
  }
  await until(async () => (await client.call('GET /runs/counts')).body.counts.succeeded === 1)
  const { runs } = (await client.call('GET /runs')).body
  const result = await client.call('GET /runs/:id/nodes/:name/result', {
    params: { id: runs[0]!.id, name: 'note' },
  })
  assert.equal(result.body, 3)
  await assert.rejects(
    client.call('POST /runs', { body: { graph: 'report', start_at: 'tomorrow' } }),
    code('bad_request'),
  )
  await assert.rejects(
    client.call('POST /runs', { body: { graph: 'reprt', start_at: far } }),
    code('unknown_graph'),
  )
})
