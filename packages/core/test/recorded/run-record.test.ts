import { build, goOn, node, tell, told, withFolder, zero, type Row, type Story } from './kit.ts'
import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { Graph, job, run as runGraph, startRun } from '../../src/index.ts'
import { openJournal, seededRandom, type RunWriter, type Transition } from '../../src/lowlevel.ts'
import { VirtualClock } from '../../src/testing.ts'
import { criticalPathOf } from '../../src/scheduler/recorded-times.ts'
import {
  queueTime,
  readRecord,
  runTime,
  timedNodes,
  type RunRecord,
} from '../../src/recorded/run-record.ts'

const now = zero + 5_000

function nodeOf(record: RunRecord, name: string): RunRecord['nodes'][number] {
  return record.nodes.find((each) => each.name === name)!
}

test('attempts have their waiting, running and back-off time, outcome and error', async () => {
  await using journal = await told(build)
  const record = await readRecord(journal, '20261115-224501-k3f9q2', { now, log: true })
  const lint = nodeOf(record, 'lint')
  assert.deepEqual(lint.attempts, [
    {
      number: 1,
      queuedAt: zero + 210,
      startedAt: zero + 310,
      endedAt: zero + 410,
      outcome: 'failed',
      error: { name: 'Error', message: 'busy' },
    },
    {
      number: 2,
      queuedAt: zero + 500,
      startedAt: zero + 510,
      endedAt: zero + 610,
      outcome: 'succeeded',
    },
  ])
  assert.equal(queueTime(lint, record.until), 110)
  assert.equal(runTime(lint), 200)
  assert.equal(lint.firstStartedAt, zero + 310)
  assert.equal(record.elapsed, 1_010)
  assert.deepEqual(record.log, [
    { node: 'fetch', attempt: 0, at: zero + 10, text: 'reading 3 pages' },
  ])
  assert.deepEqual(nodeOf(record, 'notify').attempts, [])
})

test('R2: an attempt of a live run lasts until now; a queue too', async () => {
  await using journal = await told({
    nodes: [node('a'), node('b')],
    rows: [
      [0, 'a', 'ready'],
      [0, 'b', 'ready'],
      [20, 'a', 'running'],
    ],
  })
  const record = await readRecord(journal, '20261115-224501-k3f9q2', { now })
  assert.equal(nodeOf(record, 'a').attempts[0]!.outcome, 'running')
  assert.equal(runTime(nodeOf(record, 'a')), 4_980)
  assert.equal(queueTime(nodeOf(record, 'b'), record.until), 5_000)
  assert.equal(record.elapsed, 5_000)
  assert.equal(timedNodes(record)[0]!.endedAt, undefined)
})

test('an interrupted attempt ends with its session, and the time until the resume belongs to no attempt', () =>
  withFolder(async (folder) => {
    const address = `sqlite:${path.join(folder, 'runs.db')}`
    const id = '20261115-224501-k3f9q2'
    {
      await using journal = await openJournal(address)
      await tell(journal, {
        nodes: [node('a'), node('b')],
        rows: [
          [0, 'a', 'ready'],
          [0, 'b', 'ready'],
          [10, 'a', 'running'],
          [10, 'b', 'running'],
          [60, 'b', 'succeeded'],
        ],
      })
    }
    {
      await using journal = await openJournal(address, { readOnly: true })
      const record = await readRecord(journal, id, { now })
      assert.equal(record.state, 'interrupted')
      assert.equal(record.elapsed, 60)
      assert.deepEqual(
        nodeOf(record, 'a').attempts.map(({ outcome, endedAt }) => [outcome, endedAt - zero]),
        [['interrupted', 60]],
      )
    }
    await using journal = await openJournal(address, {
      kernel: {
        clock: new VirtualClock({ wallTime: zero + 3_600_000 }),
        random: seededRandom(1),
      },
    })
    const writer = await journal.resumeRun(id, { pid: 2, host: 'loom', command: 'again' })
    await goOn(writer, [
      [3_600_000, 'a', 'ready'],
      [3_600_010, 'a', 'running'],
      [3_600_100, 'a', 'succeeded'],
      [3_600_100, 'finished'],
    ])
    const record = await readRecord(journal, id, { now })
    assert.equal(record.elapsed, 160)
    assert.deepEqual(
      record.sessions.map(({ by }) => by.pid),
      [4711, 2],
    )
    const a = nodeOf(record, 'a')
    assert.deepEqual(
      a.attempts.map(({ outcome }) => outcome),
      ['interrupted', 'succeeded'],
    )
    assert.equal(
      a.firstStartedAt,
      zero + 3_600_010,
      'the critical path begins with the new attempt',
    )
  }))

