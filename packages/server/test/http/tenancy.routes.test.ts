/**
 * Every route whose path names a thing, from the table of routes: tenant b asks for things of tenant a, and is answered as for a
 * thing that does not exist (N1). A new route without a row here fails.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { Graph, job } from '@heddle/core'
import type { Server } from '../../src/server.ts'
import { Gate } from '../support/gates.ts'
import { askAs, readAs, withTenants, type Answer, type Asked } from '../support/tenants.ts'
import { reach, until } from '../../../core/test/kernel/until.ts'

const render = job({ name: 'render', place: 'fleet', module: import.meta.url }, (n: number) => n)

const report = job({ name: 'report' }, async (_: void, { artifact }) => {
  await artifact('report.txt', 'all is well')
})

const approve = job({ name: 'approve' }, async (_: void, { artifact, waitFor }) => {
  await artifact('report.txt', 'not yet')
  await waitFor('approval')
})

function graphOf(part: typeof report): () => Graph {
  return () => {
    const made = new Graph()
    made.add('part', part)
    return made
  }
}

/** The things of tenant a, by name. */
interface Things {
  readonly handle: string
  readonly lease: string
  readonly epoch: number
  readonly campaign: string
  readonly open: string
  readonly ended: string
  readonly schedule: string
  readonly start: string
  readonly request: string
}

const worker = 'worker-of-a'
const bytes = Buffer.from('a large result')
const sha256 = createHash('sha256').update(bytes).digest('hex')

async function makeThings(server: Server, work: Gate): Promise<Things> {
  const make = <T>(route: string, body: unknown): Promise<T> =>
    readAs<T>(server, 'a', route, { body })
  const { handle } = await make<{ handle: string }>('/jobs/render', 7)
  const claim = {
    worker: {
      id: worker,
      name: worker,
      threads: 1,
      memory: 1_000,
      capabilities: [],
      tags: [],
      system: 'linux-x64',
      jobs: [{ name: 'render', version: '1' }],
    },
    request: 'claim-1',
    wait_ms: 25_000,
  }
  const { offer } = await make<{ offer: { lease: string; epoch: number } }>('/fleet/claim', claim)
  const { lease, epoch } = offer
  await make('/fleet/accept', { lease, epoch, worker })
  const { id: campaign } = await make<{ id: string }>('/campaigns', {
    name: 'match',
    job: 'play',
    units: 10,
  })
  const { run: open } = await make<{ run: string }>('/runs', { graph: 'approve', key: 'weekly' })
  const { run: ended } = await make<{ run: string }>('/runs', { graph: 'report' })
  // The first waits for its approval, the second has ended: both have left their file.
  for (const run of [open, ended]) {
    await until(async () => (await listOf(server, run)).length > 0)
  }
  await reach(
    () => readAs<{ outcome: string }>(server, 'a', `/runs/${ended}`),
    ({ outcome }) => outcome !== 'running',
  )
  const { id: schedule } = await make<{ id: string }>('/schedules', {
    name: 'nightly',
    cron: '0 3 1 1 *',
    graph: 'report',
  })
  const { start } = await make<{ start: string }>('/runs', {
    graph: 'report',
    debounce: { key: 'soon', delay_ms: 3_600_000 },
  })
  const request = 'request-of-a'
  // Not waited for: it is answered when the server drains.
  void askAs(server, 'a', '/jobs/work?wait=60000', {
    body: 1,
    headers: { 'x-request-id': request },
  }).catch(() => undefined)
  await work.started()
  return { handle, lease, epoch, campaign, open, ended, schedule, start, request }
}

async function listOf(server: Server, run: string): Promise<readonly unknown[]> {
  const { artifacts } = await readAs<{ artifacts: unknown[] }>(server, 'a', `/artifacts/${run}`)
  return artifacts
}

