/** What the roles of a store rely on: D1 to D5 of store/database.ts, ownership, acknowledged jobs, messages. */
import assert from 'node:assert/strict'
import { systemKernel } from '../kernel/kernel.ts'
import {
  AcknowledgedJobs,
  type JobRequest,
  type JobRow,
  type JobRunner,
} from '../store/acknowledged-jobs.ts'
import { Committer } from '../store/committer.ts'
import type { Grant, ShardBatch } from '../store/database.ts'
import { Ownership } from '../store/ownership.ts'
import type { StoreDatabase, StoreRow } from '../store/roles.ts'
import { shardCount, shardOf } from '../store/shard-of.ts'
import type { StoreCase, StoreUnderTest } from './store-conformance.ts'

/** Milliseconds: longer than any test. */
const long = 600_000

const epochs = (grants: readonly Grant[]): Map<number, number> =>
  new Map(grants.map(({ shard, epoch }) => [shard, epoch]))

/** A server with a lease, all shards and a session. */
async function ownerOf(
  database: StoreDatabase,
  server = 'a',
): Promise<{ grants: readonly Grant[]; session: string }> {
  await database.renew(server, long)
  const grants = await database.acquire(server, shardCount)
  const session = `${server}/1`
  await database.openSession(server, session)
  return { grants, session }
}

function batch({ shard, epoch }: Grant, rows: readonly StoreRow[] = []): ShardBatch<StoreRow> {
  return { shard, epoch, rows }
}

/** The outcome of a job; undefined while it has none. */
async function outcomeOf(database: StoreDatabase, handle: string): Promise<string | undefined> {
  const [outcome] = await database.familyOutcomes(handle.slice(0, handle.indexOf(' ')))
  return outcome
}

/** A handle that belongs to this shard. */
function handleIn(shard: number, prefix = 'job'): string {
  for (let index = 0; ; index++) {
    if (shardOf(`${prefix}-${index} 1`) === shard) return `${prefix}-${index} 1`
  }
}

function acknowledged(name: string, more: Partial<JobRequest> = {}): JobRow {
  const input = Uint8Array.of(1, 2, 3)
  return { kind: 'job-acknowledged', handle: name, job: 'weave', version: '1', input, ...more }
}

const failed = { code: 'HDL_STORE_FAILED' }

