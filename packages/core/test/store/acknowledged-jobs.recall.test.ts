/** The reads of a server when it starts or takes over: on a file and on PostgreSQL. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { Client } from 'pg'
import { openStore, type OpenStore } from '../../src/journal/open-store.ts'
import { systemKernel } from '../../src/kernel/kernel.ts'
import { AcknowledgedJobs, type JobRow } from '../../src/store/acknowledged-jobs.ts'
import { shardOf } from '../../src/store/shard-of.ts'
import { Shards } from '../../src/store/shards.ts'

let postgres: TestDatabase
let folder: string
before(async () => {
  postgres = await openDatabase()
  folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-recall-'))
})
after(async () => {
  await postgres[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const pending = 3_000

/** A dead server has acknowledged this many jobs; the first two were running. */
async function leave(store: OpenStore): Promise<readonly string[]> {
  await store.renew('earlier', 60_000)
  const grants = await store.acquire('earlier', 256)
  await store.openSession('earlier', 'earlier/1')
  const handles = Array.from({ length: pending }, (_, index) => `job ${index}`)
  const byShard = Map.groupBy(handles, (handle) => shardOf(handle))
  const input = new Uint8Array(100)
  const batches = Array.from(byShard, ([shard, names]) => ({
    ...grants.find((grant) => grant.shard === shard)!,

    rows: names.map((handle): JobRow => ({
      kind: 'job-acknowledged',
      handle,
      job: 'weave',
      version: '1',
      input,
    })),
  }))
  await store.commit('earlier/1', 1, batches)
  for (const [index, handle] of handles.slice(0, 2).entries()) {
    const grant = grants.find(({ shard }) => shard === shardOf(handle))!
    const rows: JobRow[] = [{ kind: 'job-started', handle }]
    await store.commit('earlier/1', 2 + index, [{ ...grant, rows }])
  }
  await store.release('earlier', grants)
  await store.renew('earlier', 0)
  return handles
}

/** Starts a server on the store; resolves when every job was begun, with how often the open jobs were asked for. */
async function recall(store: OpenStore): Promise<{ readonly questions: number; begun: string[] }> {
  let questions = 0
  const begun: string[] = []
  const { promise: allBegun, resolve } = Promise.withResolvers<void>()
  const shards = new Shards({ server: 'now', database: store, kernel: systemKernel, isAlone: true })
  const { ownership, committer } = shards
  const jobs = new AcknowledgedJobs({
    ownership,
    committer,
    kernel: systemKernel,
    database: {
      openJobs: (wanted) => {
        questions++
        return store.openJobs(wanted)
      },
    },
    runner: {
      has: () => true,
      run: async ({ handle }) => {
        begun.push(handle)
        if (begun.length === pending) resolve()
        return 'done'
      },
    },
  })
  shards.add(jobs)
  await shards.start()
  await jobs.waitRead(256)
  await allBegun
  await jobs.stop()
  await shards.stop()
  return { questions, begun }
}

test('A5: 3,000 jobs in a file are recalled with one question', async () => {
  await using store = await openStore(`sqlite:${path.join(folder, 'serve.db')}`)
  const handles = await leave(store)
  const { questions, begun } = await recall(store)
  assert.equal(questions, 1)
  assert.deepEqual(begun.toSorted(), handles.toSorted())
  assert.deepEqual(begun.slice(-2).toSorted(), ['job 0', 'job 1'], 'what was running comes last')
})

test('A5: 3,000 jobs on PostgreSQL are recalled with one statement', async (t) => {
  await using store = await openStore(postgres.address)
  const handles = await leave(store)
  const query = t.mock.method(Client.prototype, 'query')
  const { questions, begun } = await recall(store)
  assert.equal(questions, 1)
  assert.equal(begun.length, handles.length)
  const statements = query.mock.calls.map(({ arguments: [asked] }) => {
    const { text = '' } = asked as unknown as { readonly text?: string }
    return text
  })
  const reads = statements.filter((text) => /\bFROM \w+\.job\b/.test(text))
  assert.equal(reads.length, 1, reads.join('\n'))
  const commits = statements.filter((text) => text.includes('.commit_'))
  assert.ok(commits.length < pending / 10, `${commits.length} commits for ${pending} ends`)
})
