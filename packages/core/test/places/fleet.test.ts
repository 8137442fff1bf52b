import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job } from '../../src/index.ts'
import { fleetPlace, type FleetAttempt, type FleetDispatch } from '../../src/places/fleet.ts'
import { startRun } from '../../src/run/run.ts'

const graphOf = (): Graph => {
  const graph = new Graph()
  const render = job(
    {
      name: 'render',
      place: 'fleet',
      version: '3',
      capabilities: ['gpu'],
      module: import.meta.url,
    },
    (n: number) => n,
  )
  graph.add('frame', render, { input: () => 7 })
  return graph
}

test('explain() says why an attempt has no worker, and that it runs when a worker has accepted it', async () => {
  const { promise: given, resolve: give } = Promise.withResolvers<FleetAttempt>()
  const result = Promise.withResolvers<unknown>()
  const asked: unknown[] = []
  const dispatch: FleetDispatch = {
    run: (attempt) => {
      give(attempt)
      return result.promise
    },
    whyWaiting: (wants) => {
      asked.push(wants)
      return 'no worker with capability gpu (1 connected: ann)'
    },
  }
  const fleet = fleetPlace(dispatch, 'acme')
  const { scheduler, result: ended } = await startRun(graphOf(), { places: { fleet } })
  const attempt = await given
  const waiting = scheduler.explain('frame')
  assert.deepEqual(
    [waiting.why, waiting.text],
    ['place', 'no worker with capability gpu (1 connected: ann)'],
  )
  assert.deepEqual(asked, [{ job: 'render', version: '3', capabilities: ['gpu'], tenant: 'acme' }])
  assert.equal(attempt.tenant, 'acme')
  attempt.onStart()
  assert.equal(scheduler.explain('frame').why, 'running')
  attempt.onWaiting()
  assert.equal(scheduler.explain('frame').why, 'place')
  result.resolve(8)
  assert.equal((await ended).ok, true)
})
