/** The other data that a prune removes besides runs, wherever the journal and the store are. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { openJournal } from '../../src/journal/open-journal.ts'
import { openStore } from '../../src/journal/open-store.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { chooseRuns, outcomesBefore } from '../../src/journal/prune.ts'
import type { JobRow } from '../../src/store/acknowledged-jobs.ts'

let postgres: TestDatabase
let folder: string
before(async () => {
  postgres = await openDatabase()
  folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-prune-'))
})
after(async () => {
  await postgres[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const addresses = {
  sqlite: () => `sqlite:${path.join(folder, 'runs.db')}`,
  postgres: () => postgres.address,
}

/** More than one step of a prune looks at. */
const count = 2_500

for (const [name, addressOf] of Object.entries(addresses)) {
  test(`${name}: outcomes of acknowledged jobs go with the runs of their time, in slices; a dry run only counts them`, async () => {
    const address = addressOf()
    await using journal = await openJournal(address)
    const ages = { before: Date.now() + 3_600_000 }
    assert.deepEqual(await journal.prune!(ages), { runs: [], bytes: 0, outcomes: 0 })
    await using store = await openStore(address)
    await store.renew('a', 600_000)
    const [grant] = await store.acquire('a', 256)
    await store.openSession('a', 'a/1')
    const handles = Array.from({ length: count }, (_, index) => `job ${index}`)
    const rows = handles.flatMap((handle): JobRow[] => [
      { kind: 'job-acknowledged', handle, job: 'weave', version: '1', input: Uint8Array.of(1) },
      { kind: 'job-ended', handle, outcome: 'finished' },
    ])
    const open: JobRow = { ...rows[0]!, handle: 'open' }
    await store.commit('a/1', 1, [{ ...grant!, rows: [...rows, open] }])
    assert.equal((await journal.prune!({ before: Date.now() - 3_600_000 })).outcomes, 0)
    assert.equal((await journal.prune!({ keep: 0 })).outcomes, 0, 'no run goes')
    assert.equal((await journal.prune!({ ...ages, dryRun: true })).outcomes, count)
    assert.deepEqual(await store.familyOutcomes('job'), ['finished'])
    assert.equal((await journal.prune!(ages)).outcomes, count)
    assert.deepEqual(await store.familyOutcomes('job'), [])
    assert.equal((await store.openJobs([grant!.shard])).length, 1, 'what is open stays')
  })
}

test('without an age, outcomes older than the newest pruned run are pruned with it', () => {
  const run = (startedAt: number, endedAt?: number) =>
    ({ startedAt, ...(endedAt !== undefined && { endedAt }) }) as never
  assert.equal(outcomesBefore({ keep: 1 }, [run(5, 9), run(3), run(1, 12)]), 12)
  assert.equal(outcomesBefore({ keep: 1 }, []), -Infinity)
  assert.equal(outcomesBefore({ keep: 1, before: 4 }, [run(5, 9)]), 4)
})

for (const [title, options, sized] of [
  ['by age only those that go are weighed', { before: 50 }, ['old']],
  ['by size all are weighed, also those that run', { maxBytes: 5 }, ['running', 'new', 'old']],
] as const) {
  test(`choosing runs: ${title}`, async () => {
    const ages = [
      { id: 'running', state: 'running', startedAt: 1 },
      { id: 'new', state: 'finished', startedAt: 60, endedAt: 90 },
      { id: 'old', state: 'finished', startedAt: 10, endedAt: 20 },
    ] as const
    const pages = [ages.slice(0, 2), ages.slice(2), []]
    const weighed: string[] = []
    const chosen = await chooseRuns(
      options,
      {
        nextPage: () => Promise.resolve(pages.shift()!),
        bytesOf: (runs) => {
          weighed.push(...runs.map(({ id }) => id))
          return Promise.resolve(runs.map(() => 3))
        },
        summariesOf: (runs) => Promise.resolve(runs.map(({ id }) => ({ id }) as never)),
      },
      systemClock,
    )
    assert.deepEqual(weighed, sized)
    const goes = 'maxBytes' in options ? ['new', 'old'] : ['old']
    assert.deepEqual(
      chosen.map(({ id, bytes }) => [id, bytes]),
      goes.map((id) => [id, 3]),
    )
  })
}
