import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError, isError } from '../../src/errors.ts'
import { seededRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import type { JobRow } from '../../src/store/acknowledged-jobs.ts'
import { Committer } from '../../src/store/committer.ts'
import type { Grant, ShardBatch } from '../../src/store/database.ts'
import { MemoryDatabase } from '../../src/store/memory/memory-database.ts'
import { serviceConformance } from '../../src/testing/service-conformance.ts'

type Commit = (
  carryOut: () => Promise<readonly unknown[]>,
  batches: readonly ShardBatch<JobRow>[],
) => Promise<readonly unknown[]>

/** A committer whose database can lose calls and answers. */
async function setUp(
  commit: Commit = (carryOut) => carryOut(),
  { mostRows = 4 }: { readonly mostRows?: number } = {},
) {
  const clock = new VirtualClock()
  const database = new MemoryDatabase(() => clock.now(), 4)
  await database.renew('one', 6_000)
  const grants = await database.acquire('one', 4)
  const refused: Grant[] = []
  let fenceFails = 0
  const committer = new Committer<JobRow>({
    server: 'one',
    kernel: { clock, random: seededRandom(1) },
    mostRows,
    answerWithin: 1_000,
    giveUpAfter: 10_000,
    onRefused: (grant) => refused.push(grant),
    database: {
      openSession: (...given) => database.openSession(...given),
      commit: (session, number, batches) =>
        commit(() => database.commit(session, number, batches), batches) as ReturnType<
          MemoryDatabase['commit']
        >,
      fence: async (session) => {
        if (fenceFails-- > 0) throw new Error('the connection was lost')
        return database.fence(session)
      },
    },
  })
  const failFences = (times: number): void => {
    fenceFails = times
  }
  return { clock, database, committer, grant: grants[0]!, other: grants[1]!, refused, failFences }
}

const acknowledged = (handle: string): JobRow => ({
  kind: 'job-acknowledged',
  handle,
  job: 'work',
  version: '1',
  input: new Uint8Array(0),
})

const lost = (): never => {
  throw new Error('the connection was lost')
}

test('G2: writes that come while a commit is under way share the next one', async () => {
  const groups: number[] = []
  const { committer, grant } = await setUp((carryOut, batches) => {
    groups.push(batches.length)
    return carryOut()
  })
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map((h) => committer.write(grant, [acknowledged(h)])))
  assert.deepEqual(groups, [4, 1])
  assert.equal(committer.stats().pending, 0)
})

test('C2: a batch of an old epoch is refused; the other batches of its commit are written', async () => {
  const { committer, database, grant, other, refused } = await setUp()
  const old = { ...grant, epoch: grant.epoch - 1 }
  const [first, second] = await Promise.allSettled([
    committer.write(old, [acknowledged('old')]),
    committer.write(other, [acknowledged('new')]),
  ])
  assert.ok(first.status === 'rejected' && isError(first.reason, 'HDL_OWNERSHIP_LOST'))
  assert.equal(second.status, 'fulfilled')
  assert.deepEqual(refused, [old])
  const open = await database.openJobs([0, 1, 2, 3])
  assert.deepEqual(
    open.map(({ handle }) => handle),
    ['new'],
  )
})

test('C4: an answer that was lost after the commit counts as written, with its refusals', async () => {
  let losses = 1
  const { clock, committer, database, grant } = await setUp(async (carryOut) => {
    const answer = await carryOut()
    return losses-- > 0 ? lost() : answer
  })
  const old = { ...grant, epoch: 0 }
  const writes = Promise.allSettled([
    committer.write(grant, [acknowledged('a')]),
    committer.write(old, [acknowledged('b')]),
  ])
  const [first, second] = await clock.runUntil(writes)
  assert.equal(first.status, 'fulfilled')
  assert.ok(second.status === 'rejected' && isError(second.reason, 'HDL_OWNERSHIP_LOST'))
  assert.equal((await database.openJobs([0, 1, 2, 3])).length, 1)
  assert.equal(committer.stats().unknown, 1)
})

test('C4: a commit that was lost on its way is sent again, in a new session', async () => {
  let losses = 2
  const { clock, committer, database, grant } = await setUp(async (carryOut) =>
    losses-- > 0 ? lost() : carryOut(),
  )
  await clock.runUntil(committer.write(grant, [acknowledged('a')]))
  assert.equal((await database.openJobs([0, 1, 2, 3])).length, 1)
})

test('G6, G7: a commit that fails while the database answers is sent 8 times, then by halves: one row fails', async () => {
  const sentAt: number[] = []
  const { clock, committer, database, grant } = await setUp(async (carryOut, batches) => {
    const isPoisoned = batches.some(({ rows }) => rows.some((row) => row.handle === 'poison'))
    if (!isPoisoned) return carryOut()
    sentAt.push(clock.now())
    throw new Error('value out of range')
  })
  const writes = ['poison', 'b', 'c', 'd', 'behind'].map((name) =>
    committer.write(grant, [acknowledged(name)]),
  )
  const outcomes = await clock.runUntil(Promise.allSettled(writes))
  const [first] = outcomes
  assert.ok(first!.status === 'rejected' && isError(first!.reason, 'HDL_STORE_FAILED'))
  assert.match(first!.reason.message, /value out of range/)
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled', 'fulfilled', 'fulfilled'],
  )
  assert.equal(sentAt.length, 8 + 2 + 2, 'four writes, two of them, one')
  const pauses = sentAt.slice(1, 8).map((at, index) => at - sentAt[index]!)
  assert.ok(pauses.every((pause, index) => pause > 0 && pause <= Math.min(20 * 2 ** index, 1_000)))
  const open = await database.openJobs([0, 1, 2, 3])
  assert.deepEqual(
    open.map(({ handle }) => handle),
    ['b', 'c', 'd', 'behind'],
    'in the order in which they were handed in (G4)',
  )
  assert.equal(committer.stats().failed, 1)
  assert.deepEqual([committer.stats().pending, clock.pending], [0, 0])
})