export const storeCases: readonly StoreCase[] = [
  {
    title: 'D1: acquiring a shard raises its epoch by one, and two servers never get the same one',
    async run(store) {
      const [a, b] = [await store.connect(), await store.connect()]
      await Promise.all([a.renew('a', long), b.renew('b', long)])
      const both = await Promise.all([a.acquire('a', 200), b.acquire('b', 200)])
      const first = both.flat()
      assert.equal(new Set(first.map(({ shard }) => shard)).size, first.length)
      assert.ok(first.every(({ epoch }) => epoch === 1))
      const rest = await a.acquire('a', shardCount)
      assert.equal(first.length + rest.length, shardCount)
      assert.deepEqual(await b.acquire('b', shardCount), [])
      await b.release('b', both[1])
      const again = await a.acquire('a', shardCount)
      assert.deepEqual(epochs(again), new Map(both[1].map(({ shard }) => [shard, 2])))
    },
  },
  {
    title: 'C1: without a lease a server acquires nothing; with one it keeps its shards',
    async run(store) {
      const database = await store.connect()
      assert.deepEqual(await database.acquire('a', 5), [])
      await database.renew('a', 0)
      assert.deepEqual(await database.acquire('a', 5), [])
      await database.renew('a', long)
      assert.equal((await database.acquire('a', 5)).length, 5)
      await database.renew('b', long)
      const left = await database.acquire('b', shardCount)
      assert.equal(left.length, shardCount - 5)
      const { held, servers } = await database.renew('a', long)
      assert.equal(held.length, 5)
      assert.equal(servers, 2)
    },
  },
  {
    title:
      'C1: shards of a server whose lease has run out are acquired, and a late renewal reports the loss',
    async run(store) {
      const [a, b] = [await store.connect(), await store.connect()]
      await a.renew('a', long)
      await a.acquire('a', 3)
      await a.renew('a', 0)
      await b.renew('b', long)
      const taken = await b.acquire('b', 2)
      assert.deepEqual(
        taken.map(({ epoch }) => epoch),
        [2, 2],
      )
      const { held, servers } = await a.renew('a', long)
      assert.equal(held.length, 1)
      assert.equal(held[0]!.epoch, 1)
      assert.equal(servers, 2)
      // With its lease renewed the third is safe.
      assert.equal((await b.acquire('b', shardCount)).length, shardCount - 3)
    },
  },
  {
    title: 'C1: renewing and acquiring at the same moment never leave one shard with two owners',
    async run(store) {
      const [a, b] = [await store.connect(), await store.connect()]
      await a.renew('a', long)
      await a.acquire('a', 40)
      await b.renew('b', long)
      for (let round = 0; round < 20; round++) {
        await a.renew('a', 0)
        const [renewal, taken] = await Promise.all([a.renew('a', long), b.acquire('b', 2)])
        const lost = new Set(taken.map(({ shard }) => shard))
        const doubled = renewal.held.filter(({ shard }) => lost.has(shard))
        assert.deepEqual(doubled, [], `round ${round}`)
      }
    },
  },
  {
    title: 'C1: only the current grants of a server are released',
    async run(store) {
      const database = await store.connect()
      await database.renew('a', long)
      await database.renew('b', long)
      const [one, two] = await database.acquire('a', 2)
      await database.release('b', [one!])
      await database.release('a', [{ ...two!, epoch: 7 }])
      assert.equal((await database.renew('a', long)).held.length, 2)
      await database.release('a', [one!])
      await database.release('a', [one!])
      assert.deepEqual((await database.renew('a', long)).held, [two])
    },
  },
  {
    title: 'D2: a batch with an old epoch is refused as a whole, the others are written',
    async run(store) {
      const database = await store.connect()
      const { grants, session } = await ownerOf(database)
      const [one, two, three] = grants
      const names = [one, two, three].map((grant) => handleIn(grant!.shard))
      const answer = await database.commit(session, 1, [
        batch(one!, [acknowledged(names[0]!)]),
        batch({ ...two!, epoch: 9 }, [acknowledged(names[1]!)]),
        batch(three!, [acknowledged(names[2]!)]),
      ])
      assert.deepEqual(answer, [undefined, 'epoch', undefined])
      const open = await database.openJobs(grants.map(({ shard }) => shard))
      assert.deepEqual(
        open.map((job) => job.handle),
        [names[0], names[2]],
      )
      // Nothing of the refused batch is there.
      const again = await database.commit(session, 2, [batch(two!, [acknowledged(names[1]!)])])
      assert.deepEqual(again, [undefined])
    },
  },
  {
    title: 'D2: a server that was taken over writes nothing, also when it does not know yet',
    async run(store) {
      const [a, b] = [await store.connect(), await store.connect()]
      const { grants, session } = await ownerOf(a)
      await a.renew('a', 0)
      const next = await ownerOf(b, 'b')
      assert.equal(next.grants.length, shardCount)
      const name = handleIn(grants[0]!.shard)
      const rows = [acknowledged(name)]
      assert.deepEqual(await a.commit(session, 1, [batch(grants[0]!, rows)]), ['epoch'])
      assert.deepEqual(await b.openJobs([grants[0]!.shard]), [])
      const current = next.grants.find(({ shard }) => shard === grants[0]!.shard)!
      assert.deepEqual(await b.commit(next.session, 1, [batch(current, rows)]), [undefined])
    },
  },
  {
    title: 'D3: the commits of a session follow each other without gaps and without repetition',
    async run(store) {
      const database = await store.connect()
      const { grants, session } = await ownerOf(database)
      const name = handleIn(grants[0]!.shard)
      const batches = [batch(grants[0]!, [acknowledged(name)])]
      await assert.rejects(database.commit('nobody/1', 1, batches), failed)
      await assert.rejects(database.commit(session, 2, batches), failed)
      assert.deepEqual(await database.openJobs([grants[0]!.shard]), [])
      assert.deepEqual(await database.commit(session, 1, batches), [undefined])
      await assert.rejects(database.commit(session, 1, batches), failed)
      assert.deepEqual(await database.commit(session, 2, []), [])
      await database.openSession('a', 'a/2')
      assert.deepEqual(await database.commit('a/2', 1, []), [])
    },
  },
  {
    title:
      'D4: a fence answers with the last commit, and nothing of the session is written after it',
    async run(store) {
      const [database, other] = [await store.connect(), await store.connect()]
      const { grants, session } = await ownerOf(database)
      assert.deepEqual(await other.fence('nobody/1'), { last: 0, answer: [] })
      await database.commit(session, 1, [batch(grants[0]!)])
      const second = await database.commit(session, 2, [
        batch({ ...grants[1]!, epoch: 5 }),
        batch(grants[2]!),
      ])
      const expected = ['epoch', undefined]
      assert.deepEqual(second, expected)
      assert.deepEqual(await other.fence(session), { last: 2, answer: expected })
      await assert.rejects(database.commit(session, 3, [batch(grants[0]!)]), failed)
      // Opening it again, as a call that was late would, changes nothing.
      await database.openSession('a', session)
      await assert.rejects(database.commit(session, 3, [batch(grants[0]!)]), failed)
      assert.deepEqual(await other.fence(session), { last: 2, answer: expected })
    },
  },
  {
    title: 'D4: a fence and a commit at the same moment agree about the written rows',
    async run(store) {
      const [database, other] = [await store.connect(), await store.connect()]
      const { grants } = await ownerOf(database)
      for (let round = 0; round < 20; round++) {
        const session = `a/round-${round}`
        await database.openSession('a', session)
        const [commit, fence] = await Promise.allSettled([
          database.commit(session, 1, [batch(grants[0]!)]),
          other.fence(session),
        ])
        assert.ok(fence.status === 'fulfilled')
        // The answer of a late commit may be lost; the answer of a fence is never wrong.
        if (commit.status === 'fulfilled') assert.equal(fence.value.last, 1)
        else assert.equal(fence.value.last, 0)
        assert.equal((await other.fence(session)).last, fence.value.last)
      }
    },
  },
  {
    title: 'D5: rows that were written already change nothing',
    async run(store) {
      const database = await store.connect()
      const { grants, session } = await ownerOf(database)
      const [grant] = grants
      const name = handleIn(grant!.shard)
      const write = (number: number, ...rows: StoreRow[]) =>
        database.commit(session, number, [batch(grant!, rows)])
      await database.commit(session, 1, [batch(grant!, [acknowledged(name)])])
      await write(2, { kind: 'job-started', handle: name })
      await write(3, acknowledged(name, { input: Uint8Array.of(9) }))
      const interrupted = { kind: 'job-interrupted', handle: name, setAside: false } as const
      await write(4, interrupted)
      await write(5, interrupted)
      const [open] = await database.openJobs([grant!.shard])
      assert.equal(open?.interruptions, 1)
      await write(6, { kind: 'job-ended', handle: name, outcome: 'done' })
      await write(7, { kind: 'job-ended', handle: name, outcome: 'another' })
      assert.equal(await outcomeOf(database, name), 'done')
      assert.deepEqual(await database.openJobs([grant!.shard]), [])
    },
  },
  {
    title: 'A5: open jobs are read in the order of their acknowledgement, with all their data',
    async run(store) {
      const [database, reader] = [await store.connect(), await store.connect()]
      const { grants, session } = await ownerOf(database)
      const [one, two] = grants
      const prefixes = ['z', 'y', 'x', 'w', 'v']
      const [z, y, x, w, v] = prefixes.map((prefix) => handleIn(one!.shard, prefix)) as [
        string,
        string,
        string,
        string,
        string,
      ]
      const elsewhere = handleIn(two!.shard)
      await database.commit(session, 1, [
        batch(
          one!,
          [z, y, x, w, v].map((name) => acknowledged(name)),
        ),
        batch(two!, [acknowledged(elsewhere)]),
      ])
      // Both rows in one commit, in this order.
      await database.commit(session, 2, [
        batch(one!, [{ kind: 'job-started', handle: z }]),
        batch(one!, [{ kind: 'job-started', handle: y }]),
        batch(one!, [{ kind: 'job-interrupted', handle: y, setAside: false }]),
        batch(one!, [{ kind: 'job-started', handle: x }]),
        batch(one!, [{ kind: 'job-interrupted', handle: x, setAside: false }]),
        batch(one!, [{ kind: 'job-started', handle: x }]),
        batch(one!, [{ kind: 'job-started', handle: w }]),
        batch(one!, [{ kind: 'job-interrupted', handle: w, setAside: true }]),
      ])
      await database.commit(session, 3, [
        batch(one!, [
          { kind: 'job-started', handle: v },
          { kind: 'job-ended', handle: v, outcome: 'ok' },
        ]),
      ])
      const open = await reader.openJobs([one!.shard])
      assert.deepEqual(
        open.map((job) => [job.handle, job.started, job.interruptions, job.setAside]),
        [
          [z, true, 0, false],
          [y, false, 1, false],
          [x, true, 1, false],
          [w, false, 1, true],
        ],
      )
      assert.equal(await outcomeOf(reader, v), 'ok')
      assert.equal(await outcomeOf(reader, z), undefined)
      const both = await reader.openJobs([two!.shard, one!.shard])
      assert.equal(both.length, 5)
      assert.deepEqual(await reader.openJobs([]), [])
    },
  },
  {
    title: 'C5: a job that is put back was not interrupted; the owners of shards are read',
    async run(store) {
      const database = await store.connect()
      assert.ok((await database.owners()).every((owner) => owner === undefined))
      const { grants, session } = await ownerOf(database)
      const [grant] = grants
      const name = handleIn(grant!.shard)
      await database.commit(session, 1, [
        batch(grant!, [acknowledged(name), { kind: 'job-started', handle: name }]),
      ])
      await database.commit(session, 2, [batch(grant!, [{ kind: 'job-put-back', handle: name }])])
      const interrupted = { kind: 'job-interrupted', handle: name, setAside: true } as const
      await database.commit(session, 3, [batch(grant!, [interrupted])])
      const [open] = await database.openJobs([grant!.shard])
      assert.deepEqual([open?.started, open?.interruptions, open?.setAside], [false, 0, false])
      await database.release('a', [grant!])
      const owners = await database.owners()
      assert.equal(owners.length, shardCount)
      assert.deepEqual(
        owners.map((owner, shard) => (owner === undefined ? shard : -1)).filter((n) => n >= 0),
        [grant!.shard],
      )
    },
  },
  {
    title: 'A1: data from a caller is stored unchanged: any text, any bytes',
    async run(store) {
      const database = await store.connect()
      const { grants, session } = await ownerOf(database)
      const texts = [
        '',
        'a\0b',
        '\ud800 alone',
        '\udc00\ud800',
        '\x1a0000',
        '{"a","b"}\\',
        "'; --",
        '❄',
      ]
      const inputs = [Uint8Array.from({ length: 256 }, (_, byte) => byte), new Uint8Array()]
      let number = 0
      for (const [index, text] of texts.entries()) {
        const input = inputs[index % 2]!
        const name = `h${index} 1${text}`
        const grant = grants.find(({ shard }) => shard === shardOf(name))!
        const row = acknowledged(name, { job: text, version: text, input })
        const answer = await database.commit(session, ++number, [batch(grant, [row])])
        assert.deepEqual(answer, [undefined])
        const found = (await database.openJobs([grant.shard])).find((job) => job.handle === name)
        assert.deepEqual([found?.job, found?.version], [text, text])
        assert.deepEqual(Uint8Array.from(found!.input), input)
        const ended: StoreRow = { kind: 'job-ended', handle: name, outcome: text }
        await database.commit(session, ++number, [batch(grant, [ended])])
        assert.equal(await outcomeOf(database, name), text)
      }
    },
  },
  {
    title: 'outcomes of a family: those of handles that begin with its name and a space, each once',
    async run(store) {
      const database = await store.connect()
      const { grants, session } = await ownerOf(database)
      const [grant] = grants
      let number = 0
      const end = async (name: string, outcome: string): Promise<void> => {
        await database.commit(session, ++number, [batch(grant!, [acknowledged(name)])])
        const row: StoreRow = { kind: 'job-ended', handle: name, outcome }
        await database.commit(session, ++number, [batch(grant!, [row])])
      }
      await end('plot 1', 'finished')
      await end('plot 2', 'cancelled')
      await end('plot 3', 'finished')
      await end('plotter 1', 'other')
      await end('plot', 'other')
      await end('plot!', 'other')
      assert.deepEqual(await database.familyOutcomes('plot'), ['cancelled', 'finished'])
      assert.deepEqual(await database.familyOutcomes('plo'), [])
    },
  },
  {
    title: 'C2: a commit of 256 rows in 256 shards, ten times, is complete and in order',
    async run(store) {
      const database = await store.connect()
      const { grants, session } = await ownerOf(database)
      const names = Array.from({ length: 2560 }, (_, index) => `job-${index}`)
      const byShard = new Map(grants.map((grant) => [grant.shard, grant]))
      for (let number = 1; number <= 10; number++) {
        const batches = names
          .slice(256 * (number - 1), 256 * number)
          .map((name) => batch(byShard.get(shardOf(name))!, [acknowledged(name)]))
        const answer = await database.commit(session, number, batches)
        assert.ok(answer.every((refusal) => refusal === undefined))
        assert.equal(answer.length, 256)
      }
      const open = await database.openJobs(grants.map(({ shard }) => shard))
      assert.deepEqual(
        open.map((job) => job.handle),
        names,
      )
    },
  },
  {
    title: 'C5: jobs of a server that is gone are continued by another, which may end them',
    run: takeOver,
  },
]

