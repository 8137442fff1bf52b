/** Reads by people do not hold up calls of workers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job, startRun } from '@heddle/core'
import { openJournal, systemKernel, type Journal } from '@heddle/core/lowlevel'
import { RunViews } from '../../src/runs/run-views.ts'
import { startServer } from '../../src/server.ts'
import { call } from '../support/client.ts'
import { beatOf, claimAs, holdAs } from './http-kit.ts'

const play = job({ name: 'play', place: 'fleet', module: import.meta.url }, () => null)

/** A journal whose reads of one run wait until the test lets them pass. */
function withSlowRun(journal: Journal, slow: string) {
  const gate = Promise.withResolvers<void>()
  let reads = 0
  const overview = async (id: string) => {
    if (id === slow) {
      reads++
      await gate.promise
    }
    return journal.overview(id)
  }
  const waiting = new Proxy(journal, {
    get: (target, name) => {
      if (name === 'overview') return overview
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  return { journal: waiting, open: gate.resolve, reads: () => reads }
}

test('S127: visitors of an old run whose rows the store does not deliver do not hold up beats', async () => {
  await using journal = await openJournal('memory')
  const slow = withSlowRun(journal, 'old')
  await using server = await startServer({ journal: slow.journal, port: 0 })
  await call(server, '/campaigns', { body: { name: 'match', job: 'play', units: 1_000 } })
  const held = await holdAs(server, 'worker-1')
  const visitors = Array.from({ length: 50 }, () => call(server, '/runs/old'))
  while (slow.reads() < visitors.length) await beatOf(server, held)
  for (let beat = 0; beat < 100; beat++) {
    const { status, body } = await beatOf(server, held)
    assert.deepEqual([status, body['lost']], [200, []])
  }
  slow.open()
  const answers = await Promise.all(visitors)
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([404]))
})

test('S127: the last old runs that visitors opened are kept, however many there are', async () => {
  await using journal = await openJournal('memory')
  const noop = job({ name: 'noop' }, () => null)
  const ids: string[] = []
  for (let number = 0; number < 20; number++) {
    const graph = new Graph()
    graph.add('noop', noop)
    const started = await startRun(graph, { journal })
    await started.result
    ids.push(started.id!)
  }
  let reads = 0
  const counted = new Proxy(journal, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (name === 'history') reads++
        return (value as (...given: unknown[]) => unknown).apply(target, args)
      }
    },
  })
  const views = new RunViews(counted, systemKernel.clock)
  const look = async (id: string): Promise<number> => {
    const before = reads
    await views.answer({ type: 'nodes', run: id, point: {}, from: 0, limit: 10 })
    return reads - before
  }
  for (const id of ids) assert.notEqual(await look(id), 0)
  assert.equal(await look(ids.at(-1)!), 0, 'the last one is kept')
  assert.notEqual(await look(ids[0]!), 0, 'the first one has made room')
})

test('S151: campaigns that are created and stopped while workers claim, beat and pages poll cause no internal error', async () => {
  await using server = await startServer({ jobs: [play], port: 0, limits: { loopGap: Infinity } })
  const statuses = new Map<number, number>()
  const note = ({ status }: { readonly status: number }): void => {
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  let isOver = false
  const steer = async (number: number): Promise<void> => {
    for (let round = 0; round < 10; round++) {
      const body = { name: `c${number}-${round}`, job: 'play', units: 100 }
      const made = await call(server, '/campaigns', { body })
      note(made)
      const path = `/campaigns/${String(made.body['id'])}`
      note(await call(server, `${path}/pause`, { body: {} }))
      note(await call(server, `${path}/resume`, { body: {} }))
      note(await call(server, `${path}/stop`, { body: {} }))
    }
  }
  const work = async (id: string): Promise<void> => {
    while (!isOver) {
      const claimed = await claimAs(server, id)
      note(claimed)
      const offer = claimed.body['offer'] as { lease: string; epoch: number } | undefined
      if (offer === undefined) continue
      const named = { lease: offer.lease, epoch: offer.epoch, worker: id }
      note(await call(server, '/fleet/accept', { body: named }))
      note(await beatOf(server, named))
      const report = { ...named, sequence: 1, done: 1, result: null }
      note(await call(server, '/fleet/update', { body: report }))
      note(
        await call(server, '/fleet/fail', { body: { ...named, stage: 'hand_back', message: '' } }),
      )
    }
  }
  const poll = async (): Promise<void> => {
    while (!isOver) {
      for (const path of ['/campaigns', '/fleet/summary?workers=100', '/fleet/workers', '/runs']) {
        note(await call(server, path))
      }
    }
  }
  const others = [...Array.from({ length: 8 }, (_, id) => work(`worker-${id}`)), poll()]
  await Promise.all(Array.from({ length: 5 }, (_, number) => steer(number)))
  isOver = true
  await Promise.all(others)
  const internal = [...statuses].filter(([status]) => status >= 500)
  assert.deepEqual(internal, [])
  assert.ok(statuses.get(201) === 50, JSON.stringify([...statuses]))
})

test('the list of workers shows one that runs a job', async () => {
  await using server = await startServer({ jobs: [play], port: 0, limits: { loopGap: Infinity } })
  await call(server, '/jobs/play', { body: 1 })
  const { body } = await claimAs(server, 'worker-1', 25_000)
  const { lease } = body['offer'] as { lease: string }
  const shown = await call(server, '/fleet/workers')
  const [worker] = shown.body['workers'] as { work: { lease: string; of: string | null }[] }[]
  assert.deepEqual(
    worker?.work.map(({ lease: id, of }) => [id, of]),
    [[lease, null]],
  )
})
