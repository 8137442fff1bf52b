import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { toBlob } from '../../src/sqlite/blob.ts'

test('empty bytes that came in a message are stored as bytes, not as NULL', () => {
  const database = new DatabaseSync(':memory:')
  database.exec('CREATE TABLE t (body BLOB NOT NULL) STRICT')
  const insert = database.prepare('INSERT INTO t VALUES (?)')
  const sent = structuredClone([new Uint8Array(), Uint8Array.of(1, 2)])
  for (const bytes of sent) insert.run(toBlob(bytes))
  const rows = database.prepare('SELECT typeof(body) AS type, length(body) AS size FROM t').all()
  assert.deepEqual(
    rows.map(({ type, size }) => [type, size]),
    [
      ['blob', 0],
      ['blob', 2],
    ],
  )
  database.close()
})
