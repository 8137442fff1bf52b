import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { systemClock } from '../../../src/kernel/clock.ts'
import { openJournal } from '../../../src/journal/open-journal.ts'
import { readAddress } from '../../../src/store/postgres/address.ts'
import { Link } from '../../../src/store/postgres/database-link.ts'
import { all, header, openRun, someone, step, story } from '../../../src/testing/journal/case.ts'
import { journalConformance } from '../../../src/testing/journal-conformance.ts'
import { serviceConformance } from '../../../src/testing/service-conformance.ts'

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

let journals = 0

journalConformance('postgres', async () => {
  const schema = `journal_${++journals}`
  const address = `${postgres.address}?schema=${schema}`
  const admin = new Link({ address: readAddress(address), clock: systemClock })
  return {
    isLasting: true,
    isShared: true,
    open: (options = {}) => openJournal(address, { retry: { for: 0 }, ...options }),
    async breakWrites() {
      await admin.call(
        'break',
        `CREATE OR REPLACE FUNCTION ${schema}.no_room() RETURNS trigger LANGUAGE plpgsql
          AS $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = 'disk_full'; END $$;
        CREATE TRIGGER no_room BEFORE INSERT ON ${schema}.history
          FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.no_room()`,
      )
    },
    async repairWrites() {
      await admin.call('repair', `DROP TRIGGER no_room ON ${schema}.history`)
    },
    [Symbol.asyncDispose]: () => admin.close(),
  }
})

serviceConformance('journal in PostgreSQL', async () => {
  const service = await openJournal(`${postgres.address}?schema=journal_${++journals}`)
  return { service, occupy: async () => void (await openRun(service, 'a run')) }
})

/** A journal of its own schema, and a connection to look behind it. */
function place(): { schema: string; address: string; admin: Link } {
  const schema = `journal_${++journals}`
  const address = `${postgres.address}?schema=${schema}`
  return { schema, address, admin: new Link({ address: readAddress(address), clock: systemClock }) }
}

const endLeases = (schema: string): string => `UPDATE ${schema}.holder SET until = now()`

test('J5: a run that was taken over is lost to its first writer, and only that run', async () => {
  const { schema, address, admin } = place()
  await using silent = await openJournal(address)
  await using other = await openJournal(address)
  const lost = await openRun(silent, 'lost')
  const kept = await openRun(silent, 'kept')
  await lost.commit(step('a', 'running'))
  await admin.call('let the lease run out', endLeases(schema))
  assert.equal((await other.snapshot('lost')).state, 'interrupted')
  const taken = await other.resumeRun('lost', someone)
  await taken.commit(step('a', 'succeeded'), 'by the second')
  await assert.rejects(lost.commit(step('a', 'succeeded'), 'by the first'), {
    code: 'HDL_RUN_LOST',
  })
  await assert.rejects(lost.flush(), { code: 'HDL_RUN_LOST' })
  // No other process has taken this one: the lease that ran out does no harm.
  await kept.commit(step('a', 'succeeded'), 1)
  assert.equal(silent.stats().failed, false)
  assert.equal(await other.valueOf('lost', 'a'), 'by the second')
  assert.deepEqual(await story(other, 'lost', 2), ['a running', 'run running', 'a succeeded'])
  await admin.close()
})

