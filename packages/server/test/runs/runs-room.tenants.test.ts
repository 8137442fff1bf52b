/** Runs, their keys and their lists belong to a tenant. That single runs do: http/tenancy.routes.test.ts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job } from '@heddle/core'
import { connect } from '../../src/client/index.ts'
import type { Server } from '../../src/server.ts'
import { readAs, withTenants } from '../support/tenants.ts'
import { reach } from '../../../core/test/kernel/until.ts'

const note = job({ name: 'note' }, () => 'noted')

function graph(): Graph {
  const made = new Graph()
  made.add('note', note)
  return made
}

const served = { jobs: { note, graphs: { graph } } }

interface Started {
  readonly run: string
  readonly how: string
}

interface Listed {
  readonly runs: readonly { readonly id: string; readonly key: string | null }[]
}

const start = (server: Server, tenant: string, more: object = {}): Promise<Started> =>
  readAs<Started>(server, tenant, '/runs', { body: { graph: 'graph', ...more } })

async function endOf(server: Server, tenant: string, run: string): Promise<void> {
  await reach(
    () => readAs<{ outcome: string }>(server, tenant, `/runs/${run}`),
    ({ outcome }) => outcome === 'succeeded',
  )
}

test('N3: the same key of two tenants names two runs, and each tenant sees the key that it chose', async () => {
  await withTenants(served, async (server) => {
    const [a, b, common] = [
      await start(server, 'a', { key: 'nightly' }),
      await start(server, 'b', { key: 'nightly' }),
      await start(server, 'default', { key: 'nightly' }),
    ]
    assert.deepEqual([a.how, b.how, common.how], ['started', 'started', 'started'])
    assert.equal(new Set([a.run, b.run, common.run]).size, 3)
    // A key of the common tenant that looks like one of another.
    const posing = await start(server, 'default', { key: '@a:nightly' })
    assert.equal(posing.how, 'started')
    for (const [tenant, { run }] of [
      ['a', a],
      ['b', b],
    ] as const) {
      await endOf(server, tenant, run)
      const again = await start(server, tenant, { key: 'nightly' })
      assert.deepEqual(again, { run, how: 'recorded' })
      const { key } = await readAs<{ key: string }>(server, tenant, `/runs/${run}`)
      assert.equal(key, 'nightly')
    }
  })
})

test('N1: lists, counts and the stream of all runs show runs of the own tenant; an admin sees all', async () => {
  await withTenants(served, async (server) => {
    const a = await start(server, 'a')
    const b = await start(server, 'b')
    const common = await start(server, 'default')
    await endOf(server, 'a', a.run)
    await endOf(server, 'b', b.run)
    await endOf(server, 'default', common.run)
    const admin = { headers: { 'x-admin': '1' } }
    for (const [tenant, runs, asked] of [
      ['a', [a.run], {}],
      ['b', [b.run], {}],
      ['default', [common.run], {}],
      ['c', [], {}],
      ['c', [common.run, b.run, a.run], admin],
    ] as const) {
      const listed = await readAs<Listed>(server, tenant, '/runs', asked)
      assert.deepEqual(
        listed.runs.map(({ id }) => id),
        runs,
      )
      const { total } = await readAs<{ total: number }>(server, tenant, '/runs/counts', asked)
      assert.equal(total, runs.length)
      const headers = { 'x-tenant': tenant, ...('headers' in asked && asked.headers) }
      const client = connect({ url: server.url, headers: () => headers })
      for await (const { event, data } of client.events('GET /runs/events', {})) {
        if (event !== 'runs') continue
        const shown = (JSON.parse(data) as Listed).runs.map(({ id }) => id)
        assert.deepEqual(new Set(shown), new Set(runs))
        break
      }
    }
  })
})

test("N1: the run of a tenant's served job belongs to that tenant", async () => {
  const chatty = job({ name: 'chatty' }, (_: number, { log }) => {
    log('a line that becomes a run of the journal')
    return null
  })
  await withTenants({ jobs: { chatty } }, async (server) => {
    const { handle } = await readAs<{ handle: string }>(server, 'a', '/jobs/chatty', { body: 1 })
    await readAs(server, 'a', `/results/${handle}/0?wait=60000`)
    let listed: Listed
    do listed = await readAs<Listed>(server, 'a', '/runs')
    while (listed.runs.length === 0)
    assert.equal((await readAs<Listed>(server, 'b', '/runs')).runs.length, 0)
    assert.equal((await readAs<Listed>(server, 'default', '/runs')).runs.length, 0)
  })
})

test('N1: lines of the log of actions belong to the tenant of their author', async () => {
  await withTenants(served, async (server) => {
    const { run } = await start(server, 'a')
    const linesOf = async (tenant: string, asked = {}): Promise<string[]> => {
      const { actions } = await readAs<{ actions: { target: string }[] }>(
        server,
        tenant,
        '/actions?action=run%20started',
        asked,
      )
      return actions.map(({ target }) => target)
    }
    assert.deepEqual(await linesOf('a'), [run])
    assert.deepEqual(await linesOf('b'), [])
    assert.deepEqual(await linesOf('default'), [])
    assert.deepEqual(await linesOf('b', { headers: { 'x-admin': '1' } }), [run])
  })
})
