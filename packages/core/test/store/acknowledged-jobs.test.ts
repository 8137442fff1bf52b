import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError } from '../../src/errors.ts'
import { seededRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import {
  AcknowledgedJobs,
  type Declined,
  type JobAttempt,
  type JobRow,
  type OpenJob,
} from '../../src/store/acknowledged-jobs.ts'
import { serviceConformance } from '../../src/testing/service-conformance.ts'

interface Started {
  readonly attempt: JobAttempt
  readonly end: (outcome: string | Declined | undefined) => void
}

const open = (handle: string, more: Partial<OpenJob> = {}): OpenJob => ({
  handle,
  job: 'work',
  version: '1',
  input: new Uint8Array(0),
  started: false,
  interruptions: 0,
  setAside: false,
  ...more,
})

const storeAway = { store: 'The store', action: 'be written', cause: 'it is away' }

/** The role on one shard, with jobs that end when the test says so or when they are aborted. */
async function setUp(left: readonly OpenJob[] = [], store = { isAway: false }) {
  const clock = new VirtualClock()
  const rows: JobRow[] = []
  const started = new Map<string, Started>()
  const reasons: unknown[] = []
  let reads = 0
  const jobs = new AcknowledgedJobs({
    ownership: { trusts: () => true, epochOf: () => 1 },
    committer: {
      write: async (_, written) => {
        if (store.isAway) throw new HeddleError('HDL_STORE_FAILED', storeAway)
        rows.push(...written)
      },
    },
    database: {
      openJobs: async () => {
        reads++
        return left
      },
    },
    kernel: { clock, random: seededRandom(1) },
    shards: 1,
    runner: {
      has: (_, version) => version === '1',
      run: async ({ handle }, attempt) => {
        await attempt.begin()
        const { signal } = attempt
        return new Promise((end, reject) => {
          started.set(handle, { attempt, end })
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason)
            reject(signal.reason as Error)
          })
        })
      },
    },
  })
  jobs.acquired({ shard: 0, epoch: 1 })
  await clock.settle()
  const acknowledge = (handle: string): Promise<string> =>
    jobs.acknowledge({ handle, job: 'work', version: '1', input: new Uint8Array(0) })
  const kinds = (handle: string): string[] =>
    rows.flatMap((row) => (row.handle === handle ? [row.kind] : []))
  return { clock, jobs, store, rows, kinds, started, reasons, acknowledge, reads: () => reads }
}

serviceConformance('acknowledged jobs', async () => {
  const { clock, jobs, acknowledge } = await setUp()
  const occupy = async (): Promise<void> => void (await acknowledge('a'))
  return { service: jobs, occupy, held: () => clock.pending }
})

test('a short job costs two rows; one whose code still runs after a few milliseconds a third', async () => {
  const { clock, jobs, kinds, started, acknowledge } = await setUp()
  await acknowledge('short')
  await acknowledge('long')
  await clock.settle()
  started.get('short')!.end('done')
  await clock.settle()
  await clock.advance(5)
  started.get('long')!.end('done')
  await clock.settle()
  assert.deepEqual(kinds('short'), ['job-acknowledged', 'job-ended'])
  assert.deepEqual(kinds('long'), ['job-acknowledged', 'job-started', 'job-ended'])
  assert.equal(clock.pending, 0)
  await jobs.stop()
})

test('A5: a row that says that a job runs is written when the store is back, while the job runs', async () => {
  const { clock, jobs, store, kinds, started, acknowledge } = await setUp()
  await acknowledge('long')
  await acknowledge('ended meanwhile')
  await clock.settle()
  store.isAway = true
  await clock.advance(5)
  assert.deepEqual(kinds('long'), ['job-acknowledged'])
  store.isAway = false
  started.get('ended meanwhile')!.end('done')
  await clock.advance(500)
  assert.deepEqual(kinds('long'), ['job-acknowledged', 'job-started'])
  assert.deepEqual(kinds('ended meanwhile'), ['job-acknowledged', 'job-ended'])
  started.get('long')!.end('done')
  await clock.settle()
  assert.equal(clock.pending, 0)
  await jobs.stop()
})

test('a suspended job is not under way: a crash during that time does not count', async () => {
  const { clock, jobs, kinds, started, acknowledge } = await setUp()
  await acknowledge('a')
  await clock.advance(5)
  const { attempt, end } = started.get('a')!
  attempt.rest()
  // A short run between two rests is not worth a row.
  await attempt.begin()
  attempt.rest()
  await attempt.begin()
  await clock.advance(5)
  end('done')
  await clock.settle()
  assert.deepEqual(kinds('a'), [
    'job-acknowledged',
    'job-started',
    'job-put-back',
    'job-started',
    'job-ended',
  ])
  await jobs.stop()
})

