import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDatabase } from '@heddle/test-servers'
import { systemClock } from '../../../src/kernel/clock.ts'
import { readAddress } from '../../../src/store/postgres/address.ts'
import { Link } from '../../../src/store/postgres/database-link.ts'
import { openPostgresDatabase } from '../../../src/store/postgres/postgres-database.ts'
import type { Table } from '../../../src/store/tables.ts'

test('tables whose rows are updated keep room in their pages, and no deadline is indexed', async () => {
  await using postgres = await openDatabase()
  const notes: Table = { name: 'desk_note', columns: { until: 'number', text: 'text' } }
  await using _ = await openPostgresDatabase(postgres.address, { tables: [notes] })
  const link = new Link({ address: readAddress(postgres.address), clock: systemClock })
  await using _closed = { [Symbol.asyncDispose]: () => link.close() }
  const updated = await link.call<[table: string, fillfactor: number]>(
    'read',
    `SELECT relname, split_part(option, '=', 2)::integer
      FROM pg_class, unnest(reloptions) option
      WHERE relkind = 'r' AND relnamespace = 'heddle'::regnamespace AND option LIKE 'fillfactor=%' ORDER BY 1`,
  )
  assert.deepEqual(Object.fromEntries(updated), {
    artifact_budget: 50,
    holder: 50,
    job: 70,
    r_desk_note: 80,
    run: 70,
    server: 50,
    session: 50,
    shard: 50,
  })
  const indexed = await link.call<[string]>(
    'read',
    `SELECT indexdef FROM pg_indexes WHERE schemaname = 'heddle' AND indexdef ~ '[(, ]"?(until|owner|epoch|started)"?[,) ]'`,
  )
  assert.deepEqual(indexed, [], 'an update would write to each of these indexes')
})