test('J1, J3: connections that are cut lose nothing, and nothing is written twice', async () => {
  const { address, admin } = place()
  await using journal = await openJournal(address)
  const writer = await openRun(journal, 'r')
  const large = 'x'.repeat(400_000)
  const count = 2_000
  let cuts = 0
  const commits = Array.from({ length: count }, async (_, attempt) => {
    await writer.commit(step('a', 'succeeded', { attempt }), attempt === 1_000 ? large : attempt)
    if (attempt % 300 !== 0) return
    cuts++
    await admin.call(
      'cut connections',
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name LIKE 'heddle journal%' AND datname = current_database()`,
    )
  })
  await Promise.all(commits)
  assert.ok(cuts >= 5)
  // A read is not sent again by itself: its caller gets the error, and asks once more.
  const rows = await retried(() => all(journal.history('r', { from: 2 })))
  assert.deepEqual(
    rows.map((row) => row.kind === 'node' && row.attempt),
    Array.from({ length: count }, (_, attempt) => attempt),
  )
  assert.deepEqual(
    rows.map(({ position }) => position),
    rows.map((_, index) => index + 3),
  )
  await admin.close()
})

async function retried<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch {
    return ask()
  }
}

test('C13: a run of a process that was killed is resumed when its lease has run out', async () => {
  const { schema, address, admin } = place()
  await (await openJournal(address)).stop()
  const child = fork(new URL('fixtures/write-rows.ts', import.meta.url), [address], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  const [told] = (await once(child, 'message')) as [number]
  const killed = once(child, 'exit')
  child.kill('SIGKILL')
  await killed
  await using journal = await openJournal(address)
  assert.equal((await journal.snapshot('r')).state, 'running')
  const [summary] = await journal.runs()
  assert.equal(summary?.host, hostname())
  // Its process is gone, so the journal waits for the lease instead of refusing.
  const resuming = journal.resumeRun('r', someone)
  // Only that of the dead process: this journal may have its own by now.
  const ofDead = `WHERE id = (SELECT holder FROM ${schema}.run WHERE id = 'r')`
  await admin.call('let the lease run out', `${endLeases(schema)} ${ofDead}`)
  const writer = await resuming
  const attempts = (await all(journal.history('r'))).flatMap((row) =>
    row.kind === 'node' ? [row.attempt] : [],
  )
  assert.ok(attempts.length >= told, `${attempts.length} rows of ${told} that were acknowledged`)
  assert.deepEqual(
    attempts,
    attempts.map((_, index) => index),
  )
  await writer.commit(step('a', 'succeeded'), 'now')
  assert.equal((await journal.snapshot('r')).state, 'running')
  await admin.close()
})

test('J8: a key that was reserved by a process that died at once can be used', async () => {
  const { schema, address, admin } = place()
  await using journal = await openJournal(address)
  const reserved = await admin.call<[{ run: number }]>(
    'reserve',
    `SELECT ${schema}.open_run_2('r', 'nightly', 't', 0, 1::smallint, 1, 'h', 'c', '', 'dead')`,
  )
  assert.ok(reserved[0]![0].run > 0)
  assert.deepEqual(await journal.runs(), [])
  await assert.rejects(journal.snapshot('r'), { code: 'HDL_UNKNOWN_RUN' })
  await using _writer = await journal.openRun({ ...header('r'), key: 'nightly' })
  assert.equal((await journal.runs({ key: 'nightly' })).length, 1)
  await admin.close()
})

test('times are read exactly where PostgreSQL rounds them in text', async () => {
  const { address, admin } = place()
  const rounding = new URL(address)
  rounding.searchParams.set('options', '-c extra_float_digits=-5')
  await using journal = await openJournal(rounding.href)
  const [startedAt, at, endedAt] = [1_763_500_000_123, 1_763_500_001_456.25, 1_763_500_002_789]
  const writer = await journal.openRun({ ...header('r'), startedAt })
  await writer.commit(step('a', 'succeeded', { at }), 1)
  writer.setState('finished', endedAt)
  await writer[Symbol.asyncDispose]()
  const [found] = await journal.runs()
  assert.deepEqual([found!.startedAt, found!.endedAt], [startedAt, endedAt])
  const [row] = (await all(journal.history('r'))).filter(({ kind }) => kind === 'node')
  assert.equal(row!.kind === 'node' && row!.at, at)
  await journal.artifacts!.put('r', 'film', 'x', { createdAt: startedAt })
  assert.equal((await journal.artifacts!.list('r'))[0]?.createdAt, startedAt)
  await admin.close()
})

test('text that PostgreSQL cannot hold is read back unchanged', async () => {
  const { address, admin } = place()
  const text = 'a\0b \ud800 \x1a0000 "\\'
  await using journal = await openJournal(address)
  await using writer = await journal.openRun({
    ...header('r'),
    key: 'k\x1a',
    title: text,
    command: text,
    options: { text },
  })
  writer.log({ node: 'a', attempt: 0, at: 1, text })
  const error = { name: 'Error', message: text }
  await writer.commit(step('a', 'failed', { error, blockedBy: text }))
  const { title, command, options, nodes, key } = await journal.snapshot('r')
  assert.deepEqual([title, command, options, key], [text, text, { text }, 'k\x1a'])
  assert.deepEqual(nodes[0]?.errors, [error])
  const rows = await all(journal.history('r'))
  assert.ok(rows.some((row) => row.kind === 'log' && row.text === text))
  await admin.close()
})

test('no password is in the address of a journal', async () => {
  const { address, admin } = place()
  await using journal = await openJournal(address)
  assert.ok(!journal.address.includes(new URL(address).password))
  await admin.close()
})

test('a journal that is only read makes no tables', async () => {
  const { schema, address, admin } = place()
  await assert.rejects(openJournal(address, { readOnly: true }), { code: 'HDL_NO_JOURNAL' })
  const [row] = await admin.call<[string | null]>('look', `SELECT to_regnamespace('${schema}')`)
  assert.equal(row![0], null)
  await admin.close()
})