/** Tells a run whose process was killed or has ended, and what the next process made of it an hour later. */
async function toldTwice(
  nodes: Story['nodes'],
  first: (writer: RunWriter) => Promise<void>,
  second: (writer: RunWriter) => Promise<void>,
): Promise<RunRecord> {
  let record: RunRecord | undefined
  await withFolder(async (folder) => {
    const address = `sqlite:${path.join(folder, 'runs.db')}`
    {
      await using journal = await openJournal(address)
      await first(await tell(journal, { nodes, rows: [] }))
    }
    await using journal = await openJournal(address, {
      kernel: {
        clock: new VirtualClock({ wallTime: zero + 3_600_000 }),
        random: seededRandom(1),
      },
    })
    const holder = { pid: 2, host: 'loom', command: 'again' }
    await second(await journal.resumeRun('20261115-224501-k3f9q2', holder))
    record = await readRecord(journal, '20261115-224501-k3f9q2', { now })
  })
  return record!
}

/** A row of a part. */
function partRow(at: number, state: 'succeeded' | 'skipped', part: string): Transition {
  return { node: 'map', state, attempt: 0, at: zero + at, part: { path: part } }
}

const secondHour: readonly Row[] = [
  [3_600_010, 'map', 'running'],
  [3_600_060, 'map', 'succeeded'],
  [3_600_060, 'c', 'running'],
  [3_600_065, 'c', 'succeeded'],
  [3_600_065, 'finished'],
]

const ends: Readonly<Record<string, readonly Row[]>> = {
  'was cut off': [[50, 'map', 'log', 'half']],
  failed: [
    [50, 'map', 'failed', { error: 'no' }],
    [50, 'c', 'blocked', { blockedBy: 'map' }],
    [50, 'finished'],
  ],
  'was cancelled': [
    [50, 'map', 'cancelled', { error: 'no' }],
    [50, 'c', 'skipped'],
    [50, 'cancelled'],
  ],
}

for (const [how, rows] of Object.entries(ends)) {
  test(`a map that ${how} keeps its time: elements that had succeeded were not run again`, async () => {
    const record = await toldTwice(
      [{ ...node('map'), grows: 'map' }, node('c', 'map')],
      async (writer) => {
        await goOn(writer, [[10, 'map', 'running']])
        await writer.commit(partRow(30, 'succeeded', '[0]'), 1)
        await goOn(writer, rows)
      },
      (writer) => goOn(writer, secondHour),
    )
    assert.equal(nodeOf(record, 'map').keptTime, 40)
    const { length, path: chain } = await criticalPathOf(timedNodes(record))
    assert.deepEqual(chain, [
      { name: 'map', ms: 90 },
      { name: 'c', ms: 5 },
    ])
    assert.ok(length <= record.elapsed, `${length} of ${record.elapsed}`)
  })

  test(`a map that ${how} and whose elements are no longer valid starts again`, async () => {
    const record = await toldTwice(
      [{ ...node('map'), grows: 'map' }, node('c', 'map')],
      async (writer) => {
        await goOn(writer, [[10, 'map', 'running']])
        await writer.commit(partRow(30, 'succeeded', '[0]'), 1)
        await goOn(writer, rows)
      },
      async (writer) => {
        writer.append(partRow(3_600_000, 'skipped', ''))
        await goOn(writer, secondHour)
      },
    )
    assert.equal(nodeOf(record, 'map').keptTime, undefined)
    const { path: chain } = await criticalPathOf(timedNodes(record))
    assert.deepEqual(chain[0], { name: 'map', ms: 50 })
  })
}

test('a job without parts that failed starts again: its first try is not a part of its time', async () => {
  const record = await toldTwice(
    [node('map'), node('c', 'map')],
    (writer) => goOn(writer, [[10, 'map', 'running'], ...ends['failed']!]),
    (writer) => goOn(writer, secondHour),
  )
  assert.equal(nodeOf(record, 'map').keptTime, undefined)
})

test('a sub-graph that was cut off has the time of its last builder, and its nodes have their own', async () => {
  const record = await toldTwice(
    [{ ...node('a'), grows: 'subgraph' }, { ...node('a/b'), parent: 'a' }, node('c', 'a')],
    (writer) =>
      goOn(writer, [
        [10, 'a', 'running'],
        [20, 'a/b', 'running'],
        [50, 'a/b', 'log', 'half'],
      ]),
    (writer) =>
      goOn(writer, [
        [3_600_010, 'a', 'running'],
        [3_600_020, 'a/b', 'running'],
        [3_600_050, 'a/b', 'succeeded'],
        [3_600_060, 'a', 'succeeded'],
        [3_600_060, 'c', 'running'],
        [3_600_065, 'c', 'succeeded'],
        [3_600_065, 'finished'],
      ]),
  )
  const { length, path: chain } = await criticalPathOf(timedNodes(record))
  assert.deepEqual(chain, [
    { name: 'a', ms: 20 },
    { name: 'a/b', ms: 30 },
    { name: 'c', ms: 5 },
  ])
  assert.ok(length <= record.elapsed, `${length} of ${record.elapsed}`)
})

