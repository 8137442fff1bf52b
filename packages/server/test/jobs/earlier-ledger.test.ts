/**
 * The fixture was written by the last version that kept acknowledged work as runs of the journal: three requests for `hold`,
 * inputs 1, 2 and 3; the server was killed three times while the first was running.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { job } from '@heddle/core'
import { openJournal, systemKernel } from '@heddle/core/lowlevel'
import { EarlierLedger } from '../../src/jobs/earlier-ledger.ts'
import { startServer } from '../../src/server.ts'
import { call } from '../support/client.ts'
import { until } from '../../../core/test/kernel/until.ts'

const fixture = path.join(import.meta.dirname, 'fixtures/acknowledged-as-runs.db.gz')

test('C11: jobs acknowledged by an earlier version are found with their crashes, done once, and their runs are ended', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-earlier-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const store = `sqlite:${path.join(folder, 'serve.db')}`
  await writeFile(path.join(folder, 'serve.db'), gunzipSync(readFileSync(fixture)))
  {
    await using journal = await openJournal(store)
    const found = await new EarlierLedger(journal, systemKernel).unfinished()
    assert.deepEqual(
      found.map(({ work, crashes }) => [work.input, crashes]),
      [
        [1, 2],
        [2, 1],
        [3, 1],
      ],
    )
  }
  const done: number[] = []
  const hold = job({ name: 'hold' }, (n: number) => {
    done.push(n)
    return n * 10
  })
  const jobs = [hold]
  {
    await using server = await startServer({ jobs, store, port: 0, limits: { loopGap: Infinity } })
    await until(() => done.length === 3)
    const handle = 'hold-1fb73de247ad893573ebb4356d1606c320e33d5a82f93ee61bbf5a9faba3514e'
    const { body } = await call(server, `/results/${handle}/0?wait=600000`)
    assert.equal(body['result'], 10)
    await until(() => server.stats().works === 0)
  }
  await using server = await startServer({ jobs, store, port: 0, limits: { loopGap: Infinity } })
  assert.deepEqual((await call(server, '/computations')).body['computations'], [])
  assert.deepEqual(
    done.toSorted((a, b) => a - b),
    [1, 2, 3],
  )
  await using journal = await openJournal(store, { readOnly: true })
  assert.deepEqual(
    (await journal.runs()).map(({ state }) => state),
    ['cancelled', 'cancelled', 'cancelled'],
  )
})
