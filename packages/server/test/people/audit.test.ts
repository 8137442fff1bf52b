/** The log of actions names who starts, steers and answers runs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job } from '@heddle/core'
import { connect } from '../../src/client/index.ts'
import { startServer } from '../../src/server.ts'
import { call } from '../support/client.ts'

const ask = job({ name: 'ask' }, async (_: void, ctx) => ctx.waitFor('approval'))

function release(): Graph {
  const graph = new Graph()
  graph.add('ask', ask)
  return graph
}

test('U5 runs, signals, links and schedules are in the log, without the values that were sent', async () => {
  await using server = await startServer({ jobs: { ask, graphs: { release } }, port: 0 })
  const client = connect({ url: server.url })
  const start = async (): Promise<string> => {
    const { body } = await client.call('POST /runs', { body: { graph: 'release', key: 'one' } })
    return body.run!
  }
  const id = await start()
  // It has the key already: nothing was started.
  assert.equal(await start(), id)
  const params = { id }
  await client.call('POST /runs/:id/pause', { params })
  // It is paused already: nothing changes.
  await client.call('POST /runs/:id/pause', { params })
  await client.call('POST /runs/:id/resume', { params })
  const signal = { ...params, name: 'approval' }
  const link = await client.call('POST /runs/:id/signals/:name/links', { params: signal, body: {} })
  await client.call('POST /runs/:id/signals/:name', {
    params: signal,
    body: { value: 'private words' },
  })
  const second = (await client.call('POST /runs', { body: { graph: 'release' } })).body.run!
  await client.call('POST /runs/:id/cancel', {
    params: { id: second },
    body: { reason: 'private' },
  })
  const nightly = { name: 'nightly', cron: '0 3 * * *', graph: 'release' }
  const made = await client.call('POST /schedules', { body: nightly })
  await client.call('DELETE /schedules/:id', { params: { id: made.body.id } })
  const { body } = await call(server, '/actions?limit=100')
  const actions = body['actions'] as {
    by: string
    action: string
    target: string
    detail?: string
  }[]
  const expected = [
    ['run started', id, 'release'],
    ['run paused', id, null],
    ['run resumed', id, null],
    ['approval link made', id, 'approval'],
    ['signal sent', id, 'approval'],
    ['run started', second, 'release'],
    ['run cancelled', second, null],
    ['schedule made', made.body.id, 'release'],
    ['schedule deleted', made.body.id, null],
  ]
  // Two of one millisecond have no order.
  const inOrder = (lines: readonly unknown[][]): string[] =>
    lines.map((line) => JSON.stringify(line)).toSorted((a, b) => a.localeCompare(b))
  assert.deepEqual(
    inOrder(actions.map(({ action, target, detail }) => [action, target, detail])),
    inOrder(expected),
  )
  assert.ok(actions.every(({ by }) => by === 'anonymous'))
  const secret = link.body.link.split('/').at(-1)!
  for (const hidden of ['private', secret]) {
    assert.equal(JSON.stringify(body).includes(hidden), false, hidden)
  }
})
