/** J3: a quick answer at priority 0, and the whole computation at priority 3 five seconds later. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { job } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { serveJob, startServer, type Server, type ServerLimits } from '../../src/index.ts'
import { Gate } from '../support/gates.ts'
import { compute, quiet } from '../support/http.ts'
import { call } from '../support/client.ts'
import { until } from '../../../core/test/kernel/until.ts'

const whole = 100

interface Stage extends AsyncDisposable {
  readonly server: Server
  readonly clock: VirtualClock
  readonly gate: Gate<number>
}

async function open(limits: ServerLimits = {}): Promise<Stage> {
  const clock = new VirtualClock()
  const gate = new Gate<number>('plot')
  const plot = serveJob({
    name: 'plot',
    prepare: gate.job,
    superset: { same: () => 'plot', size: (n: number) => n },
    prefetch: { input: (n: number) => (n < whole ? whole : undefined) },
  })
  const server = await startServer({
    jobs: [plot],
    port: 0,
    kernel: { clock, random: seededRandom(1) },
    limits: { loopGap: Infinity, ...limits },
  })
  return {
    server,
    clock,
    gate,
    async [Symbol.asyncDispose]() {
      gate.finishAll()
      let isOver = false
      const stopped = server[Symbol.asyncDispose]().then(() => (isOver = true))
      while (!isOver) {
        await clock.advance(1_000)
        await turn()
      }
      await stopped
    },
  }
}

/** A quick request, which is answered. */
async function quick({ server, gate }: Stage, n: number, query = 'priority=0'): Promise<void> {
  const before = gate.starts.length
  const asked = compute(server, 'plot', n, { query })
  const { finish } = await gate.started(before + 1)
  finish(n)
  assert.equal((await asked.reply).body['result'], n)
  await quiet(server)
}

test('J3 P1 the whole computation starts at priority 3 after five seconds, once, and answers the next request', async () => {
  await using stage = await open()
  const { server, clock, gate } = stage
  await quick(stage, 50)
  await clock.advance(4_999)
  await turn()
  assert.equal(gate.starts.length, 1)
  await clock.advance(1)
  const { input, finish } = await gate.started(2)
  assert.equal(input, whole)
  const { body } = await call(server, '/computations')
  const [found] = body['computations'] as { priority: number; held: boolean }[]
  assert.deepEqual([found!.priority, found!.held], [3, true])
  finish(whole)
  await quiet(server)
  // P4: the whole one answers for all.
  assert.equal((await compute(server, 'plot', 70).reply).body['result'], whole)
  assert.equal(gate.starts.length, 2)
  assert.equal(server.stats().prefetch.started, 1)
})

test('J3 only requests of priority 0 are followed by a prefetch, and only where there is something to compute', async () => {
  await using stage = await open()
  await quick(stage, 10, 'priority=1')
  await quick(stage, whole)
  await stage.clock.advance(60_000)
  await turn()
  assert.equal(stage.gate.starts.length, 2)
  const { started, known, refused, dropped } = stage.server.stats().prefetch
  assert.deepEqual([started, known, refused, dropped], [0, 0, 0, 0])
})

test('P1 a result requested in the meantime is known, and not computed twice', async () => {
  await using stage = await open()
  const { server, clock, gate } = stage
  await quick(stage, 50)
  const own = compute(server, 'plot', whole)
  await gate.started(2)
  await clock.advance(5_000)
  await until(() => server.stats().prefetch.known === 1)
  gate.finishAll()
  await own.reply
  assert.equal(gate.starts.length, 2)
})

test('P2 at overload it is refused, and in a drain it is dropped: both are counted', async () => {
  {
    await using stage = await open({ prepareCapacity: 1 })
    const { server, clock, gate } = stage
    await quick(stage, 50)
    // The only seat is taken.
    const other = compute(server, 'plot', 200)
    await gate.started(2)
    await clock.advance(5_000)
    await until(() => server.stats().prefetch.refused === 1)
    gate.finishAll()
    await other.reply
  }
  const stage = await open()
  await quick(stage, 50)
  await stage[Symbol.asyncDispose]()
  assert.deepEqual([stage.gate.starts.length, stage.server.stats().prefetch.dropped], [1, 1])
})

test('a job whose prefetch function fails still answers', async () => {
  const lines: string[] = []
  const square = serveJob({
    name: 'square',
    prepare: job({ name: 'square' }, (n: number) => n * n),
    prefetch: {
      input: () => {
        throw new Error('no idea')
      },
    },
  })
  await using server = await startServer({
    jobs: [square],
    port: 0,
    limits: { loopGap: Infinity },
    onLog: ({ text }) => lines.push(text),
  })
  const { body } = await compute(server, 'square', 7, { query: 'priority=0' }).reply
  assert.equal(body['result'], 49)
  assert.deepEqual(lines, ['square does not say what to compute ahead: no idea'])
})
