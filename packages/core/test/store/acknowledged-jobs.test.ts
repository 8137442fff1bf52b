import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { AcknowledgedJobs, type JobRow } from '../../src/store/acknowledged-jobs.ts'
import { serviceConformance } from '../../src/testing/service-conformance.ts'

/** The role on one shard, with jobs that end when the test says so or when they are aborted. */
async function setUp() {
  const clock = new VirtualClock()
  const rows: JobRow[] = []
  const ends = new Map<string, (outcome: string | undefined) => void>()
  const reasons: unknown[] = []
  const grant = { shard: 0, epoch: 1 }
  const jobs = new AcknowledgedJobs({
    ownership: { trusts: () => true, epochOf: () => 1 },
    committer: { write: async (_, written) => void rows.push(...written) },
    database: { openJobs: async () => [] },
    kernel: { clock, random: seededRandom(1) },
    shards: 1,
    runner: {
      has: () => true,
      run: ({ handle }, signal) =>
        new Promise((resolve, reject) => {
          ends.set(handle, resolve)
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason)
            reject(signal.reason as Error)
          })
        }),
    },
  })
  jobs.acquired(grant)
  await clock.settle()
  const acknowledge = (handle: string): Promise<string> =>
    jobs.acknowledge({ handle, job: 'work', version: '1', input: new Uint8Array(0) })
  return { clock, jobs, rows, ends, reasons, acknowledge }
}

serviceConformance('acknowledged jobs', async () => {
  const { clock, jobs, acknowledge } = await setUp()
  const occupy = async (): Promise<void> => void (await acknowledge('a'))
  return { service: jobs, occupy, held: () => clock.pending }
})

test('stop() waits for attempts under way, records their outcome, and acknowledges nothing more', async () => {
  const { clock, jobs, rows, ends, acknowledge } = await setUp()
  await acknowledge('a')
  const stopped = jobs.stop()
  await assert.rejects(acknowledge('b'), { code: 'HDL_CLOSED' })
  ends.get('a')!('done')
  await stopped
  assert.deepEqual(rows.at(-1), { kind: 'job-ended', handle: 'a', outcome: 'done' })
  const { state, open, running } = jobs.stats()
  assert.deepEqual([state, open, running, clock.pending], ['stopped', 0, 0, 0])
})

test('an attempt that is cut off at the deadline stays open, for the next owner', async () => {
  const { clock, jobs, rows, reasons, acknowledge } = await setUp()
  await acknowledge('a')
  const stopped = jobs.stop({ deadline: 100 })
  await clock.advance(100)
  await stopped
  assert.match(String(reasons[0]), /cancelled \(shutdown\): the server stops/)
  assert.deepEqual(
    rows.map(({ kind }) => kind),
    ['job-acknowledged', 'job-started'],
  )
  assert.equal(jobs.stats().open, 1)
})

test('C5: a job that its runner puts back runs again while its server goes on', async () => {
  const { clock, jobs, rows, ends, acknowledge } = await setUp()
  await acknowledge('a')
  ends.get('a')!(undefined)
  await clock.settle()
  assert.deepEqual(rows.at(-1), { kind: 'job-put-back', handle: 'a' })
  ends.clear()
  await clock.advance(500)
  ends.get('a')!('done')
  await clock.settle()
  assert.deepEqual(rows.at(-1), { kind: 'job-ended', handle: 'a', outcome: 'done' })
  assert.equal(jobs.stats().open, 0)
  await jobs.stop()
})