/** A server as it is put together: ownership, group commit, jobs. */
class Server {
  readonly jobs: AcknowledgedJobs
  readonly ownership: Ownership
  readonly committer: Committer<StoreRow>
  readonly ready: Promise<void>

  constructor(server: string, database: StoreDatabase, runner: JobRunner) {
    const kernel = systemKernel
    const renewed = Promise.withResolvers<void>()
    this.committer = new Committer<StoreRow>({
      server,
      database,
      kernel,
      onRefused: (grant) => this.ownership.refused(grant),
    })
    this.ownership = new Ownership({
      server,
      database,
      kernel,
      scanEvery: 10,
      listener: {
        acquired: (grant) => {
          this.jobs.acquired(grant)
          if (this.ownership.stats().shards === shardCount) renewed.resolve()
        },
        lost: (grant) => this.jobs.lost(grant),
        renewed: () => this.jobs.resume(),
        mayRelease: (shard) => this.jobs.isIdle(shard),
      },
    })
    const { ownership, committer } = this
    this.jobs = new AcknowledgedJobs({ ownership, committer, database, kernel, runner })
    const started = this.ownership.start()
    this.ready = Promise.all([renewed.promise, started]).then(() => undefined)
  }

  async stop(): Promise<void> {
    await this.jobs.stop({ deadline: 0 })
    await this.ownership.stop()
    await this.committer.stop()
  }
}

