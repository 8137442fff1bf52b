/** Functions that make graphs are user code: one that never answers keeps neither a request nor a drain. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { schedule } from '../../src/schedules/schedule.ts'
import { startServer } from '../../src/server.ts'
import { begin, call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { told } from '../support/told.ts'
import { until } from '../../../core/test/kernel/until.ts'

/** A function that never answers, and how often it was called. */
function neverMade() {
  const calls: unknown[] = []
  const never = (args: unknown): Promise<Graph> => {
    calls.push(args)
    return new Promise(() => undefined)
  }
  return { calls, never }
}

test('O5 the function of a graph that never answers: 504 after half a minute', async () => {
  const clock = new VirtualClock()
  const { calls, never } = neverMade()
  const kernel = { clock, random: seededRandom(1) }
  const jobs = { one: job({ name: 'one' }, () => 1), graphs: { never } }
  await using server = await startServer({ jobs, port: 0, kernel, limits: { loopGap: Infinity } })
  const answer = told(call(server, '/runs', { body: { graph: 'never' } }))
  await until(() => calls.length === 1)
  await clock.advance(30_000)
  // It was sent before these, if it was sent at all.
  for (let n = 0; n < 10 && answer.state === 'pending'; n++) await call(server, '/jobs')
  assert.deepEqual([answer.value?.status, answer.value?.body.error?.code], [504, 'timeout'])
})

test('O5 a drain answers callers that wait for the function of a graph, and ends at its deadline though a schedule waits for one', async () => {
  const { calls, never } = neverMade()
  const gate = new Gate<void>('hold')
  const hold = (): Graph => {
    const graph = new Graph()
    graph.add('hold', gate.job)
    return graph
  }
  const schedules = [schedule('always', '* * * * * *', never)]
  const jobs = { hold: gate.job, graphs: { never, hold }, schedules }
  await using server = await startServer({ jobs, port: 0 })
  await call(server, '/runs', { body: { graph: 'hold' } })
  await gate.started()
  const waits = begin(server, '/runs', { body: { graph: 'never' } })
  // One for the request, one for the schedule.
  await until(() => calls.length >= 2)
  const began = performance.now()
  const drained = server.drain({ deadline: 500 })
  const { status, body } = await waits.reply
  assert.deepEqual([status, body.error?.code], [503, 'shutting_down'])
  // The door of runs is closed although the look of the schedule has not ended.
  const late = await call(server, '/runs', { body: { graph: 'hold' } })
  assert.deepEqual([late.status, late.body.error?.code], [503, 'shutting_down'])
  assert.deepEqual(await drained, { isClean: false })
  assert.ok(performance.now() - began < 15_000, 'not the half minute that a look may take')
  assert.equal(gate.starts.length, 1)
  gate.finishAll()
})
