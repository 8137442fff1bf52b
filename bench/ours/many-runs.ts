/**
 * A store with many finished runs, made from one that `run()` has written: its rows are copied inside the database. Half of
 * them, or as many as the caller says, started five weeks ago, and one run that was interrupted with them.
 */
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { Graph, job, run } from '@heddle/core'
import { openJournal, type Journal } from '@heddle/core/lowlevel'

const first = job({ name: 'first' }, () => ({ text: 'a result' }))
const second = job({ name: 'second' }, () => 2)

export const week = 7 * 86_400_000

/** How much older the older half is, in weeks. */
const weeks = 5

/** Writes one run that has ended, and one that was interrupted after its first node. */
async function writeTemplates(journal: Journal): Promise<void> {
  const graph = new Graph()
  const one = graph.add('first', first)
  graph.add('second', second, { after: [one] })
  await run(graph, { journal })
  const writer = await journal.openRun({
    id: 'interrupted',
    title: 'interrupted',
    startedAt: Date.now() - weeks * week,
    pid: process.pid,
    host: 'localhost',
    command: 'bench',
    options: {},
    nodes: [
      { name: 'first', job: 'first', place: 'loop', after: [] },
      { name: 'second', job: 'second', place: 'loop', after: ['first'] },
    ],
  })
  const at = Date.now()
  await writer.commit({ node: 'first', state: 'succeeded', attempt: 0, at }, { text: 'a result' })
  await writer[Symbol.asyncDispose]()
}

/** Makes a store of this many finished runs at the address; `older` of them started five weeks ago. */
export async function fillStore(address: string, count: number, older = count / 2): Promise<void> {
  {
    await using journal = await openJournal(address)
    await writeTemplates(journal)
  }
  if (address.startsWith('sqlite:')) copyInFile(address.slice('sqlite:'.length), count, older)
  else await copyInPostgres(new URL(address), count, older)
}

async function copyInPostgres(address: URL, count: number, olderCount: number): Promise<void> {
  const schema = address.searchParams.get('schema')!
  address.search = ''
  const client = new pg.Client({ connectionString: address.href })
  await client.connect()
  const older = `(n <= ${olderCount})`
  for (const table of ['history', 'result', 'chunk']) {
    await client.query(`DO $$ DECLARE old integer := ${schema}.period_1() - ${weeks}; BEGIN
      EXECUTE format('CREATE TABLE ${schema}.%I (LIKE ${schema}.${table} INCLUDING ALL)', '${table}_' || old);
      EXECUTE format('ALTER TABLE ${schema}.${table} ATTACH PARTITION ${schema}.%I FOR VALUES IN (%s)', '${table}_' || old, old);
    END $$`)
  }
  await client.query(`
    INSERT INTO ${schema}.run (id, title, started_at, ended_at, state, state_position, pid, host, command, options, counts,
        opened, period)
      SELECT id || '-' || n, title, started_at - CASE WHEN ${older} THEN ${weeks * week} ELSE 0 END,
        ended_at - CASE WHEN ${older} THEN ${weeks * week} ELSE 0 END, state, state_position, pid, host, command, options,
        counts, true, period - CASE WHEN ${older} THEN ${weeks} ELSE 0 END
      FROM ${schema}.run, generate_series(1, ${count}) n WHERE ended_at IS NOT NULL ORDER BY n`)
  for (const [table, columns] of [
    ['history', 'kind, node, state, attempt, at, detail'],
    ['result', 'body, name'],
  ] as const) {
    const of = columns.split(', ').map((column) => `t.${column}`)
    await client.query(`
      INSERT INTO ${schema}.${table} (period, run, position, ${columns})
        SELECT r.period, r.run, t.position, ${of.join(', ')}
        FROM ${schema}.run r, ${schema}.${table} t
        WHERE r.id LIKE '%-%' AND r.ended_at IS NOT NULL AND t.run = (SELECT min(run) FROM ${schema}.run)
          AND r.run > (SELECT max(run) FROM ${schema}.run WHERE id = 'interrupted')
        ORDER BY r.run, t.position`)
  }
  await client.query('ANALYZE')
  await client.end()
}

function copyInFile(file: string, count: number, older: number): void {
  using database = new DatabaseSync(file)
  database.exec('PRAGMA synchronous = OFF')
  const template = database.prepare('SELECT min(run) AS run FROM run').get()!['run'] as number
  const { last, most } = database
    .prepare('SELECT max(run) AS last, (SELECT max(position) FROM history) AS most FROM run')
    .get() as { last: number; most: number }
  const age = `CASE WHEN n <= ${older} THEN ${weeks * week} ELSE 0 END`
  // Rows of a copy keep their distance: each copy has a stretch of positions as long as all that there are now.
  database.exec(`
    BEGIN;
    CREATE TEMP TABLE copy AS
      WITH RECURSIVE each (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM each WHERE n < ${count}) SELECT n FROM each;
    INSERT INTO run (run, id, title, started_at, ended_at, state, pid, host, command, options, counts, visible)
      SELECT ${last} + n, id || '-' || n, title, started_at - ${age}, ended_at - ${age}, state, pid, host, command, options,
        coalesce(counts, '{"succeeded":2}'), 1
      FROM copy, run WHERE run = ${template};
    INSERT INTO history (run, position, kind, node, state, attempt, at, detail)
      SELECT ${last} + n, position + n * ${most}, kind, node, state, attempt, at, detail
      FROM copy, history WHERE run = ${template};
    INSERT INTO result (position, value)
      SELECT result.position + n * ${most}, value
      FROM copy, history JOIN result USING (position) WHERE run = ${template};
    UPDATE counter SET position = ${most} * (${count} + 1), run = ${last} + ${count};
    COMMIT;`)
}