test('G7: a row that the database cannot hold fails at once and alone, and no session is fenced for it', async () => {
  let commits = 0
  const { clock, committer, database, grant } = await setUp(async (carryOut, batches) => {
    commits++
    const isPoisoned = batches.some(({ rows }) =>
      rows.some((row) => row.handle.startsWith('poison')),
    )
    if (!isPoisoned) return carryOut()
    throw new HeddleError('HDL_ROW_REFUSED', { store: 'It', cause: 'too long' })
  })
  const names = ['a', 'poison 1', 'b', 'poison 2', 'behind']
  const outcomes = await Promise.allSettled(
    names.map((name) => committer.write(grant, [acknowledged(name)])),
  )
  const refused = outcomes.flatMap((outcome, index) =>
    outcome.status === 'rejected' && isError(outcome.reason, 'HDL_ROW_REFUSED')
      ? [names[index]]
      : [],
  )
  assert.deepEqual(refused, ['poison 1', 'poison 2'])
  const open = await database.openJobs([0, 1, 2, 3])
  assert.deepEqual(
    open.map(({ handle }) => handle),
    ['a', 'b', 'behind'],
  )
  // Four, two and two, each alone, and the one behind.
  assert.equal(commits, 1 + 2 + 4 + 1)
  assert.deepEqual([committer.stats().unknown, committer.stats().pending], [0, 0])
  assert.equal(clock.pending, 0)
})

test('G7: when no row was written the reason is not a row, and the rows are not retried one by one', async () => {
  let sent = 0
  const { clock, committer, grant } = await setUp(
    async () => {
      sent++
      throw new Error('the disk is full')
    },
    { mostRows: 256 },
  )
  const writes = Array.from({ length: 256 }, (_, index) =>
    committer.write(grant, [acknowledged(String(index))]),
  )
  const outcomes = await clock.runUntil(Promise.allSettled(writes))
  assert.ok(outcomes.every(({ status }) => status === 'rejected'))
  // The whole 8 times; then, twice each, the eight parts that lead to the first write alone, and four more.
  assert.equal(sent, 8 + 2 * (8 + 4))
  assert.deepEqual([committer.stats().pending, clock.pending], [0, 0])
})

test('G6: stop() ends the pauses of a commit that fails while the database answers', async () => {
  let commits = 0
  const { clock, committer, grant } = await setUp(async () => {
    commits++
    return lost()
  })
  const failed = assert.rejects(committer.write(grant, [acknowledged('a')]), {
    code: 'HDL_STORE_FAILED',
  })
  await clock.settle()
  await clock.runUntil(Promise.all([committer.stop({ deadline: 0 }), failed]))
  assert.ok(commits < 8)
  assert.equal(clock.pending, 0)
})

test('G3: a commit that is late finds its session fenced, however long the fence took', async () => {
  const late: (() => Promise<unknown>)[] = []
  const { clock, committer, database, grant, failFences } = await setUp(async (carryOut) => {
    if (late.length > 0) return carryOut()
    late.push(carryOut)
    return lost()
  })
  failFences(40)
  const first = await clock.runUntil(
    Promise.allSettled([committer.write(grant, [acknowledged('a')])]),
  )
  assert.ok(first[0].status === 'rejected' && isError(first[0].reason, 'HDL_STORE_FAILED'))
  failFences(0)
  await clock.runUntil(committer.write(grant, [acknowledged('b')]))
  await assert.rejects(late[0]!())
  const open = await database.openJobs([0, 1, 2, 3])
  assert.deepEqual(
    open.map(({ handle }) => handle),
    ['b'],
  )
  assert.equal(clock.pending, 0)
})

test('G5: stop() fails waiting and later writes; the write under way is answered', async () => {
  const { committer, grant } = await setUp()
  const underWay = committer.write(grant, [acknowledged('a')])
  await Promise.resolve()
  const waiting = committer.write(grant, [acknowledged('b')])
  const stopped = Promise.all([committer.stop(), committer.stop()])
  await assert.rejects(waiting, { code: 'HDL_CLOSED' })
  await assert.rejects(committer.write(grant, [acknowledged('c')]), { code: 'HDL_CLOSED' })
  assert.equal(await underWay, undefined)
  await stopped
  assert.equal(committer.stats().pending, 0)
})

serviceConformance('committer', async () => {
  const { clock, committer, grant } = await setUp(() => new Promise(() => {}))
  const occupy = async (): Promise<void> => {
    committer.write(grant, [acknowledged('a')]).catch(() => undefined)
    await clock.settle()
  }
  return { service: committer, occupy, held: () => clock.pending }
})

test('G5: a commit without an answer at the deadline of stop() fails', async () => {
  const { clock, committer, grant } = await setUp(() => new Promise(() => {}))
  const underWay = committer.write(grant, [acknowledged('a')])
  const failed = assert.rejects(underWay, { code: 'HDL_STORE_FAILED' })
  await clock.settle()
  const stopped = committer.stop({ deadline: 300 })
  await clock.advance(299)
  assert.equal(committer.stats().pending, 1)
  await clock.advance(1)
  await Promise.all([failed, stopped])
  assert.deepEqual([committer.stats().pending, clock.pending], [0, 0])
})
