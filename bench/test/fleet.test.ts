import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { DueHeap } from '../suites/fleet/due-heap.ts'
import { Latency } from '../suites/fleet/latency.ts'
import { Load } from '../suites/fleet/load.ts'
import { LoadedServer } from '../suites/fleet/server-process.ts'
import { runScenario, type Scenario, type ScenarioReport } from '../suites/fleet/scenario.ts'

test('the heap returns the earliest due item first, whatever the order of the pushes', () => {
  const heap = new DueHeap<{ due: number }>()
  const times = Array.from({ length: 500 }, (_, index) => (index * 7919) % 503)
  for (const due of times) heap.push({ due })
  const popped: number[] = []
  for (let item = heap.pop(); item !== undefined; item = heap.pop()) popped.push(item.due)
  assert.deepEqual(
    popped,
    times.toSorted((a, b) => a - b),
  )
})

test('the histogram is right to 4 %', () => {
  const latency = new Latency()
  for (let ms = 1; ms <= 1_000; ms++) latency.add(ms)
  const { p50, p99, max, count } = latency.figures()
  assert.ok(Math.abs(p50 - 500) <= 20 && Math.abs(p99 - 990) <= 40, `${p50}, ${p99}`)
  assert.deepEqual([max, count], [1_000, 1_000])
})

test('G1: a report whose answer was lost is sent again unchanged, before anything else of its worker', async () => {
  const first = new Map<string, string>()
  const changed: string[] = []
  const answers: Record<string, object> = {
    '/fleet/claim': { offer: { lease: 'l', epoch: 1, work: { start: 0, size: 8 } } },
    '/fleet/accept': { next_beat_ms: 120_000 },
    '/fleet/beat': { lost: [], next_beat_ms: 120_000 },
  }
  // Counts the first report of each worker and breaks the connection before it answers.
  const answer = (
    request: http.IncomingMessage,
    response: http.ServerResponse,
    body: string,
  ): void => {
    const { worker } = JSON.parse(body) as { worker: string }
    if (request.url === '/fleet/update') {
      const before = first.get(worker)
      if (before === undefined) {
        first.set(worker, body)
        return void request.socket.destroy()
      }
      if (before === body) first.set(worker, 'answered')
      else if (before !== 'answered') changed.push(`${before} became ${body}`)
    }
    response.end(JSON.stringify(answers[request.url ?? ''] ?? { closed: true }))
  }
  const server = http.createServer((request, response) => {
    text(request).then(
      (body) => answer(request, response, body),
      () => undefined,
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  // An update is due after 13 ms, the last report after 18 ms, and a call is repeated after up to 200 ms.
  const load = new Load({
    workers: 20,
    speed: 100_000,
    servers: [{ host: '127.0.0.1', port }],
    ramp: 0,
  })
  load.start()
  try {
    while (first.size < 20 || [...first.values()].some((body) => body !== 'answered')) {
      if (changed.length > 0) break
      await once(server, 'request')
    }
    assert.deepEqual(changed, [])
  } finally {
    load.stop()
    server.closeAllConnections()
    server.close()
  }
})

async function play(more: Partial<Scenario>): Promise<ScenarioReport> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-load-'))
  try {
    const scenario: Scenario = {
      workers: 50,
      speed: 400,
      store: `sqlite:${path.join(folder, 'store.db')}`,
      ramp: 0.5,
      seconds: 6,
      servers: 1,
      kill: 0,
      restart: false,
      slow: 0,
      longpoll: 0,
      ...more,
    }
    return await runScenario(scenario, () => undefined)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

class DeafServer extends LoadedServer {
  isEnded = false

  start(): Promise<this> {
    return new Promise(() => undefined)
  }

  usage(): Promise<never> {
    return Promise.reject(new Error('it does not listen'))
  }

  async kill(): Promise<void> {
    this.isEnded = true
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill()
  }
}

test('a scenario that does not end is an error that names its phase, and its servers are ended', async () => {
  const server = new DeafServer()
  await assert.rejects(
    play({ peer: () => server, limit: 10 }),
    /^Error: starting the servers: the scenario took longer than 0 s$/,
  )
  assert.ok(server.isEnded)
})

test('S147 S148: both sides agree on leases and units, no call fails, no lease is lost', async () => {
  const report = await play({ longpoll: 5, slow: 3 })
  const { ramp, steady, isEqual } = report
  // Later one of them may just be between two leases.
  assert.equal(ramp.held, 50)
  assert.deepEqual([isEqual, steady.errors, steady.lost], [true, 0, 0], JSON.stringify(report))
  assert.ok(steady.requests > 0 && report.cpuUsPerRequest > 0)
})

test('S100: kill -9 of the server, restart after 5 s: every lease continues, none is lost', async () => {
  const { steady, isEqual, returned, ...rest } = await play({
    restart: true,
    kill: 0.3,
    seconds: 10,
  })
  const seen = JSON.stringify({ held: steady.held, units: steady.units, ...rest })
  assert.deepEqual([isEqual, steady.lost], [true, 0], seen)
  assert.ok(returned !== undefined && returned.workers > 0)
})
