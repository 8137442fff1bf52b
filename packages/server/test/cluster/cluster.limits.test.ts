/** A limit of all servers, with servers that are processes of their own: core/src/capacity/cluster-limits.ts. */
import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { after, before, test, type TestContext } from 'node:test'
import { job } from '@heddle/core'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import type { Server } from '../../src/server.ts'
import { call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { reach } from '../../../core/test/kernel/until.ts'
import { clusterOf, startPair } from './support/two-servers.ts'

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

let schemas = 0
const newStore = (): string => `${postgres.address}?schema=limits_${++schemas}`

const limit = 3
const jobs = 24

/** A server in a process of its own, and its jobs. */
class ServerProcess {
  readonly child: ChildProcess
  readonly ready: Promise<void>
  /** Inputs of attempts that run, the oldest first. */
  readonly running: number[] = []
  readonly host = '127.0.0.1'
  port = 0

  constructor(store: string, onStarted: () => void) {
    const file = fileURLToPath(new URL('fixtures/limited-server.ts', import.meta.url))
    this.child = fork(file, [store, String(limit)], {
      execArgv: ['--conditions=heddle-source', '--disable-warning=ExperimentalWarning'],
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    this.ready = promise
    this.child.on('message', (message: { readonly port?: number; readonly started?: number }) => {
      if (message.port !== undefined) {
        this.port = message.port
        resolve()
      }
      if (message.started === undefined || this.child.killed) return
      this.running.push(message.started)
      onStarted()
    })
  }

  /** Counted as ended from here on: whatever starts because of it starts later. */
  finish(): void {
    this.child.send({ finish: this.running.shift()! })
  }

  kill(): void {
    this.running.length = 0
    this.child.kill('SIGKILL')
  }

  async lapses(): Promise<number> {
    const { limits } = await clusterOf(this as unknown as Server)
    return limits['license']!.lapses
  }
}

/** The most attempts that ran at a time, and how often a server was not sure of its share because the machine was too busy. */
async function runUntilKilled(t: TestContext): Promise<{ most: number; lapses: number }> {
  const store = newStore()
  let most = 0
  let started = Promise.withResolvers<void>()
  const servers: ServerProcess[] = []
  const onStarted = (): void => {
    const running = servers.reduce((sum, server) => sum + server.running.length, 0)
    most = Math.max(most, running)
    started.resolve()
    started = Promise.withResolvers()
  }
  const [one, two] = [new ServerProcess(store, onStarted), new ServerProcess(store, onStarted)]
  servers.push(one, two)
  t.after(() => servers.forEach(({ child }) => child.kill('SIGKILL')))
  await Promise.all([one.ready, two.ready])
  const shardsOf = async (server: ServerProcess): Promise<number> =>
    (await clusterOf(server as unknown as Server)).shards
  // Each has jobs of its own.
  await reach(
    async () => [await shardsOf(one), await shardsOf(two)] as const,
    (found) => found.every((shards) => shards === 128),
  )
  const handles: string[] = []
  for (let n = 0; n < jobs; n++) {
    const { body } = await reach(
      () => call(n % 2 === 0 ? one : two, '/jobs/work', { body: n }),
      ({ status }) => status === 202,
    )
    handles.push(String(body['handle']))
  }
  const until = async (isReached: () => boolean): Promise<void> => {
    while (!isReached()) await started.promise
  }
  await until(() => one.running.length + two.running.length === limit)
  // Whichever server was first gives the other one its part.
  while (one.running.length === 0 || two.running.length === 0) {
    const next = started.promise
    ;(one.running.length > 0 ? one : two).finish()
    await next
  }
  let lapses = await one.lapses()
  one.kill()
  await once(one.child, 'exit')
  // The other one uses the whole limit.
  await until(() => two.running.length === limit)
  const results = handles.map((handle) => call(two, `/results/${handle}/0?wait=120000`))
  let isOver = false
  const all = Promise.all(results).finally(() => {
    isOver = true
    started.resolve()
  })
  while (!isOver) {
    const next = started.promise
    if (two.running.length > 0) two.finish()
    else await next
  }
  for (const [n, { status, body }] of (await all).entries()) {
    assert.deepEqual([status, body['result']], [200, n * 2])
  }
  lapses += await two.lapses()
  two.kill()
  await once(two.child, 'exit')
  return { most, lapses }
}

test("scope: 'cluster': never more attempts than the limit, over kill -9; the other server then uses the whole limit", async (t) => {
  // Where the machine stands still for seconds, servers lose their shares by the rules, and their attempts continue (C9): such a run proves nothing.
  for (let attempt = 0; attempt < 5; attempt++) {
    const { most, lapses } = await runUntilKilled(t)
    if (most === limit) return
    t.diagnostic(`${most} at a time; a share was in doubt ${lapses} times`)
    assert.ok(most > limit && lapses > 0, `${most} at a time`)
  }
  assert.fail('the servers were never sure of their shares')
})

test("scope: 'cluster': /computations says why a job waits, and /healthz what each server has", async () => {
  const gates = { one: new Gate<number>('work'), two: new Gate<number>('work') }
  const limited = (place: 'one' | 'two') =>
    job({ name: 'work', needs: { license: 1 } }, gates[place].job.run)
  await using pair = await startPair({
    store: newStore(),
    jobs: (place) => [limited(place)],
    limits: { prepareCapacity: 64, resources: { license: { permits: 1, scope: 'cluster' } } },
  })
  for (let n = 0; n < jobs; n++) {
    assert.equal((await call(pair.one, '/jobs/work', { body: n })).status, 202)
  }
  const expected = [
    "a permit of license: 1 of 1 are in use; this server has 1 of the cluster's 1, 1 other server has 0",
    "a permit of license: this server has 0 of the cluster's 1, 1 other server has 1",
  ]
  // Both servers list the waiting computations of either.
  await reach(
    async () => {
      const { body } = await call(pair.one, '/computations')
      const listed = body['computations'] as readonly { readonly waits_for?: string }[]
      return new Set(listed.map(({ waits_for }) => waits_for))
    },
    (reasons) => expected.every((reason) => reasons.has(reason)),
  )
  const { limits } = await clusterOf(pair.one)
  assert.equal(limits['license']?.limit, 1)
  const finish = (): void => {
    gates.one.finishAll()
    gates.two.finishAll()
  }
  await reach(
    async () => {
      finish()
      return (await clusterOf(pair.one)).open_jobs + (await clusterOf(pair.two)).open_jobs
    },
    (open) => open === 0,
  )
})
