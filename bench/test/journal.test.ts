import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { RowResult } from '../harness/row.ts'
import * as ours from '../ours/journal.ts'
import { openFlow } from '../ours/journaled-run.ts'
import { random, type Shape } from '../suites/engine/shapes.ts'
import type { OpenQueue } from '../suites/journal/contract.ts'
import * as floor from '../suites/journal/floor.ts'
import { openQueueFlow, playOnLedger } from '../suites/journal/flow.ts'
import { queueContender } from '../suites/journal/queue-contender.ts'
import { suite } from '../suites/journal/suite.ts'
import { Tally } from '../suites/journal/tally.ts'
import { takeOwnLock } from './own-lock.ts'

takeOwnLock()

const main = fileURLToPath(new URL('../main.ts', import.meta.url))

test('one row of the journal: ours and the floor are played, a peer without its server is null', async () => {
  const nowhere = mkdtempSync(path.join(os.tmpdir(), 'heddle-bench-test-'))
  try {
    const args = ['journal', '--json', '--quick', '--offline', '--only', 'fsync, 64 in flight']
    const against = ['--against', 'floor', '--against', 'bullmq']
    const rows = await bench([...args, ...against], { HEDDLE_BENCH_SERVERS: nowhere })
    assert.deepEqual(
      rows.map(({ name, unit, better }) => [name, unit, better]),
      [
        ['fsync, 64 in flight', 'transitions/s', 'more'],
        ['fsync, 64 in flight: p50', 'µs', 'less'],
        ['fsync, 64 in flight: p99', 'µs', 'less'],
      ],
    )
    for (const row of rows) {
      for (const figure of [row.ours, row.floor, row.floorRatio, row.loopGapMs, row.rssMb]) {
        assert.ok(typeof figure === 'number' && figure >= 0, `${row.name}: ${figure} is a figure`)
      }
      assert.deepEqual(row.peers, { bullmq: null })
      assert.equal(row.ratio, null)
      assert.match(
        row.notes.join(),
        /bullmq was not played: .*(redis-server|peers are not installed)/,
      )
    }
  } finally {
    rmSync(nowhere, { recursive: true })
  }
})

function bench(args: readonly string[], variables: Record<string, string>): Promise<RowResult[]> {
  return new Promise((resolve, reject) => {
    const options = { env: { ...process.env, ...variables } }
    execFile(
      process.execPath,
      ['--conditions=heddle-source', main, ...args],
      options,
      (error, stdout, stderr) => {
        if (error === null) resolve(JSON.parse(stdout) as RowResult[])
        else reject(new Error(stderr, { cause: error }))
      },
    )
  })
}

test('every row has our entrant and the floor; every peer lists its requirements', () => {
  for (const { entrants } of suite.rows) {
    const roles = Object.values(entrants).map(({ role }) => role)
    assert.equal(roles.filter((role) => role === 'ours').length, 1)
    assert.equal(roles.filter((role) => role === 'floor').length, 1)
    for (const { role, needs = [] } of Object.values(entrants)) {
      assert.equal(needs.includes('peers'), role === 'peer')
    }
  }
})

test('a tally takes the rate until the last acknowledgement, and percentiles of the waits', () => {
  const tally = new Tally(0)
  for (let wait = 1; wait <= 100; wait++) tally.acknowledge(3, performance.now() - wait)
  assert.ok(tally.isOver)
  const { value, also } = tally.figures()
  assert.ok(value > 0)
  assert.ok(also['p50']! >= 51_000 && also['p50']! < also['p99']!, JSON.stringify(also))
  assert.ok(also['p99']! >= 100_000)
})

