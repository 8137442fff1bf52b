/** Rows of acknowledged jobs in a store that outlives the server: in a file, and on PostgreSQL. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { job } from '@heddle/core'
import { openJournal, openStore, type Journal } from '@heddle/core/lowlevel'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { serveJob, type ItemInput } from '../../src/jobs/served-job.ts'
import { startServer } from '../../src/server.ts'
import { call } from '../support/client.ts'
import { quiet } from '../support/http.ts'

let postgres: TestDatabase
let folder: string
before(async () => {
  postgres = await openDatabase()
  folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-history-'))
})
after(async () => {
  await postgres[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const stores = {
  sqlite: () => `sqlite:${path.join(folder, 'serve.db')}`,
  postgres: () => `${postgres.address}?schema=history`,
}

/** One job that succeeds without a word, and one for each thing that there is to tell. */
function jobs() {
  let tries = 0
  const fail = Promise.withResolvers<number>()
  const list = [
    job({ name: 'silent' }, (n: number) => n),
    job({ name: 'chatty' }, (n: number, { log }) => {
      log(`got ${n}`)
      return n
    }),
    job({ name: 'flaky', retries: 2, retryBaseDelay: 1 }, (n: number) => {
      if (++tries === 1) throw new Error('not yet')
      return n
    }),
    // It fails after it was acknowledged: before, the submit is answered with the failure.
    job({ name: 'broken', retries: 0 }, () => fail.promise),
    serveJob({
      name: 'pages',
      prepare: job({ name: 'read' }, (text: string) => text),
      item: job({ name: 'page', retries: 0 }, ({ index }: ItemInput<string>, { log }) => {
        log(`page ${index}`)
        if (index === -1) throw new Error('torn')
        return index
      }),
      total: 2,
    }),
  ]
  return { list, fail: () => fail.reject(new TypeError('never')) }
}

/** The content of a run: its end, then `node state attempt error` and the lines of its log, in order. */
async function told(journal: Journal, title: string): Promise<readonly string[]> {
  const found = (await journal.runs()).filter((run) => run.title === title)
  assert.equal(found.length, 1, title)
  const lines: string[] = []
  for await (const entry of journal.history(found[0]!.id)) {
    if (entry.kind === 'log') lines.push(`${entry.node}: ${entry.text}`)
    if (entry.kind !== 'node' || entry.node === 'input') continue
    const error = entry.error === undefined ? '' : ` ${entry.error.message}`
    lines.push(`${entry.node} ${entry.state} ${entry.attempt}${error}`)
  }
  return [found[0]!.state, ...lines]
}

for (const [name, addressOf] of Object.entries(stores)) {
  test(`H1, H2 ${name}: two rows for a job without logs; retries, errors and logs add those of a run; a job that was waited for writes none`, async () => {
    const store = addressOf()
    {
      const { list, fail } = jobs()
      await using server = await startServer({ jobs: list, store, port: 0, threads: 1 })
      const waited = await call(server, '/jobs/silent?wait=600000', { body: 1 })
      assert.equal(waited.body['result'], 1)
      for (const [title, input] of [
        ['silent', 2],
        ['chatty', 3],
        ['flaky', 4],
        ['broken', 5],
        ['pages', 'six'],
      ] as const) {
        const { status, body } = await call(server, `/jobs/${title}`, { body: input })
        assert.equal(status, 202, JSON.stringify(body))
        if (title === 'broken') fail()
        const total = title === 'pages' ? 2 : 1
        for (let index = 0; index < total; index++) {
          await call(server, `/results/${String(body['handle'])}/${-index}?wait=600000`)
        }
      }
      // A result is answered before its work has ended: stopped now, it would be put back.
      await quiet(server)
    }
    await using journal = await openJournal(store)
    await using database = await openStore(store)
    const titles = (await journal.runs()).map(({ title }) => title)
    assert.deepEqual(titles.toSorted(), ['broken', 'chatty', 'flaky', 'pages'])
    assert.deepEqual(await told(journal, 'chatty'), [
      'finished',
      'prepare ready 0',
      'prepare running 0',
      'prepare: got 3',
      'prepare succeeded 0',
    ])
    assert.deepEqual(await told(journal, 'flaky'), [
      'finished',
      'prepare ready 0',
      'prepare running 0',
      'prepare retrying 1 not yet',
      'prepare ready 1',
      'prepare running 1',
      'prepare succeeded 1',
    ])
    assert.deepEqual(await told(journal, 'broken'), [
      'finished',
      'prepare ready 0',
      'prepare running 0',
      'prepare failed 0 never',
    ])
    const pages = await told(journal, 'pages')
    assert.deepEqual(pages.slice(0, 5), [
      'finished',
      'prepare ready 0',
      'prepare running 0',
      'prepare succeeded 0',
      'items running 0',
    ])
    assert.deepEqual(pages.slice(5, -1).toSorted(), [
      'items: -1: failed: torn',
      'items: -1: page -1',
      'items: 0: page 0',
    ])
    assert.match(pages.at(-1)!, /^items failed 0 torn/)
    const all = Array.from({ length: 256 }, (_, shard) => shard)
    assert.deepEqual(await database.openJobs(all), [])
    // One for each acknowledgement; a request that only waited has none.
    const { outcomes } = await journal.prune!({ before: Date.now() + 3_600_000, dryRun: true })
    assert.equal(outcomes, 5)
  })
}
