import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { systemClock } from '../../../src/kernel/clock.ts'
import type { Journal } from '../../../src/journal/journal.ts'
import { openJournal } from '../../../src/journal/open-journal.ts'
import { readAddress } from '../../../src/store/postgres/address.ts'
import { Link } from '../../../src/store/postgres/database-link.ts'
import { header, step } from '../../../src/testing/journal/case.ts'

let postgres: TestDatabase
let link: Link
before(async () => {
  postgres = await openDatabase()
  const address = readAddress(postgres.address)
  link = new Link({ address, clock: systemClock, answerWithin: 60_000 })
})
after(async () => {
  await link.close()
  await postgres[Symbol.asyncDispose]()
})

async function writeRun(journal: Journal, id: string, isEnded = true): Promise<void> {
  const writer = await journal.openRun(header(id))
  await writer.commit(step('a', 'running'))
  await writer.commit(step('a', 'succeeded'), `result of ${id}`)
  if (isEnded) writer.setState('finished', 9)
  await writer[Symbol.asyncDispose]()
}

const partitioned = ['history', 'result', 'chunk']

/** Moves runs into the partitions of an earlier week, as if they had started then. */
async function moveTo(schema: string, period: number, ids: readonly string[]): Promise<void> {
  const runs = `(SELECT run FROM ${schema}.run WHERE id IN ('${ids.join("', '")}'))`
  for (const table of partitioned) {
    const part = `${schema}.${table}_${period}`
    await link.call('prepare', `CREATE TABLE ${part} (LIKE ${schema}.${table} INCLUDING ALL)`)
    await link.call(
      'prepare',
      `ALTER TABLE ${schema}.${table} ATTACH PARTITION ${part} FOR VALUES IN (${period})`,
    )
    await link.call('move', `UPDATE ${schema}.${table} SET period = ${period} WHERE run IN ${runs}`)
  }
  await link.call('move', `UPDATE ${schema}.run SET period = ${period} WHERE run IN ${runs}`)
}

async function partitionsOf(schema: string, period: number): Promise<readonly string[]> {
  const found = await link.call<[string | null]>(
    'be read',
    `SELECT to_regclass(n)::text FROM unnest($1::text[]) n`,
    [partitioned.map((table) => `${schema}.${table}_${period}`)],
  )
  return found.flatMap(([name]) => name ?? [])
}

test('C12, P2: the partitions of a week that goes whole are dropped, while another run is written', async () => {
  const schema = 'whole'
  await using journal = await openJournal(`${postgres.address}?schema=${schema}`)
  for (const id of ['old1', 'old2', 'new']) await writeRun(journal, id)
  await moveTo(schema, 1, ['old1', 'old2'])
  const writer = await journal.openRun(header('beside'))
  let isDone = false
  const writing = (async () => {
    for (let attempt = 0; !isDone; attempt++) await writer.commit(step('a', 'running', { attempt }))
  })()
  const report = await journal.prune!({ keep: 2 })
  isDone = true
  await writing
  assert.deepEqual(
    report.runs.map(({ id }) => id),
    ['old2', 'old1'],
  )
  assert.deepEqual(await partitionsOf(schema, 1), [])
  assert.deepEqual(
    (await journal.runs()).map(({ id }) => id),
    ['beside', 'new'],
  )
  assert.equal(await journal.valueOf('new', 'a'), 'result of new')
  await assert.rejects(journal.openRun(header('old1')), { code: 'HDL_RUN_EXISTS' })
  await writer[Symbol.asyncDispose]()
})

test('C12, P2: a week with an open run keeps its partitions; the rows of its other runs are removed', async () => {
  const schema = 'partly'
  await using journal = await openJournal(`${postgres.address}?schema=${schema}`)
  await writeRun(journal, 'old')
  await writeRun(journal, 'open', false)
  await writeRun(journal, 'new')
  await moveTo(schema, 1, ['old', 'open'])
  const report = await journal.prune!({ keep: 1 })
  assert.deepEqual(
    report.runs.map(({ id }) => id),
    ['old'],
  )
  assert.equal((await partitionsOf(schema, 1)).length, 3)
  const [left] = await link.call<[string]>(
    'be read',
    `SELECT count(DISTINCT run) FROM ${schema}.history_1`,
  )
  assert.equal(Number(left![0]), 1)
  assert.equal(await journal.valueOf('open', 'a'), 'result of open')
})