async function takeOver(store: StoreUnderTest): Promise<void> {
  const [one, two] = [await store.connect(), await store.connect()]
  const request = (name: string): JobRequest => ({
    handle: name,
    job: 'weave',
    version: '1',
    input: new Uint8Array(),
  })
  const started = Promise.withResolvers<void>()
  const first = new Server('one', one, {
    has: () => true,
    run: ({ handle: name }, { signal, begin }) => {
      // Suspects run one at a time, and this one does not end: the other must not be one too, however long this takes.
      if (name === 'long 1') begin().catch(() => undefined)
      started.resolve()
      return new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason)),
      )
    },
  })
  await first.ready
  await acknowledgeWhenRead(first.jobs, request('long 1'))
  await started.promise
  // The row that says so follows the start: it is written when a later one is.
  await acknowledgeWhenRead(first.jobs, request('other 1'))
  await first.stop()
  await one.renew('one', 0)

  const ran = Promise.withResolvers<void>()
  const cancelled = Promise.withResolvers<void>()
  const second = new Server('two', two, {
    has: () => true,
    run: async ({ handle: name }, { signal, begin }) => {
      await begin()
      if (name === 'other 1') {
        ran.resolve()
        return 'done'
      }
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      cancelled.resolve()
      throw signal.reason
    },
  })
  await second.ready
  await ran.promise
  await second.jobs.end('long 1', 'cancelled')
  await cancelled.promise
  // The next acknowledgement is written after the earlier outcomes.
  await acknowledgeWhenRead(second.jobs, request('last 1'))
  assert.equal(await outcomeOf(one, 'other 1'), 'done')
  assert.equal(await outcomeOf(one, 'long 1'), 'cancelled')
  await second.stop()
}

/** A server that has just acquired a shard reads its open jobs first, and refuses until then. */
async function acknowledgeWhenRead(jobs: AcknowledgedJobs, request: JobRequest): Promise<void> {
  for (;;) {
    try {
      await jobs.acknowledge(request)
      return
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'HDL_NOT_OWNER') throw error
      await new Promise<void>((resolve) => systemKernel.clock.afterIo(resolve))
    }
  }
}