test('a map that failed and was resumed has one duration and one critical path, with the time before', async () => {
  const clock = new VirtualClock({ wallTime: zero })
  const kernel = { clock, random: seededRandom(1) }
  await using journal = await openJournal('memory', { kernel })
  let isBroken = true
  const make = (): Graph => {
    const graph = new Graph()
    const slow = job({ name: 'slow' }, async (n: number) => {
      await new Promise<void>((done) => clock.setTimer(10, done))
      if (n === 3 && isBroken) throw new Error('no')
    })
    graph.map('all', slow, { over: () => [1, 2, 3, 4], window: 1 })
    return graph
  }
  const first = await clock.runUntil(runGraph(make(), { journal, kernel }))
  assert.equal(first.duration, 30)
  await clock.advance(3_600_000)
  isBroken = false
  const second = await clock.runUntil(runGraph(make(), { journal, kernel, resume: first.run! }))
  assert.equal(second.ok, true)
  assert.equal(second.duration, 50)
  const record = await readRecord(journal, first.run!, { now: clock.wallTime() })
  assert.equal(record.elapsed, 50)
  const { path: chain } = await criticalPathOf(timedNodes(record))
  assert.deepEqual(chain, [{ name: 'all', ms: 50 }])
})

test('R1: attempts of real runs do not overlap; R3: a record up to a row is that of then', async () => {
  const jobs = fc.array(
    fc.record({
      ms: fc.integer({ min: 0, max: 40 }),
      fails: fc.integer({ min: 0, max: 3 }),
      links: fc.array(fc.nat(), { maxLength: 2 }),
    }),
    { minLength: 1, maxLength: 6 },
  )
  await fc.assert(
    fc.asyncProperty(
      jobs,
      fc.integer({ min: 1, max: 3 }),
      fc.nat(),
      async (plan, concurrency, cut) => {
        const clock = new VirtualClock()
        await using journal = await openJournal('memory')
        const graph = new Graph()
        for (const [i, { ms, fails, links }] of plan.entries()) {
          const work = job({ name: `n${i}` }, async (_: unknown, { attempt }) => {
            await new Promise<void>((done) => clock.setTimer(ms, done))
            if (attempt < fails) throw new Error(`attempt ${attempt}`)
          })
          const after = [...new Set(i === 0 ? [] : links.map((link) => `n${link % i}`))]
          graph.add(`n${i}`, work, { after })
        }
        const kernel = { clock, random: seededRandom(cut) }
        const run = await startRun(graph, {
          concurrency,
          retries: 1,
          retryBaseDelay: 20,
          journal,
          kernel,
        })
        await clock.runUntil(run.result)
        const id = run.id!
        const whole = await readRecord(journal, id, { now: clock.wallTime() })
        for (const { attempts } of whole.nodes) {
          let last = 0
          for (const { queuedAt, startedAt, endedAt } of attempts) {
            assert.ok(last <= queuedAt && queuedAt <= startedAt && startedAt <= endedAt)
            last = endedAt
          }
        }

        // The same rows again, up to one of them, and nothing after it.
        const rows = await Array.fromAsync(journal.history(id))
        const upTo = rows[2 + (cut % (rows.length - 2))]!
        await using second = await openJournal('memory', { kernel })
        const { options, pid, host, command, title, startedAt } = await journal.snapshot(id)
        const writer = await second.openRun({
          id,
          title,
          startedAt,
          pid,
          host,
          command,
          options,
          nodes: rows.flatMap((row) => (row.kind === 'nodes' ? row.added : [])),
        })
        for (const row of rows.slice(2)) {
          if (row.position > upTo.position) break
          const { position: _position, ...transition } = row
          if (row.kind === 'run') writer.setState(row.state, row.at, row.elapsed)
          else if (row.kind === 'node' && row.state === 'succeeded')
            await writer.commit(row, undefined)
          else if (transition.kind === 'node') writer.append(transition)
        }
        await writer.flush()
        const moment = { position: upTo.position, at: upTo.at }
        const past = await readRecord(journal, id, { now: upTo.at, upTo: moment })
        const then = await readRecord(second, id, { now: upTo.at })
        assert.deepEqual(past.nodes, then.nodes)
        assert.deepEqual([past.elapsed, past.until], [then.elapsed, then.until])
        assert.deepEqual(past.counts, then.counts)
      },
    ),
    { numRuns: 60 },
  )
})

test('a clock that was set back makes no negative times', async () => {
  const rows: Row[] = [
    [100, 'a', 'ready'],
    [50, 'a', 'running'],
    [20, 'a', 'succeeded'],
    [10, 'finished'],
  ]
  await using journal = await told({ nodes: [node('a')], rows })
  const record = await readRecord(journal, '20261115-224501-k3f9q2', { now })
  const a = nodeOf(record, 'a')
  assert.ok(runTime(a) >= 0 && queueTime(a, record.until) >= 0 && record.elapsed >= 0)
})