interface Row extends Asked {
  /** The things that the path may name. */
  readonly of: readonly (keyof Things)[]
  /** What follows the path, for the thing of this name. */
  readonly query?: (things: Things) => string
  /** What stands for further parameters of the path. */
  readonly rest?: Readonly<Record<string, string>>
  /** 404 when absent. */
  readonly refused?: number
  /** The answer to tenant a itself, last of all. */
  readonly own: number
}

const run: readonly (keyof Things)[] = ['open']
const held = ({ epoch }: Things): string => `?epoch=${epoch}&worker=${worker}`
const upload = (things: Things): string =>
  `${held(things)}&name=large.bin&length=${bytes.length}&sha256=${sha256}`

/**
 * In this order: no row changes what a later row needs. `everyone` is the same for all tenants, `admin` is not for
 * callers that have a tenant, and a `secret` is itself the right.
 */
const rows: Readonly<Record<string, Row | 'everyone' | 'admin' | 'secret'>> = {
  'POST /jobs/{name}': 'everyone',
  'GET /ui/assets/{name}': 'everyone',
  // Tenant b, and why it finds nothing: http/failures.test.ts.
  'GET /failures/{reference}': { of: ['request'], own: 404 },
  'POST /links/{secret}': 'secret',
  'GET /approvals/{secret}': 'secret',
  'POST /approvals/{secret}': 'secret',
  'PATCH /users/{name}': 'admin',
  'POST /users/{name}/link': 'admin',
  'GET /users/{name}/sessions': 'admin',
  'DELETE /users/{name}/sessions': 'admin',
  'DELETE /tokens/{id}': 'admin',

  'PUT /fleet/artifacts/{lease}': {
    of: ['lease'],
    query: upload,
    method: 'PUT',
    bytes,
    refused: 410,
    own: 201,
  },
  'GET /fleet/artifacts/{lease}': { of: ['lease'], query: upload, refused: 410, own: 200 },
  'GET /fleet/inputs/{lease}': { of: ['lease'], query: held, refused: 410, own: 200 },
  'GET /artifacts/{run}': { of: ['open', 'ended', 'handle', 'campaign'], own: 200 },
  'GET /runs/{id}/artifacts': { of: ['open', 'ended', 'handle', 'campaign'], own: 200 },
  'GET /archives/{run}': { of: ['open', 'ended', 'handle', 'campaign'], own: 200 },
  'GET /artifacts/{run}/{name}': { of: ['handle'], rest: { name: 'large.bin' }, own: 200 },

  'GET /campaigns/{id}': { of: ['campaign'], own: 200 },
  'GET /campaigns/{id}/stats': { of: ['campaign'], own: 200 },
  'GET /campaigns/{id}/history': { of: ['campaign'], own: 200 },
  'POST /campaigns/{id}/exclude': {
    of: ['campaign'],
    body: { lease: 'no-lease', reason: 'none' },
    own: 400,
  },
  'POST /campaigns/{id}/pause': { of: ['campaign'], body: {}, own: 200 },
  'POST /campaigns/{id}/resume': { of: ['campaign'], body: {}, own: 200 },
  'POST /campaigns/{id}/stop': { of: ['campaign'], body: {}, own: 200 },
  // After it was stopped.
  'DELETE /campaigns/{id}': { of: ['campaign'], method: 'DELETE', own: 200 },

  'GET /runs/{id}': { of: run, own: 200 },
  'GET /runs/{id}/nodes': { of: run, own: 200 },
  'GET /runs/{id}/nodes/{name}': { of: run, rest: { name: 'part' }, own: 200 },
  'GET /runs/{id}/nodes/{name}/result': { of: ['ended'], rest: { name: 'part' }, own: 200 },
  'GET /runs/{id}/log': { of: run, own: 200 },
  'GET /runs/{id}/timeline': { of: run, own: 200 },
  'GET /runs/{id}/graph': { of: run, own: 200 },
  'GET /runs/{id}/events': { of: run, own: 200 },
  'GET /runs/{id}/compare': { of: run, query: ({ ended }) => `?with=${ended}`, own: 200 },
  'GET /runs/{id}/forecast': { of: run, query: () => '?concurrency=2', own: 200 },
  'GET /runs/{id}/export/{format}': { of: run, rest: { format: 'rows' }, own: 200 },
  'POST /runs/{id}/nodes/{name}/retry': {
    of: ['ended'],
    rest: { name: 'part' },
    body: {},
    own: 201,
  },
  'POST /runs/{id}/signals/{name}/links': { of: run, rest: { name: 'x' }, body: {}, own: 201 },
  'POST /runs/{id}/signals/{name}': { of: run, rest: { name: 'x' }, body: { value: 1 }, own: 202 },
  'POST /runs/{id}/pause': { of: run, body: {}, own: 200 },
  'POST /runs/{id}/resume': { of: run, body: {}, own: 200 },
  'POST /runs/{id}/cancel': { of: run, body: {}, own: 200 },

  'GET /schedules/{id}': { of: ['schedule'], own: 200 },
  'GET /schedules/{id}/firings': { of: ['schedule'], own: 200 },
  'PATCH /schedules/{id}': { of: ['schedule'], method: 'PATCH', body: { paused: true }, own: 200 },
  'DELETE /schedules/{id}': { of: ['schedule'], method: 'DELETE', own: 200 },
  'DELETE /starts/{id}': { of: ['start'], method: 'DELETE', own: 200 },

  'GET /results/{handle}/{index}': { of: ['handle'], rest: { index: '0' }, own: 202 },
  // Nothing was set aside.
  'POST /computations/{handle}/retry': { of: ['handle'], body: {}, own: 404 },
  'DELETE /computations/{handle}': { of: ['handle'], method: 'DELETE', own: 200 },
  'DELETE /requests/{id}': { of: ['request'], method: 'DELETE', own: 200 },
}

