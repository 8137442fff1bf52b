import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { isError, job } from '@heddle/core'
import { openJournal } from '@heddle/core/lowlevel'
import { serveJob, type ItemInput, type ServedJob } from '../src/jobs/served-job.ts'
import { startServer, type Server, type ServerLimits, type ServerLog } from '../src/server.ts'
import { begin, call } from './support/client.ts'
import { Gate } from './support/gates.ts'
import { told } from './support/told.ts'
import { until } from '../../core/test/kernel/until.ts'

/** A store that outlives servers. */
class Place implements Disposable {
  readonly folder: string = mkdtempSync(path.join(os.tmpdir(), 'heddle-server-'))
  readonly logs: ServerLog[] = []

  get store(): string {
    return `sqlite:${path.join(this.folder, 'serve.db')}`
  }

  start(jobs: readonly unknown[], limits: ServerLimits = {}): Promise<Server> {
    const { store } = this
    const onLog = (line: ServerLog): void => void this.logs.push(line)
    // The machine may hold up the loop: that is a line of its own.
    const all = { loop: 2, loopGap: Infinity, ...limits }
    return startServer({ jobs, store, port: 0, threads: 2, limits: all, onLog })
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Three results of two stages; counts its computations. */
function counting(): { served: ServedJob; computed: string[] } {
  const computed: string[] = []
  const prepare = job({ name: 'prepare' }, (text: string) => {
    computed.push('prepare')
    return text.toUpperCase()
  })
  const item = job({ name: 'item' }, ({ prepared, index }: ItemInput<string>) => {
    computed.push(`item ${index}`)
    return `${prepared} ${index}`
  })
  return { served: serveJob({ name: 'double', prepare, item, total: 3 }), computed }
}

test('S30 results survive a restart: nothing is computed again', async () => {
  using place = new Place()
  let handle = ''
  {
    const { served, computed } = counting()
    await using server = await place.start([served])
    const { body } = await call(server, '/jobs/double?wait=60000', { body: 'a' })
    handle = String(body['handle'])
    await until(() => server.stats().works === 0)
    assert.deepEqual(computed.toSorted(), ['item -1', 'item -2', 'item 0', 'prepare'])
  }
  const { served, computed } = counting()
  await using server = await place.start([served])
  for (const index of [0, -1, -2]) {
    const { status, body } = await call(server, `/results/${handle}/${index}`)
    assert.deepEqual([status, body['result'], body['total']], [200, `A ${index}`, 3])
  }
  const again = await call(server, '/jobs/double', { body: 'a' })
  assert.deepEqual([again.body['handle'], again.body['state']], [handle, 'done'])
  assert.deepEqual(computed, [])
})

test('W5 acknowledged work that a drain cut off is done after the next start, even more than there are seats', async () => {
  using place = new Place()
  const handles: string[] = []
  {
    const gate = new Gate<number>('work')
    await using server = await place.start([gate.job])
    for (let n = 0; n < 8; n++) {
      const { status, body } = await call(server, '/jobs/work', { body: n })
      assert.equal(status, 202)
      handles.push(String(body['handle']))
    }
    await gate.started(2)
    assert.deepEqual(await server.drain({ deadline: 0 }), { isClean: false })
  }
  const gate = new Gate<number>('work')
  await using server = await place.start([gate.job], { prepareCapacity: 3, loop: 1 })
  // Known at once, even without a seat.
  for (const handle of handles) {
    const { status, body } = await call(server, `/results/${handle}/0`)
    assert.deepEqual([status, body['state']], [202, 'pending'])
    assert.equal((await call(server, `/results/${handle}/-1`)).status, 400)
  }
  const waits = handles.map((handle) => begin(server, `/results/${handle}/0?wait=600000`))
  for (let count = 1; count <= handles.length; count++) {
    const { input, finish } = await gate.started(count)
    // Oldest first, as they were acknowledged.
    assert.equal(input, count - 1)
    finish(`done ${input}`)
  }
  for (const [n, { reply }] of waits.entries())
    assert.equal((await reply).body['result'], `done ${n}`)
  assert.match(place.logs[0]!.text, /^Resuming 8 acknowledged requests/)
  assert.deepEqual(await server.drain(), { isClean: true })
})

test('W2 a drain while some jobs have no seat yet: waiting callers are answered, and the rest is still there', async () => {
  using place = new Place()
  const first = new Gate<number>('work')
  const before = await place.start([first.job])
  for (let n = 0; n < 5; n++) await call(before, '/jobs/work', { body: n })
  const { body } = await call(before, '/jobs/work', { body: 4 })
  await before.drain({ deadline: 0 })

  const second = new Gate<number>('work')
  const between = await place.start([second.job], { prepareCapacity: 2, loop: 1 })
  await second.started()
  const waits = begin(between, `/results/${String(body['handle'])}/0?wait=600000`)
  // It waits: a request that came after it has been answered.
  await call(between, '/healthz')
  const drained = between.drain({ deadline: 0 })
  const { status, body: answer } = await waits.reply
  assert.deepEqual([status, answer.error?.code], [503, 'shutting_down'])
  assert.deepEqual(await drained, { isClean: false })

  const third = new Gate<number>('work')
  await using last = await place.start([third.job])
  for (let count = 1; count <= 5; count++) (await third.started(count)).finish('done')
  const end = await call(last, `/results/${String(body['handle'])}/0?wait=600000`)
  assert.equal(end.body['result'], 'done')
})

test('W5 a drain that leaves acknowledged work without a seat is not clean, though all that has one ends', async () => {
  using place = new Place()
  const first = new Gate<number>('work')
  const before = await place.start([first.job])
  for (let n = 0; n < 5; n++) await call(before, '/jobs/work', { body: n })
  await before.drain({ deadline: 0 })

  const second = new Gate<number>('work')
  const between = await place.start([second.job], { prepareCapacity: 2, loop: 1 })
  await second.started()
  const drained = told(between.drain({ deadline: Infinity }))
  await until(() => {
    second.finishAll()
    return drained.state !== 'pending'
  })
  assert.deepEqual(drained.value, { isClean: false })
  assert.ok(second.starts.length < 5)

  const third = new Gate<number>('work')
  const last = await place.start([third.job])
  const left = 5 - second.starts.length
  for (let count = 1; count <= left; count++) (await third.started(count)).finish('done')
  assert.deepEqual(await last.drain(), { isClean: true })
  assert.equal(third.starts.length, left)
})

test('work that a drain has cut off has not failed: the journal shows that it was interrupted, and that it was done', async () => {
  using place = new Place()
  const states = async (): Promise<unknown> => {
    await using journal = await openJournal(place.store, { readOnly: true })
    const [run] = await journal.runs()
    const { state, nodes } = await journal.snapshot(run!.id)
    return [state, nodes.map((node) => [node.name, node.state, node.errors.length])]
  }
  const said = Promise.withResolvers<void>()
  let isAgain = false
  const talk = job({ name: 'talk' }, async (_: unknown, { log, signal }) => {
    log('here I am')
    said.resolve()
    if (!isAgain) await new Promise((_done, stop) => signal.addEventListener('abort', stop))
    return 'done'
  })
  const first = await place.start([talk])
  const { body } = await call(first, '/jobs/talk', { body: 1 })
  await said.promise
  await first.drain({ deadline: 0 })
  assert.deepEqual(await states(), [
    'interrupted',
    [
      ['input', 'succeeded', 0],
      ['prepare', 'waiting', 0],
    ],
  ])
  isAgain = true
  const second = await place.start([talk])
  await call(second, `/results/${String(body['handle'])}/0?wait=600000`)
  assert.deepEqual(await second.drain(), { isClean: true })
  assert.deepEqual(await states(), [
    'finished',
    [
      ['input', 'succeeded', 0],
      ['prepare', 'succeeded', 0],
    ],
  ])
})

test('a job that is no longer served: reported to the operator, kept for the next start', async () => {
  using place = new Place()
  const gate = new Gate<number>('work')
  const first = await place.start([gate.job])
  const { body } = await call(first, '/jobs/work', { body: 1 })
  await first.drain({ deadline: 0 })
  {
    await using without = await place.start([job({ name: 'other' }, () => 1)])
    await until(() => place.logs.some(({ level }) => level === 'warning'))
    assert.match(place.logs.at(-1)!.text, /could not be resumed: no server has "work"/)
    assert.equal((await call(without, `/results/${String(body['handle'])}/0`)).status, 410)
  }
  const again = new Gate<number>('work')
  await using server = await place.start([again.job])
  ;(await again.started()).finish('done')
  const { status } = await call(server, `/results/${String(body['handle'])}/0?wait=600000`)
  assert.equal(status, 200)
})

test('a port that is in use: nothing is left behind, acknowledged work is done by the server that can listen', async () => {
  using place = new Place()
  const gate = new Gate<number>('work')
  const first = await place.start([gate.job])
  const { body } = await call(first, '/jobs/work', { body: 1 })
  await first.drain({ deadline: 0 })
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const { store } = place
  await assert.rejects(startServer({ jobs: [gate.job], store, port }), (error) => {
    assert.ok(isError(error, 'HDL_CANNOT_LISTEN'))
    assert.match(
      error.message,
      new RegExp(`127.0.0.1, port ${port}: another program listens there`),
    )
    return true
  })
  other.close()
  const again = new Gate<number>('work')
  await using server = await place.start([again.job])
  ;(await again.started()).finish('done')
  const { status } = await call(server, `/results/${String(body['handle'])}/0?wait=600000`)
  assert.equal(status, 200)
})

test('S136 a second server on one store is refused with the name of the first, which continues', async () => {
  using place = new Place()
  const { served } = counting()
  await using server = await place.start([served])
  await assert.rejects(place.start([served]), (error) => {
    assert.ok(isError(error, 'HDL_LOCKED'))
    assert.match(error.details.holder, new RegExp(`pid ${process.pid}\\b`))
    return true
  })
  assert.equal((await call(server, '/jobs/double?wait=60000', { body: 'a' })).status, 200)
})

test('W5 started after the folder of the results was deleted: 410 for promised results, and they are computed again', async () => {
  using place = new Place()
  const first = counting()
  let handle = ''
  {
    await using server = await place.start([first.served])
    handle = String((await call(server, '/jobs/double', { body: 'a' })).body['handle'])
    const { status } = await call(server, `/results/${handle}/0?wait=600000`)
    assert.equal(status, 200)
    // A computation that is stopped in the middle is resumed by the next server: here it has finished.
    await until(() => server.stats().works === 0)
  }
  rmSync(path.join(place.folder, 'serve.results'), { recursive: true })
  const { served, computed } = counting()
  await using server = await place.start([served])
  assert.equal((await call(server, '/readyz')).status, 200)
  const gone = await call(server, `/results/${handle}/0`)
  assert.deepEqual([gone.status, gone.body.error?.code], [410, 'gone'])
  const again = await call(server, '/jobs/double?wait=600000', { body: 'a' })
  assert.deepEqual([again.status, again.body['result']], [200, 'A 0'])
  await until(() => server.stats().works === 0)
  assert.deepEqual(computed.toSorted(), ['item -1', 'item -2', 'item 0', 'prepare'])
})
