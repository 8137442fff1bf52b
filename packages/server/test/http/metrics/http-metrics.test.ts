import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serveJob, startServer, type ItemInput, type Server } from '../../../src/index.ts'
import { Gate } from '../../support/gates.ts'
import { cancel, compute, quiet, submit, waiting } from '../../support/http.ts'

async function scrape(server: Server): Promise<Map<string, number>> {
  const response = await fetch(`${server.url}/metrics`)
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  const lines = (await response.text()).split('\n')
  assert.equal(lines.pop(), '', 'the last line ends')
  // Series of routes come with the first request: their number is bounded by the table.
  const samples = lines.filter((line) => !line.startsWith('#') && !line.startsWith('heddle_http_'))
  return new Map(
    samples.map((line) => {
      const [, name, value] = /^([a-z_]+(?:\{[^}]*\})?) (\S+)$/.exec(line) ?? []
      assert.ok(name !== undefined, line)
      assert.ok(Number.isFinite(Number(value)), line)
      return [name, Number(value)]
    }),
  )
}

test('S103 metrics for operators include depths, outcomes, times and refusals', async () => {
  const load = new Gate('load')
  const plot = new Gate<ItemInput<unknown>>('plot')
  const two = serveJob({ name: 'two', prepare: load.job, item: plot.job, total: 2 })
  const limits = { prepareCapacity: 4, loop: 1 }
  await using server = await startServer({ jobs: [two], port: 0, limits })
  const first = compute(server, 'two', 1)
  await load.started()
  const second = compute(server, 'two', 2, { headers: { 'x-request-id': 'mine' } })
  await waiting(server, 2)
  const busy = await scrape(server)
  assert.equal(busy.get('heddle_requests_waiting'), 2)
  assert.equal(busy.get('heddle_running{stage="prepare"}'), 1)
  assert.equal(busy.get('heddle_queue_depth{stage="prepare"}'), 1)
  assert.equal(busy.get('heddle_queue_capacity{stage="prepare"}'), 4)
  assert.equal(busy.get('heddle_load_ratio'), 0.5)
  assert.equal(busy.get('heddle_works'), 2)
  assert.equal(busy.get('heddle_draining'), 0)
  assert.equal(busy.get('heddle_bodies_arriving'), 0)
  // Two that wait, and the one that asks.
  assert.equal(busy.get('heddle_connections{state="busy"}'), 3)
  for (const input of [3, 4, 5, 6]) await submit(server, 'two', input).reply
  await cancel(server, 'mine')
  assert.equal((await second.reply).status, 499)
  load.starts[0]!.fail(new Error('no'))
  assert.equal((await first.reply).status, 500)
  for (let number = 2; number <= 3; number++) (await load.started(number)).finish(number)
  for (let number = 1; number <= 4; number++) (await plot.started(number)).finish(number)
  await quiet(server)
  const later = await scrape(server)
  assert.equal(later.get('heddle_requests_total{outcome="error"}'), 1)
  assert.equal(later.get('heddle_requests_total{outcome="cancelled"}'), 1)
  assert.equal(later.get('heddle_tasks_total{stage="prepare",outcome="rejected"}'), 2)
  assert.equal(later.get('heddle_tasks_total{stage="prepare",outcome="success"}'), 2)
  assert.equal(later.get('heddle_tasks_total{stage="item",outcome="success"}'), 4)
  assert.equal(later.get('heddle_queue_wait_seconds_count{stage="prepare"}'), 3)
  assert.equal(later.get('heddle_run_seconds_count{stage="item"}'), 4)
  assert.equal(later.get('heddle_queue_wait_seconds_bucket{stage="prepare",le="+Inf"}'), 3)
  assert.ok(later.get('heddle_run_seconds_bucket{stage="item",le="60"}')! <= 4)
  // Admitted and given a place: two, then two of four; refusals have none.
  assert.equal(later.get('heddle_enqueue_seconds_count{stage="prepare"}'), 4)
  assert.ok(later.get('process_resident_memory_bytes')! > 0)
  assert.equal(later.get('heddle_requests_waiting'), 0)
  assert.deepEqual([...later.keys()], [...busy.keys()], 'the same series, whatever has happened')
})

test('S103 the number of series does not grow with jobs, handles or requests', async () => {
  const gate = new Gate('one')
  const other = new Gate('other')
  await using small = await startServer({ jobs: [gate.job], port: 0 })
  await using large = await startServer({ jobs: [gate.job, other.job], port: 0 })
  for (const input of [1, 2, 3]) await submit(large, 'other', input).reply
  assert.deepEqual([...(await scrape(large)).keys()], [...(await scrape(small)).keys()])
  for (let number = 1; number <= 3; number++) (await other.started(number)).finish(number)
  await quiet(large)
})