/** Unknown names of the same form as those of tenant a. */
const unknown: Readonly<Record<keyof Things, string>> = {
  handle: `render-${'0'.repeat(64)}`,
  lease: 'j-0.1',
  epoch: '',
  campaign: 'c-unknown',
  open: 'unknown-run',
  ended: 'unknown-run',
  schedule: 'made:unknown',
  start: 'debounce unknown',
  request: 'unknown-request',
}

/** The answer without what names the thing, and without the random name of the error. */
function shapeOf({ status, text }: Answer, id: string): unknown {
  const shown = text.replaceAll(JSON.stringify(id).slice(1, -1), 'ID')
  return { status, text: shown.replaceAll(/"reference":"[^"]*"/g, '"reference":""') }
}

function pathOf(template: string, id: string, rest: Row['rest'] = {}): string {
  let isFirst = true
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = isFirst ? id : rest[name]!
    isFirst = false
    return encodeURIComponent(value)
  })
}

test('N1, N2: no route gives a tenant anything of another, or says that it is there', async () => {
  const work = new Gate('work')
  const graphs = { approve: graphOf(approve), report: graphOf(report) }
  const jobs = { render, work: work.job, graphs }
  await withTenants({ jobs }, async (server) => {
    const document = await readAs<{ paths: Record<string, Record<string, unknown>> }>(
      server,
      'a',
      '/openapi.json',
    )
    const named = Object.entries(document.paths).flatMap(([path, methods]) =>
      path.includes('{') ? Object.keys(methods).map((each) => `${each.toUpperCase()} ${path}`) : [],
    )
    assert.ok(named.length > 40, String(named.length))
    const missing = named.filter((name) => !(name in rows))
    assert.deepEqual(missing, [], 'routes without a row in this file')

    const things = await makeThings(server, work)
    for (const [name, row] of Object.entries(rows)) {
      if (row === 'everyone' || row === 'secret' || !named.includes(name)) continue
      const [method, template] = name.split(' ') as [string, string]
      if (row === 'admin') {
        const asked = { method, ...(method !== 'GET' && method !== 'DELETE' && { body: {} }) }
        const answer = await askAs(server, 'b', pathOf(template, 'x'), asked)
        assert.equal(answer.status, 403, name)
        continue
      }
      for (const thing of row.of) {
        const id = String(things[thing])
        const target = (of: string): string =>
          pathOf(template, of, row.rest) + (row.query?.(things) ?? '')
        const foreign = await askAs(server, 'b', target(id), row)
        const none = await askAs(server, 'b', target(unknown[thing]), row)
        assert.equal(foreign.status, row.refused ?? 404, `${name} of ${thing}: ${foreign.text}`)
        assert.deepEqual(shapeOf(foreign, id), shapeOf(none, unknown[thing]), `${name} of ${thing}`)
        const own = await askAs(server, 'a', target(id), row)
        assert.equal(own.status, row.own, `${name} of ${thing}, for its own tenant: ${own.text}`)
      }
    }
    work.finishAll()
  })
})