test('P3: leftovers of an interrupted prune are dropped by the next one', async () => {
  const schema = 'cut_off'
  await using journal = await openJournal(`${postgres.address}?schema=${schema}`)
  for (const id of ['old', 'new']) await writeRun(journal, id)
  await moveTo(schema, 1, ['old'])
  await link.call(
    'cut off',
    `SELECT ${schema}.prune_runs_2(ARRAY[run], ARRAY[epoch], false) FROM ${schema}.run WHERE id = 'old'`,
  )
  await link.call('cut off', `ALTER TABLE ${schema}.chunk DETACH PARTITION ${schema}.chunk_1`)
  assert.deepEqual((await journal.prune!({ keep: 1 })).runs, [])
  assert.deepEqual(await partitionsOf(schema, 1), [])
})

test('runs that have not ended are found among many that have', async () => {
  await using journal = await openJournal(`${postgres.address}?schema=many`)
  await writeRun(journal, 'interrupted', false)
  for (let count = 0; count < 3; count++) await writeRun(journal, `finished${count}`)
  const ids = (runs: readonly { readonly id: string }[]) => runs.map(({ id }) => id)
  assert.deepEqual(ids(await journal.runs({ state: 'interrupted' })), ['interrupted'])
  assert.deepEqual(ids(await journal.runs({ state: 'finished', limit: 1 })), ['finished2'])
  const { runs } = await journal.list({ limit: 10, outcomes: ['interrupted'] })
  assert.deepEqual(ids(runs), ['interrupted'])
})

test('P3, P4: the rows of a run that was marked are removed by the next prune, a slice at a time', async () => {
  const schema = 'large'
  await using journal = await openJournal(`${postgres.address}?schema=${schema}`)
  const writer = await journal.openRun(header('large'))
  for (let attempt = 0; attempt < 3_000; attempt++) {
    writer.append(step('a', 'running', { attempt }))
  }
  await writer.commit(step('a', 'succeeded'), 'x'.repeat(700_000))
  writer.setState('finished', 9)
  await writer[Symbol.asyncDispose]()
  await writeRun(journal, 'kept')
  await link.call(
    'cut off',
    `SELECT ${schema}.prune_runs_4(ARRAY[run], ARRAY[epoch], true) FROM ${schema}.run WHERE id = 'large'`,
  )
  await assert.rejects(journal.snapshot('large'), { code: 'HDL_UNKNOWN_RUN' })
  const rowsOf = async (): Promise<readonly number[]> => {
    const counts = partitioned.map(
      (table) => `(SELECT count(*)::integer FROM ${schema}.${table}
      WHERE run = (SELECT run FROM ${schema}.run WHERE id = 'large'))`,
    )
    const [row] = await link.call<number[]>('be read', `SELECT ${counts.join(', ')}`)
    return row!
  }
  const [rows, , chunks] = await rowsOf()
  assert.ok(rows! > 3_000 && chunks! >= 2, `${rows} rows, ${chunks} chunks`)
  await link.call('be pruned', `SELECT ${schema}.prune_rows_1(1000)`)
  assert.deepEqual(await rowsOf(), [rows! - 1_000, 1, chunks])
  const report = await journal.prune!({ keep: 1 })
  assert.deepEqual(report.runs, [], 'it was removed before')
  assert.deepEqual(await rowsOf(), [0, 0, 0])
  assert.equal(await journal.valueOf('kept', 'a'), 'result of kept')
  await assert.rejects(journal.openRun(header('large')), { code: 'HDL_RUN_EXISTS' })
})

test('P4: a run of more rows than a slice is weighed and removed whole', async () => {
  await using journal = await openJournal(`${postgres.address}?schema=weighed`)
  const writer = await journal.openRun(header('large'))
  for (let attempt = 0; attempt < 12_000; attempt++) {
    writer.append(step('a', 'running', { attempt }))
  }
  await writer.commit(step('a', 'succeeded'), 'done')
  writer.setState('finished', 9)
  await writer[Symbol.asyncDispose]()
  const { runs, bytes } = await journal.prune!({ keep: 0 })
  assert.equal(runs.length, 1)
  // 64 for each row.
  assert.ok(bytes > 12_000 * 64 && bytes < 12_000 * 200, `${bytes} bytes`)
  const [left] = await link.call<[string]>('be read', 'SELECT count(*) FROM weighed.history')
  assert.equal(Number(left![0]), 0)
})