test('A5: 3,000 open jobs are recalled in one query; only the running ones are suspects, the rest runs at once', async () => {
  const left = Array.from({ length: 3_000 }, (_, n) => open(`job ${n}`, { started: n < 2 }))
  const { clock, jobs, rows, kinds, started, reads } = await setUp(left)
  await jobs.waitRead(1)
  assert.equal(reads(), 1)
  assert.deepEqual(
    rows.filter(({ kind }) => kind === 'job-interrupted').map(({ handle }) => handle),
    ['job 0', 'job 1'],
  )
  assert.equal(started.size, 2_999, 'of two suspects one waits for the other')
  assert.deepEqual([...started.keys()].at(-1), 'job 0')
  // A row says that it runs before it runs again.
  assert.deepEqual(kinds('job 2'), ['job-started'])
  started.get('job 0')!.end('done')
  await clock.settle()
  assert.ok(started.has('job 1'))
  await jobs.stop({ deadline: 0 })
})

test('A2: a job that is recalled runs when its row is durable, however often it is asked to begin', async () => {
  const clock = new VirtualClock()
  const { promise: written, resolve: write } = Promise.withResolvers<undefined>()
  const begun: string[] = []
  const jobs = new AcknowledgedJobs({
    ownership: { trusts: () => true, epochOf: () => 1 },
    committer: { write: () => written },
    database: { openJobs: async () => [open('a')] },
    kernel: { clock, random: seededRandom(1) },
    shards: 1,
    runner: {
      has: () => true,
      run: async (_, { begin }) => {
        // One reports that it starts, the other waits until it may.
        await Promise.all([
          begin().then(() => begun.push('first')),
          begin().then(() => begun.push('second')),
        ])
        return 'done'
      },
    },
  })
  jobs.acquired({ shard: 0, epoch: 1 })
  await clock.settle()
  assert.deepEqual(begun, [])
  write(undefined)
  await clock.settle()
  assert.deepEqual(begun, ['first', 'second'])
  await jobs.stop()
})

test('A5: a suspect that rests makes room for the next one', async () => {
  const left = [open('a', { started: true }), open('b', { started: true })]
  const { clock, jobs, started } = await setUp(left)
  assert.deepEqual([...started.keys()], ['a'])
  started.get('a')!.attempt.rest()
  await clock.settle()
  assert.deepEqual([...started.keys()], ['a', 'b'])
  await jobs.stop({ deadline: 0 })
})

test('A5: a job that was interrupted three times is set aside, listed, and ended by an operator', async () => {
  const left = [
    open('third', { started: true, interruptions: 2 }),
    open('second', { started: true, interruptions: 1 }),
    open('before', { interruptions: 3, setAside: true }),
  ]
  const { jobs, rows, started } = await setUp(left)
  assert.deepEqual([...started.keys()], ['second'])
  assert.deepEqual(
    jobs.setAside().map(({ handle, interruptions }) => [handle, interruptions]),
    [
      ['third', 3],
      ['before', 3],
    ],
  )
  await jobs.endSetAside('third', 'cancelled')
  assert.deepEqual(rows.at(-1), { kind: 'job-ended', handle: 'third', outcome: 'cancelled' })
  assert.deepEqual(
    jobs.setAside().map(({ handle }) => handle),
    ['before'],
  )
  await jobs.stop({ deadline: 0 })
})

test('a job is ended from outside wherever it stands, and its end is durable when that resolves', async () => {
  const left = [open('first', { started: true }), open('second', { started: true })]
  const { clock, jobs, rows, started, reasons, acknowledge } = await setUp(left)
  for (const handle of ['runs', 'put back']) await acknowledge(handle)
  await clock.settle()
  started.get('put back')!.end(undefined)
  await clock.settle()
  assert.deepEqual(
    jobs.queued().map(({ handle, waitsAs }) => [handle, waitsAs]),
    [
      ['second', 'suspect'],
      ['put back', 'put back'],
    ],
  )
  assert.deepEqual(jobs.open(0), ['first', 'second', 'runs', 'put back'])
  for (const handle of ['second', 'put back', 'runs', 'first', 'unknown']) {
    const before = rows.length
    await jobs.end(handle, 'cancelled')
    const end = { kind: 'job-ended', handle, outcome: 'cancelled' }
    assert.deepEqual(rows.slice(before), handle === 'unknown' ? [] : [end])
  }
  assert.equal(reasons.length, 2, 'those that ran were aborted')
  await clock.advance(60_000)
  assert.deepEqual(jobs.open(0), [])
  assert.deepEqual([...started.keys()].toSorted(), ['first', 'put back', 'runs'])
  assert.deepEqual([jobs.stats().running, clock.pending], [0, 0])
  await jobs.stop()
})