test('N1: a run of the own tenant cannot be compared with one of another', async () => {
  await withTenants({ jobs: { graphs: { report: graphOf(report) }, report } }, async (server) => {
    const startAs = async (tenant: string): Promise<string> =>
      (await readAs<{ run: string }>(server, tenant, '/runs', { body: { graph: 'report' } })).run
    const [mine, theirs] = [await startAs('b'), await startAs('a')]
    const { status } = await askAs(server, 'b', `/runs/${mine}/compare?with=${theirs}`)
    assert.equal(status, 404)
  })
})

test('L4: calls of workers for a lease of another tenant are answered as for an unknown one, also after its end', async () => {
  const work = new Gate('work')
  const graphs = { approve: graphOf(approve), report: graphOf(report) }
  await withTenants({ jobs: { render, work: work.job, graphs } }, async (server) => {
    const { lease, epoch, open } = await makeThings(server, work)
    const calls: readonly (readonly [string, object])[] = [
      ['accept', {}],
      ['update', { sequence: 1, done: 1 }],
      ['params', {}],
      ['fail', { message: 'no', stage: 'run' }],
      ['stop', { reason: 'no' }],
      ['log', { text: 'no' }],
    ]
    const check = async (): Promise<void> => {
      for (const [name, more] of calls) {
        const asked = async (id: string): Promise<Answer> =>
          askAs(server, 'b', `/fleet/${name}`, { body: { lease: id, epoch, worker, ...more } })
        const foreign = await asked(lease)
        assert.equal(foreign.status, 410, `${name}: ${foreign.text}`)
        assert.deepEqual(
          shapeOf(foreign, lease),
          shapeOf(await asked(unknown.lease), unknown.lease),
          name,
        )
      }
      const beat = await readAs<{ lost: { reason: string }[] }>(server, 'b', '/fleet/beat', {
        body: { worker, leases: [{ lease, epoch }] },
      })
      assert.deepEqual(
        beat.lost.map(({ reason }) => reason),
        ['not_held'],
      )
    }
    await check()
    const own = { lease, epoch, worker }
    await readAs(server, 'a', '/fleet/update', {
      body: { ...own, sequence: 1, done: 1, result: 49 },
    })
    await check()
    await readAs(server, 'a', `/runs/${open}/cancel`, { body: {} })
    work.finishAll()
  })
})

test('N1: figures of the whole server are not for a caller that is bound to a tenant', async () => {
  await withTenants({ jobs: { report } }, async (server) => {
    const asked: readonly (readonly [string, Asked])[] = [
      ['/metrics', {}],
      ['/load', {}],
      ['/cache', { body: { action: 'info' } }],
    ]
    for (const [route, how] of asked) {
      assert.equal((await askAs(server, 'a', route, how)).status, 403, route)
      assert.equal((await askAs(server, 'default', route, how)).status, 200, route)
      const admin = { ...how, headers: { 'x-admin': '1' } }
      assert.equal((await askAs(server, 'a', route, admin)).status, 200, route)
    }
    const summary = await readAs<Record<string, unknown>>(server, 'b', '/fleet/summary')
    assert.deepEqual([summary['workers'], summary['jobs_waiting']], [0, 0])
    const { total } = await readAs<{ total: number }>(server, 'b', '/computations')
    assert.equal(total, 0)
  })
})
