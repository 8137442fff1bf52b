import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { systemClock } from '../../../src/kernel/clock.ts'
import { openJournal } from '../../../src/journal/open-journal.ts'
import { PostgresReader } from '../../../src/journal/postgres/reader.ts'
import { readAddress } from '../../../src/store/postgres/address.ts'
import { Link } from '../../../src/store/postgres/database-link.ts'
import { all, openRun, step } from '../../../src/testing/journal/case.ts'

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

const reads: Readonly<Record<string, (reader: PostgresReader) => Promise<unknown>>> = {
  overview: (reader) => reader.overview('r0'),
  snapshot: (reader) => reader.snapshot('r0', Number.MAX_SAFE_INTEGER),
  history: (reader) => all(reader.history('r0', 0)),
  value: (reader) => reader.result('r0', 'a'),
  results: (reader) => all(reader.results('r0')),
  parts: (reader) => all(reader.parts('r0', 'a', { from: 0, values: true })),
}

for (const [index, [name, read]] of Object.entries(reads).entries()) {
  test(`C12: a run that another process prunes between two statements of a read is unknown: ${name}`, async () => {
    const address = `${postgres.address}?schema=reader_${index}`
    await using journal = await openJournal(address)
    {
      await using writer = await openRun(journal, 'r0')
      await writer.commit(step('a', 'succeeded'), 1)
      writer.setState('finished', 3000)
    }
    const link = new Link({ address: readAddress(address), clock: systemClock })
    try {
      let isArmed = true
      const call: Link['call'] = async (...parameters) => {
        // The first read of rows: the run was found before it.
        if (isArmed && !parameters[1].includes('.holder')) {
          isArmed = false
          await journal.prune!({ keep: 0 })
        }
        return link.call(...parameters)
      }
      const pruned = new Proxy(link, {
        get: (target, key) => (key === 'call' ? call : Reflect.get(target, key, target)),
      })
      const reader = new PostgresReader(pruned, readAddress(address))
      await assert.rejects(read(reader), { code: 'HDL_UNKNOWN_RUN' })
      assert.equal(isArmed, false, 'the run was pruned')
    } finally {
      await link.close()
    }
  })
}
