/** Two whole servers on one PostgreSQL: each due time is fired once, whichever server sees it first. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job } from '@heddle/core'
import { openDatabase } from '@heddle/test-servers'
import { connect } from '../../src/client/index.ts'
import { startServer, type Server } from '../../src/server.ts'
import { clusterOf } from '../cluster/support/two-servers.ts'
import { reach } from '../../../core/test/kernel/until.ts'

/** Which server has run which due time: the title of a scheduled run names it. */
const ran: string[] = []

function tickOn(place: string) {
  const tick = job({ name: 'tick' }, () => void ran.push(place))
  const ticks = (): Graph => {
    const graph = new Graph()
    graph.add('tick', tick)
    return graph
  }
  return { tick, graphs: { ticks } }
}

test('D1 two real servers on one PostgreSQL: each second that is due has one firing and one run', async () => {
  await using database = await openDatabase()
  const start = (place: string): Promise<Server> =>
    startServer({
      jobs: tickOn(place),
      store: database.address,
      port: 0,
      threads: 1,
      limits: { loopGap: Infinity },
    })
  await using one = await start('one')
  await using two = await start('two')
  await reach(
    async () => [await clusterOf(one), await clusterOf(two)] as const,
    ([a, b]) => a.servers === 2 && b.servers === 2,
  )
  const client = connect({ url: one.url })
  // `all`: a machine that is busy for long must not skip due times.
  const body = {
    name: 'ticks',
    cron: '* * * * * *',
    graph: 'ticks',
    missed: 'all',
    overlap: 'queue',
  } as const
  const { id } = (await client.call('POST /schedules', { body })).body
  const firings = async () => {
    const found = await client.call('GET /schedules/:id/firings', { params: { id }, query: {} })
    return found.body.firings
  }
  await reach(firings, (found) => found.filter(({ run }) => run !== null).length >= 6)
  // Decided firings are started; nothing more is decided.
  await client.call('PATCH /schedules/:id', { params: { id }, body: { paused: true } })
  const all = await reach(firings, (found) => found.every(({ run }) => run !== null))
  const due = all.map(({ due_at: at }) => at)
  assert.equal(new Set(due).size, due.length, 'each due time is decided once')
  const runs = all.map(({ run }) => run)
  assert.equal(new Set(runs).size, runs.length, 'each firing has a run of its own')
  const count = async (): Promise<number> => {
    const { counts } = (await client.call('GET /runs/counts', {})).body
    return counts.succeeded ?? 0
  }
  await reach(count, (succeeded) => succeeded >= all.length)
  assert.equal(await count(), all.length)
  assert.equal(ran.length, all.length, 'the job ran once for each firing')
})
