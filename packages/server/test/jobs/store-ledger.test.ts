import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError, job } from '@heddle/core'
import {
  openJournal,
  openStore,
  shardOf,
  Shards,
  systemKernel,
  type StoreRow,
} from '@heddle/core/lowlevel'
import { StoreLedger } from '../../src/jobs/store-ledger.ts'
import { JobHistory } from '../../src/jobs/job-history.ts'
import { jobTable } from '../../src/jobs/job-table.ts'
import type { AcknowledgedWork, LedgerEntry } from '../../src/jobs/ledger.ts'
import { until } from '../../../core/test/kernel/until.ts'

const kernel = systemKernel
const double = job({ name: 'double' }, (n: number) => n * 2)

const work = (handle: string): AcknowledgedWork => ({
  job: 'double',
  handle,
  input: 1,
  tenant: 'acme',
  priority: 1,
  version: jobTable([double]).get('double')!.version,
  force: false,
})

/** A store in which three servers have died while they worked on each of these handles. */
async function storeWithSuspects(...handles: string[]) {
  const store = await openStore('memory', { kernel })
  await store.renew('earlier', 60_000)
  const grants = await store.acquire('earlier', 256)
  await store.openSession('earlier', 'earlier/1')
  let number = 0
  for (const handle of handles) {
    const id = `${handle} earlier`
    const input = new TextEncoder().encode(JSON.stringify(work(handle)))
    const started: StoreRow = { kind: 'job-started', handle: id }
    const interrupted: StoreRow = { kind: 'job-interrupted', handle: id, setAside: false }
    const { version } = work(handle)
    const rows: StoreRow[] = [
      { kind: 'job-acknowledged', handle: id, job: 'double', version, input },
      started,
      interrupted,
      started,
      interrupted,
      started,
    ]
    const grant = grants.find(({ shard }) => shard === shardOf(handle))!
    await store.commit('earlier/1', ++number, [{ ...grant, rows }])
  }
  await store.release('earlier', grants)
  await store.renew('earlier', 0)
  return store
}

async function aborted(signal: AbortSignal): Promise<never> {
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
  throw signal.reason
}

/** A server on it, whose service begins each job and ends it at once, except for the handle `slow`. */
async function setUp(...handles: string[]) {
  return setUpWith([], ...handles)
}

/** The first take-overs fail with these errors. */
async function setUpWith(failures: Error[], ...handles: string[]) {
  const store = await storeWithSuspects(...handles)
  const shards = new Shards({ server: 'now', database: store, kernel })
  const jobs = jobTable([double])
  const journal = await openJournal('memory')
  const ledger = new StoreLedger({
    shards,
    database: store,
    kernel,
    jobs,
    history: {
      of: () =>
        new JobHistory({ journal, kernel, onProblem: () => undefined }).of(
          'x',
          jobs.get('double')!,
          work('x'),
          false,
        ),
    },
    onProblem: (what, error) => assert.fail(`${what}: ${String(error)}`),
  })
  const taken: AcknowledgedWork[] = []
  ledger.connect({
    async takeOver(was: AcknowledgedWork, entry: LedgerEntry, signal: AbortSignal) {
      if (was.handle === 'slow') return aborted(signal)
      const failure = failures.shift()
      if (failure !== undefined) throw failure
      taken.push(was)
      entry.end('finished')
    },
    handOver: () => undefined,
  })
  await shards.start()
  await until(() => ledger.setAside().length === handles.length)
  return {
    store,
    ledger,
    taken,
    async [Symbol.asyncDispose]() {
      await ledger.acknowledged.stop()
      await shards.stop()
      await store[Symbol.asyncDispose]()
    },
  }
}

test('L4: a job that was set aside is listed with its tenant, and runs again when it is retried', async () => {
  await using set = await setUp('h1', 'h2')
  const { store, ledger, taken } = set
  const all = Array.from({ length: 256 }, (_, shard) => shard)
  assert.deepEqual(
    ledger
      .setAside()
      .toSorted((a, b) => (a.handle < b.handle ? -1 : 1))
      .map(({ handle, tenant, interruptions }) => [handle, tenant, interruptions]),
    [
      ['h1', 'acme', 3],
      ['h2', 'acme', 3],
    ],
  )
  assert.deepEqual(taken, [])
  await ledger.retry('h1')
  await until(async () => (await store.openJobs(all)).length === 1)
  assert.deepEqual(
    taken.map(({ handle }) => handle),
    ['h1'],
  )
  assert.deepEqual(await store.familyOutcomes('h1'), ['finished acme', 'retried'])
  assert.deepEqual(
    ledger.setAside().map(({ handle }) => handle),
    ['h2'],
  )
  // A second retry finds nothing.
  await ledger.retry('h1')
  assert.equal(taken.length, 1)
  await ledger.endSetAside('h2')
  assert.deepEqual(await store.familyOutcomes('h2'), ['cancelled'])
  assert.deepEqual(await store.openJobs(all), [])
  assert.deepEqual(ledger.setAside(), [])
})

test('a shard that is lost while its work is taken over ends the attempt and nothing else', async () => {
  await using set = await setUp()
  const controller = new AbortController()
  const input = new TextEncoder().encode(JSON.stringify(work('slow')))
  const { version } = work('slow')
  const request = { handle: 'slow', job: 'double', version, input }
  const ended = set.ledger.run(request, {
    signal: controller.signal,
    isRecalled: true,
    begin: async () => undefined,
    rest: () => undefined,
  })
  controller.abort(new HeddleError('HDL_OWNERSHIP_LOST', { shard: 1, epoch: 1 }))
  await assert.rejects(ended)
  // A rejection without a handler would end the process, and this test with it, in this turn.
  await new Promise(setImmediate)
})

test('L5: a job that cannot be continued for now is put back, not ended', async () => {
  const full = new HeddleError('HDL_DRAINING', { what: 'This server' })
  const later = new HeddleError('HDL_TIMEOUT', { what: 'A seat', limit: 5 })
  await using set = await setUpWith([full, later], 'h1')
  const { store, ledger, taken } = set
  await ledger.retry('h1')
  const all = Array.from({ length: 256 }, (_, shard) => shard)
  await until(async () => (await store.openJobs(all)).length === 0)
  assert.deepEqual(
    taken.map(({ handle }) => handle),
    ['h1'],
  )
})