test('a job whose end is on its way to the store keeps that outcome when it is ended from outside', async () => {
  const { clock, jobs, kinds, rows, started, acknowledge } = await setUp()
  await acknowledge('a')
  await clock.settle()
  started.get('a')!.end('done')
  await Promise.all([jobs.end('a', 'cancelled'), clock.settle()])
  const outcomes = rows.flatMap((row) => (row.kind === 'job-ended' ? [row.outcome] : []))
  assert.equal(outcomes.length, 1)
  assert.deepEqual(kinds('a').at(-1), 'job-ended')
  await jobs.stop()
})

test('C13: a job of a version that this server lacks waits, visibly', async () => {
  const { jobs, started } = await setUp([open('new', { version: '2' })])
  assert.equal(started.size, 0)
  assert.deepEqual(
    jobs.waiting().map(({ handle, version }) => [handle, version]),
    [['new', '2']],
  )
  await jobs.stop()
})

test('a job that its runner declines stays open in the store and is listed with the reason', async () => {
  const { clock, jobs, kinds, started, acknowledge } = await setUp()
  await acknowledge('a')
  await clock.settle()
  started.get('a')!.end({ declined: 'its input is not taken any more' })
  await clock.settle()
  assert.deepEqual(kinds('a'), ['job-acknowledged'])
  assert.deepEqual(
    jobs.setAside().map(({ handle, reason }) => [handle, reason]),
    [['a', 'its input is not taken any more']],
  )
  await jobs.stop()
})

test('a job from another record of acknowledged jobs keeps its interruptions', async () => {
  const { jobs, kinds, started } = await setUp()
  const request = { job: 'work', version: '1', input: new Uint8Array(0) }
  await jobs.acknowledge({ ...request, handle: 'twice' }, 2)
  await jobs.acknowledge({ ...request, handle: 'often' }, 3)
  const interrupted = ['job-started', 'job-interrupted']
  assert.deepEqual(kinds('often'), [
    'job-acknowledged',
    ...interrupted,
    ...interrupted,
    ...interrupted,
  ])
  assert.deepEqual(
    jobs.setAside().map(({ handle }) => handle),
    ['often'],
  )
  assert.deepEqual([...started.keys()], ['twice'])
  await jobs.stop({ deadline: 0 })
})

test('stop() waits for attempts under way, records their outcome, and acknowledges nothing more', async () => {
  const { clock, jobs, rows, started, acknowledge } = await setUp()
  await acknowledge('a')
  await clock.settle()
  const stopped = jobs.stop()
  await assert.rejects(acknowledge('b'), { code: 'HDL_CLOSED' })
  started.get('a')!.end('done')
  await stopped
  assert.deepEqual(rows.at(-1), { kind: 'job-ended', handle: 'a', outcome: 'done' })
  const { state, open: left, running } = jobs.stats()
  assert.deepEqual([state, left, running, clock.pending], ['stopped', 0, 0, 0])
})

test('an attempt that is cut off at the deadline stays open, for the next owner', async () => {
  const { clock, jobs, kinds, reasons, acknowledge } = await setUp()
  await acknowledge('a')
  const stopped = jobs.stop({ deadline: 100 })
  await clock.advance(100)
  await stopped
  assert.match(String(reasons[0]), /cancelled \(shutdown\): the server stops/)
  assert.deepEqual(kinds('a'), ['job-acknowledged', 'job-started'])
  assert.equal(jobs.stats().open, 1)
})

test('A5: what is put back while the process ends by an uncaught error counts as interrupted', async () => {
  const { clock, jobs, kinds, started, acknowledge } = await setUp()
  await acknowledge('a')
  await clock.settle()
  // Its code has run for less than the time after which a row says so.
  jobs.blameRunning()
  started.get('a')!.end(undefined)
  await clock.settle()
  assert.deepEqual(kinds('a'), ['job-acknowledged', 'job-started'])
  await jobs.stop({ deadline: 0 })
  assert.equal(clock.pending, 0)
})

test('C5: a job that its runner puts back runs again on the same server', async () => {
  const { clock, jobs, rows, started, acknowledge } = await setUp()
  await acknowledge('a')
  await clock.advance(5)
  started.get('a')!.end(undefined)
  await clock.settle()
  assert.deepEqual(rows.at(-1), { kind: 'job-put-back', handle: 'a' })
  started.clear()
  await clock.advance(500)
  started.get('a')!.end('done')
  await clock.settle()
  assert.deepEqual(rows.at(-1), { kind: 'job-ended', handle: 'a', outcome: 'done' })
  assert.equal(jobs.stats().open, 0)
  await jobs.stop()
})

test('law 6: a recalled job whose start could not be written runs when the store is back', async () => {
  const { clock, jobs, store, rows, started } = await setUp([open('a')], { isAway: true })
  assert.equal(started.size, 0)
  store.isAway = false
  await clock.advance(1_000)
  started.get('a')!.end('done')
  await clock.settle()
  assert.deepEqual(rows.at(-1), { kind: 'job-ended', handle: 'a', outcome: 'done' })
  assert.equal(jobs.stats().open, 0)
  await jobs.stop()
})
