/** Schedules and starts that wait belong to a tenant. That single ones do: http/tenancy.routes.test.ts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job } from '@heddle/core'
import { schedule } from '../../src/index.ts'
import { askAs, readAs, withTenants } from '../support/tenants.ts'

const note = job({ name: 'note' }, () => 'noted')

function graph(): Graph {
  const made = new Graph()
  made.add('note', note)
  return made
}

const served = {
  jobs: { note, graphs: { graph }, schedules: schedule('exported', '0 3 1 1 *', graph()) },
}

test('N3: two tenants may use one name for their schedules; each sees its own, and those of the module belong to the common tenant', async () => {
  await withTenants(served, async (server) => {
    const body = { name: 'nightly', cron: '0 3 1 1 *', graph: 'graph' }
    const made = new Map<string, string>()
    for (const tenant of ['a', 'b', 'default']) {
      const { id } = await readAs<{ id: string }>(server, tenant, '/schedules', { body })
      made.set(tenant, id)
    }
    assert.equal(new Set(made.values()).size, 3)
    assert.equal((await askAs(server, 'a', '/schedules', { body })).status, 409)
    for (const [tenant, names] of [
      ['a', ['nightly']],
      ['b', ['nightly']],
      ['default', ['exported', 'nightly']],
      ['c', []],
    ] as const) {
      const { schedules } = await readAs<{ schedules: { name: string }[] }>(
        server,
        tenant,
        '/schedules',
      )
      assert.deepEqual(schedules.map(({ name }) => name).toSorted(), names)
    }
    // No suggestion names a schedule of another tenant.
    const { text } = await askAs(server, 'c', '/schedules/made%3Anightl')
    assert.doesNotMatch(text, /nightly|exported/)
  })
})

test('N3: starts with one key of two tenants are two starts, debounced or not, and each tenant sees its own', async () => {
  await withTenants(served, async (server) => {
    const later = Date.now() + 86_400_000
    for (const tenant of ['a', 'b']) {
      for (const more of [
        { key: 'weekly', start_at: later },
        { debounce: { key: 'soon', delay_ms: 86_400_000 } },
      ]) {
        const body = { graph: 'graph', ...more }
        const { how } = await readAs<{ how: string }>(server, tenant, '/runs', { body })
        assert.equal(how, 'delayed')
      }
    }
    const startsOf = async (tenant: string): Promise<string[]> => {
      const route = '/starts'
      const { starts } = await readAs<{ starts: { id: string }[] }>(server, tenant, route)
      return starts.map(({ id }) => id)
    }
    const [a, b, none] = [await startsOf('a'), await startsOf('b'), await startsOf('default')]
    assert.deepEqual([a.length, b.length, none.length], [2, 2, 0])
    assert.equal(new Set([...a, ...b]).size, 4)
  })
})
