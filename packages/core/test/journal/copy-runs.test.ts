import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import type { ArtifactStore } from '../../src/artifacts/artifact-store.ts'
import { retryAfter } from '../../src/attempts/retry.ts'
import { Graph } from '../../src/graph/graph.ts'
import { job } from '../../src/graph/job.ts'
import { copyRuns } from '../../src/journal/copy-runs.ts'
import type { CopyWait, HistoryEntry, Journal } from '../../src/journal/journal.ts'
import { openJournal } from '../../src/journal/open-journal.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { run } from '../../src/run/run.ts'
import { readAddress } from '../../src/store/postgres/address.ts'
import { Link } from '../../src/store/postgres/database-link.ts'
import { header, step } from '../../src/testing/journal/case.ts'

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

const large = 'large '.repeat(400_000)

/** Runs of every kind: with logs, retries, parts, a failure and a large value; resumed; interrupted. */
async function writeRuns(journal: Journal): Promise<void> {
  const list = job({ name: 'list' }, (_: unknown, ctx) => {
    ctx.log('three numbers')
    return [1, 2, 3]
  })
  const double = job({ name: 'double' }, (value: number) => 2 * value)
  const flaky = job({ name: 'flaky', retries: 1 }, (_: unknown, ctx) => {
    if (ctx.attempt === 0) throw retryAfter(1)
    return large
  })
  const broken = job({ name: 'broken' }, () => {
    throw new Error('broken for good')
  })
  const graph = new Graph()
  const numbers = graph.add('list', list)
  graph.map('double', double, { over: numbers, input: (value) => value, window: 2 })
  graph.add('flaky', flaky, { after: [numbers] })
  const failed = graph.add('broken', broken)
  graph.add('blocked', double, { after: [failed], input: () => 1 })
  await run(graph, { journal, key: 'nightly' })

  const resumed = await journal.openRun(header('resumed'))
  await resumed.commit(step('a', 'succeeded'), { at: 'first' })
  await resumed[Symbol.asyncDispose]()
  const again = await journal.resumeRun('resumed', { pid: 1, host: 'other', command: 'again' })
  await again.commit(step('b', 'succeeded', { at: 7 }), new Map([['kept', 1n]]))
  again.setState('finished', 9)
  await again[Symbol.asyncDispose]()

  const interrupted = await journal.openRun(header('interrupted'))
  await interrupted.commit(step('a', 'succeeded'), undefined)
  await interrupted.commit(step('b', 'running'))
  await interrupted[Symbol.asyncDispose]()
}