/** A queue that has its jobs done a turn later, and records its calls. */
function fakeQueue(): { open: OpenQueue; calls: number[][]; peak: () => number } {
  const calls: number[][] = []
  let open = 0
  let peak = 0
  return {
    calls,
    peak: () => peak,
    open: ({ run, onDone }) =>
      Promise.resolve({
        transitions: 3,
        add: (jobs) => {
          calls.push([...jobs])
          open += jobs.length
          peak = Math.max(peak, open)
          setImmediate(() => {
            for (const job of jobs) {
              run(job)
              open--
              onDone(job)
            }
          })
          return Promise.resolve()
        },
      }),
  }
}

test('jobs are added in groups, each once, and never more than the limit at a time', async () => {
  const queue = fakeQueue()
  const contender = await queueContender(queue.open, 'fsync', 16)
  const play = await contender.prepare(5)
  await play(() => {})
  const jobs = queue.calls.flat()
  assert.deepEqual(jobs, [...jobs.keys()])
  assert.equal(queue.calls[0]!.length, 16)
  assert.equal(queue.peak(), 16)
})

test('a job that is done without having run fails the round', async () => {
  const broken: OpenQueue = ({ onDone }) =>
    Promise.resolve({
      transitions: 3,
      add: (jobs) => {
        setImmediate(() => onDone(jobs[0]!))
        return Promise.resolve()
      },
    })
  const contender = await queueContender(broken, 'fsync', 1)
  const play = await contender.prepare(5)
  await assert.rejects(
    play(() => {}),
    /done and has not run/,
  )
})

test('a flow adds a job after its dependencies, with at most the limit at a time', async () => {
  const queue = fakeQueue()
  const play = await openQueueFlow(queue.open, 'fsync', 8)
  const shape = random(100)
  await play(shape)
  await play(shape)
  assert.ok(queue.peak() <= 8)
  checkOrder(shape, queue.calls.flat().slice(0, 100))
  checkOrder(
    shape,
    queue.calls
      .flat()
      .slice(100)
      .map((job) => job - 100),
  )
})

function checkOrder(shape: Shape, order: readonly number[]): void {
  const seen = new Set<number>()
  for (const node of order) {
    for (const dependency of shape.after[node]!) assert.ok(seen.has(dependency))
    seen.add(node)
  }
  assert.equal(seen.size, shape.names.length)
}

const ledgers = {
  heddle: { open: ours.ledger, scheme: 'sqlite:' },
  floor: { open: floor.ledger, scheme: '' },
}

for (const [name, { open, scheme }] of Object.entries(ledgers)) {
  for (const durability of ['fsync', 'process'] as const) {
    test(`${name} has written a ${durability} commit when it says so`, async () => {
      await inFolder(async (folder) => {
        const file = path.join(folder, 'journal.db')
        const ledger = await open(scheme + file, durability)
        ledger.append('a', 0)
        await Promise.all([ledger.commit('b', 0), ledger.commit('a', 1)])
        await ledger.commit('a', 2)
        using database = new DatabaseSync(file, { readOnly: true })
        const rows = database.prepare('SELECT node FROM history WHERE node IS NOT NULL').all()
        assert.deepEqual(
          rows.map(({ node }) => node),
          ['a', 'b', 'a', 'a'],
        )
        await ledger[Symbol.asyncDispose]()
      })
    })
  }
}

test('the floor of a flow starts a node when its dependencies are durable', async () => {
  const shape = random(50)
  const durable: string[] = []
  await playOnLedger(shape, {
    append: () => {},
    commit: async (node, step) => {
      await Promise.resolve()
      if (step === 2) durable.push(node)
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  })
  checkOrder(
    shape,
    durable.map((name) => shape.names.indexOf(name)),
  )
})

test('ours runs a flow twice into one journal', async () => {
  await inFolder(async (folder) => {
    const file = path.join(folder, 'runs.db')
    await using flow = await openFlow(`sqlite:${file}`, 'process', 64)
    await flow.play(random(20))
    await flow.play(random(20))
    using database = new DatabaseSync(file, { readOnly: true })
    assert.deepEqual(database.prepare('SELECT count(*) AS runs FROM run').get()?.['runs'], 2)
  })
})

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-bench-test-'))
  try {
    await use(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}