/** A journal with other artifacts. */
function withArtifacts(
  journal: Journal,
  artifacts: Pick<ArtifactStore, 'list' | 'open'> | undefined,
): Journal {
  return new Proxy(journal, {
    get(target, name) {
      if (name === 'artifacts') return artifacts
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

/** All that can be read of a run. Positions differ: in a file they are those of all runs. */
async function readRun(journal: Journal, id: string): Promise<unknown> {
  const { nodes, position: _position, ...snapshot } = await journal.snapshot(id)
  const history: Omit<HistoryEntry, 'position'>[] = []
  const parts: unknown[] = []
  for await (const { position: _at, ...entry } of journal.history(id)) history.push(entry)
  for (const { name } of nodes) {
    for await (const { position: _at, ...part } of journal.parts(id, name)) parts.push(part)
  }
  const results = await Array.fromAsync(journal.results(id))
  const { rows: _rows, ...overview } = await journal.overview(id)
  return { snapshot, nodes, history, parts, results, overview }
}

test('Y1, Y3: a copy reads as the source does, and runs that were interrupted can be resumed', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-copy-'))
  try {
    await using source = await openJournal(`sqlite:${folder}/runs.db`)
    await writeRuns(source)
    const live = await source.openRun(header('live'))
    await using target = await openJournal(`${postgres.address}?schema=copy_all`)
    const report = await copyRuns(source, target)
    assert.deepEqual([report.runs, report.copied, report.running], [4, 3, ['live']])
    assert.ok(report.rows > 20 && report.results >= 8, JSON.stringify(report))
    await live[Symbol.asyncDispose]()
    const ids = (await source.runs()).map(({ id }) => id).filter((id) => id !== 'live')
    assert.deepEqual(
      (await target.runs()).map(({ id }) => id),
      ids,
    )
    for (const id of ids) {
      assert.deepEqual(await readRun(target, id), await readRun(source, id), id)
    }
    assert.equal((await target.runs({ key: 'nightly' })).length, 1)
    const resumed = await target.resumeRun('interrupted', { pid: 1, host: 'h', command: 'c' })
    await resumed.commit(step('b', 'succeeded'), 2)
    resumed.setState('finished', 20)
    await resumed[Symbol.asyncDispose]()
    const second = await copyRuns(source, target)
    // The live one has ended meanwhile without a state, so it is interrupted, and comes along.
    assert.deepEqual([second.copied, second.present], [1, 2])
    assert.deepEqual(second.different, ['interrupted'])
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('Y1, Y2: a copy that is cut off shows nothing of its last run, and the next one completes it', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-copy-'))
  try {
    await using source = await openJournal(`sqlite:${folder}/runs.db`)
    await writeRuns(source)
    const address = `${postgres.address}?schema=copy_cut`
    const [newest] = await source.runs()
    {
      await using target = await openJournal(address)
      const stop = new AbortController()
      const cutOff: Journal = Object.assign(Object.create(target) as Journal, {
        address: target.address,
        restoreRun: async (copied: Parameters<NonNullable<Journal['restoreRun']>>[0]) => {
          const restorer = await target.restoreRun!(copied)
          // The last run is cut off after its first row.
          if (copied.id !== newest!.id) return restorer
          const add = restorer.add.bind(restorer)
          return Object.assign(restorer, {
            add: async (...row: Parameters<typeof add>) => {
              await add(...row)
              stop.abort()
            },
          })
        },
      })
      const copying = copyRuns(source, cutOff, { signal: stop.signal })
      await assert.rejects(copying, { code: 'HDL_CANCELLED' })
      assert.deepEqual((await target.runs()).length, 2)
    }
    await using target = await openJournal(address)
    const report = await copyRuns(source, target)
    assert.deepEqual([report.copied, report.present, report.different], [1, 2, []])
    assert.deepEqual(await readRun(target, newest!.id), await readRun(source, newest!.id))
  } finally {
    await rm(folder, { recursive: true })
  }
})

/** A journal with one run, and a target in which another copy has reserved that run for a day. */
async function reserved(schema: string, holder: string) {
  const address = `${postgres.address}?schema=${schema}`
  const source = await openJournal('memory')
  await using writer = await source.openRun(header('one'))
  await writer.commit(step('a', 'succeeded'), 1)
  writer.setState('finished', 9)
  await writer.flush()
  const target = await openJournal(address)
  const admin = new Link({ address: readAddress(address), clock: systemClock })
  await admin.call(
    'reserve',
    `SELECT ${schema}.hold_1('${holder}', 86400000);
      SELECT ${schema}.restore_run_2('one', NULL, 't', 0, 1::smallint, 1, 'h', 'c', '', '${holder}')`,
  )
  const endLease = () => admin.call('end the lease', `SELECT ${schema}.hold_1('${holder}', 0)`)
  return {
    source,
    target,
    endLease,
    async [Symbol.asyncDispose]() {
      await Promise.all([source.stop(), target.stop(), admin.close()])
    },
  }
}

test('Y2: a run that a killed copy holds is waited for, then copied', async () => {
  const dead = spawnSync(process.execPath, ['--version']).pid
  await using place = await reserved('copy_killed', `${hostname()}/${dead}/x`)
  const waits: CopyWait[] = []
  let ended: Promise<unknown> | undefined
  const report = await copyRuns(place.source, place.target, {
    onWait: (wait) => {
      waits.push(wait)
      ended = place.endLease()
    },
  })
  await ended
  assert.deepEqual([report.copied, report.present, report.unfinished], [1, 0, []])
  assert.equal(await place.target.valueOf('one', 'a'), 1)
  assert.deepEqual(
    waits.map((wait) => [wait.run, wait.holder.pid]),
    [['one', dead]],
  )
})

test('Y2: a wait for a killed copy ends with the signal', async () => {
  const dead = spawnSync(process.execPath, ['--version']).pid
  await using place = await reserved('copy_wait_cut', `${hostname()}/${dead}/x`)
  const stop = new AbortController()
  const options = { signal: stop.signal, onWait: () => stop.abort() }
  await assert.rejects(copyRuns(place.source, place.target, options), { code: 'HDL_CANCELLED' })
})

test('Y2: a run that another copy holds is reported as not copied, and the next copy takes it', async () => {
  await using place = await reserved('copy_beside', 'elsewhere/7/x')
  const first = await copyRuns(place.source, place.target)
  assert.deepEqual([first.copied, first.present, first.unfinished], [0, 0, ['one']])
  await place.endLease()
  const second = await copyRuns(place.source, place.target)
  assert.deepEqual([second.copied, second.present, second.unfinished], [1, 0, []])
})

test('Y2: a run that was removed in the target stays removed, and does not count as present', async () => {
  await using source = await openJournal('memory')
  await using writer = await source.openRun(header('one'))
  writer.setState('finished', 9)
  await writer.flush()
  await using target = await openJournal(`${postgres.address}?schema=copy_removed`)
  assert.equal((await copyRuns(source, target)).copied, 1)
  assert.equal((await target.prune!({ keep: 0 })).runs.length, 1)
  const again = await copyRuns(source, target)
  assert.deepEqual([again.copied, again.present, again.removed], [0, 0, ['one']])
})

test('Y1, Y3: artifacts come with their run, and are added to a run that was copied without them', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-copy-'))
  try {
    await using source = await openJournal(`sqlite:${folder}/runs.db`)
    await writeRuns(source)
    const from = source.artifacts!
    const [newest, oldest] = ['interrupted', (await source.runs()).at(-1)!.id]
    await from.put(oldest, 'film', new Uint8Array(700_000).fill(7), { by: 'flaky' })
    await from.put(oldest, '../report.html', '<p>', { by: 'double[2]' })
    await from.put(newest, 'empty', '', { by: 'a', createdAt: 1_234 })
    await using target = await openJournal(`${postgres.address}?schema=copy_artifacts`)
    const first = await copyRuns(withArtifacts(source, undefined), target)
    assert.deepEqual([first.copied, first.artifacts], [3, 0])
    const second = await copyRuns(source, target)
    assert.deepEqual([second.present, second.artifacts, second.artifactBytes], [3, 3, 700_003])
    for (const id of [newest, oldest]) {
      assert.deepEqual(await target.artifacts!.list(id), await from.list(id))
    }
    const [film] = await Array.fromAsync((await target.artifacts!.open(oldest, 'film')).bytes)
    assert.equal(film![0], 7)
    const third = await copyRuns(source, target)
    assert.deepEqual([third.present, third.artifacts], [3, 0])
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('Y1, Y2: a run is not seen before its artifacts are there', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-copy-'))
  try {
    await using source = await openJournal(`sqlite:${folder}/runs.db`)
    const writer = await source.openRun(header('one'))
    await writer.commit(step('a', 'succeeded'), 1)
    writer.setState('finished', 9)
    await writer[Symbol.asyncDispose]()
    for (const name of ['a', 'b']) await source.artifacts!.put('one', name, `this is ${name}`)
    const address = `${postgres.address}?schema=copy_cut_artifacts`
    {
      await using target = await openJournal(address)
      const stop = new AbortController()
      const cutOff = withArtifacts(source, {
        list: (id) => source.artifacts!.list(id),
        open: (id, name) => {
          if (name === 'b') stop.abort()
          return source.artifacts!.open(id, name)
        },
      })
      const copying = copyRuns(cutOff, target, { signal: stop.signal })
      await assert.rejects(copying, { code: 'HDL_CANCELLED' })
      assert.deepEqual(await target.runs(), [])
    }
    await using target = await openJournal(address)
    const report = await copyRuns(source, target)
    assert.deepEqual([report.copied, report.artifacts], [1, 1])
    assert.equal((await target.artifacts!.list('one')).length, 2)
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('runs are not copied into a file', async () => {
  await using source = await openJournal('memory')
  await using target = await openJournal('memory')
  await assert.rejects(copyRuns(source, target), { code: 'HDL_BAD_OPTION' })
})
