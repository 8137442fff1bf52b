/** What was acknowledged: written down as it went, and gone on with after a restart. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError } from '@heddle/core'
import { openJournal, type Journal } from '@heddle/core/lowlevel'
import { commonTenant } from '../../src/http/caller.ts'
import { handleOf } from '../../src/jobs/handle.ts'
import { jobTable } from '../../src/jobs/job-table.ts'
import { StoreLedger, type StoreLedgerOptions } from '../../src/jobs/store-ledger.ts'
import { serveJob, type ItemInput } from '../../src/jobs/served-job.ts'
import { Bench, storeWith } from '../support/bench.ts'
import { Gate } from '../support/gates.ts'
import { codeOf, told } from '../support/told.ts'

interface Jobs {
  readonly load: Gate
  readonly plot: Gate<ItemInput<unknown>>
  readonly list: readonly unknown[]
}

function jobs(check?: (input: unknown) => string | undefined): Jobs {
  const load = new Gate('load')
  const plot = new Gate<ItemInput<unknown>>('plot')
  const two = serveJob({ name: 'two', prepare: load.job, item: plot.job, total: 2, check })
  return { load, plot, list: [two] }
}

async function statesOf(journal: Journal): Promise<unknown[]> {
  const all = []
  for (const { id } of await journal.runs()) {
    const { state, nodes } = await journal.snapshot(id)
    all.push([state, ...Array.from(nodes.values(), (node) => node.state)])
  }
  return all
}

for (const moment of ['looking', 'preparing', 'making']) {
  test(`acknowledged while it is ${moment}: the run has all its stages`, async () => {
    const { load, plot, list } = jobs()
    const bench = await Bench.open(list)
    const waits = told(bench.compute('two', 'a'))
    if (moment !== 'looking') await bench.clock.settle()
    if (moment === 'making') load.finishAll(() => 'rows')
    if (moment === 'making') await bench.clock.settle()
    await bench.acknowledge('two', 'a')
    await bench.clock.settle()
    const isMaking = moment === 'making'
    assert.deepEqual(await statesOf(bench.journal), [
      [
        'running',
        'succeeded',
        isMaking ? 'succeeded' : 'running',
        isMaking ? 'running' : 'waiting',
      ],
    ])
    load.finishAll(() => 'rows')
    await bench.clock.settle()
    plot.finishAll()
    await bench.clock.settle()
    assert.equal(waits.state, 'fulfilled')
    assert.deepEqual(await statesOf(bench.journal), [
      ['finished', 'succeeded', 'succeeded', 'succeeded'],
    ])
    bench.assertNothingLeft()
  })
}

test('acknowledged and made from a stored stage: the run records that too', async () => {
  const { load, plot, list } = jobs()
  const bench = await Bench.open(list)
  await bench.acknowledge('two', 'a', { request: 'first' })
  await bench.clock.settle()
  load.finishAll()
  await bench.clock.settle()
  bench.service.cancel('default', 'first')
  plot.finishAll()
  await bench.clock.settle()
  await bench.acknowledge('two', 'a')
  await bench.clock.settle()
  plot.finishAll()
  await bench.clock.settle()
  assert.deepEqual((await statesOf(bench.journal))[0], [
    'finished',
    'succeeded',
    'succeeded',
    'succeeded',
  ])
  bench.assertNothingLeft()
})

test('a request that only waits is not written down', async () => {
  const { load, plot, list } = jobs()
  const bench = await Bench.open(list)
  const waits = told(bench.compute('two', 'a'))
  await bench.clock.settle()
  load.finishAll()
  await bench.clock.settle()
  plot.finishAll()
  await bench.clock.settle()
  assert.equal(waits.state, 'fulfilled')
  assert.deepEqual(await bench.journal.runs(), [])
  bench.assertNothingLeft()
})

test('one acknowledgement or a hundred of one work: one run', async () => {
  const { load, plot, list } = jobs()
  const bench = await Bench.open(list)
  await Promise.all(Array.from({ length: 100 }, () => bench.acknowledge('two', 'a').catch(() => 0)))
  assert.equal((await bench.journal.runs()).length, 1)
  await bench.clock.settle()
  load.finishAll()
  await bench.clock.settle()
  plot.finishAll()
  await bench.clock.settle()
  bench.assertNothingLeft()
})

for (const how of ['fails', 'is drained', 'is done']) {
  test(`work that ${how} while it is written down: the submit gets that answer, not "pending"`, async () => {
    const gate = new Gate('one')
    const { promise: slow, resolve: go } = Promise.withResolvers<void>()
    const bench = await Bench.open([gate.job], {
      ledger: (options) =>
        new (class extends StoreLedger {
          override async acknowledge(
            ...args: Parameters<StoreLedger['acknowledge']>
          ): ReturnType<StoreLedger['acknowledge']> {
            await slow
            return super.acknowledge(...args)
          }
        })(options),
    })
    const asked = told(bench.acknowledge('one', 'a'))
    await bench.clock.settle()
    if (how === 'fails') gate.starts[0]!.fail(new Error('not today'))
    else if (how === 'is done') gate.starts[0]!.finish('result')
    else {
      void bench.drain(0)
      await bench.clock.advance(1)
      gate.finishAll()
    }
    await bench.clock.settle()
    assert.equal(asked.state, 'pending', 'it is not written down yet')
    go()
    await bench.clock.settle()
    if (how === 'fails') assert.match(String(asked.error), /not today/)
    else if (how === 'is done') assert.equal(asked.value?.isDone, true)
    else assert.equal(codeOf(asked.error), 'HDL_DRAINING')
    const [run] = await bench.journal.runs()
    assert.equal(run?.state, how === 'is drained' ? 'interrupted' : 'finished')
    bench.assertNothingLeft()
  })
}

/** A store in which a server that is gone has acknowledged these inputs. */
function killedWith(
  inputs: readonly unknown[],
  more: (number: number) => { readonly crashes?: number; readonly version?: string } = () => ({}),
) {
  return storeWith(
    inputs.map((input, number) => {
      const { crashes = 0, version = '' } = more(number)
      const handle = `two-${String(input)}`
      const work = { job: 'two', handle, input, priority: 1, version, force: false }
      return { crashes, work }
    }),
  )
}

test('W5 restored: a job that cannot be continued is listed with the reason, and does not hold up the others', async () => {
  const { load, plot, list } = jobs((input) => (input === 'bad' ? 'no longer taken.' : undefined))
  const database = await killedWith(['a', 'bad', 'd', 'd'])
  const bench = await Bench.open(list, { database, loop: 10, itemCapacity: 32 })
  await bench.clock.settle()
  assert.equal(bench.problems.length, 1)
  assert.match(bench.problems[0]!, /two-bad could not be resumed.*no longer taken/)
  const [aside] = bench.service.computations
    .list(undefined)
    .filter(({ state }) => state === 'set_aside')
  assert.match(aside!.waits_for!, /no longer taken/)
  assert.deepEqual(
    load.starts.map(({ input }) => input),
    ['a', 'd'],
    'what was asked for twice is made once',
  )
  load.finishAll()
  await bench.clock.settle()
  plot.finishAll()
  await bench.clock.settle()
  assert.deepEqual(
    (await bench.open()).map(({ work }) => work.input),
    ['bad'],
    'it is kept for the next start',
  )
  assert.equal(await bench.service.computations.cancel('two-bad', undefined, 'me'), 'cancelled')
  assert.deepEqual(await bench.open(), [])
  bench.assertNothingLeft()
})

test('work that was there when the server crashed comes last and alone; after three times it is set aside', async () => {
  const { load, plot, list } = jobs()
  const crashes = [2, 3, 0, 1]
  const database = await killedWith(['twice', 'often', 'never', 'once'], (number) => ({
    crashes: crashes[number]!,
  }))
  const bench = await Bench.open(list, { database, loop: 10, itemCapacity: 32 })
  const started = (): unknown[] => load.starts.map(({ input }) => input)
  const finish = async (): Promise<void> => {
    load.finishAll()
    await bench.clock.settle()
    plot.finishAll()
    await bench.clock.settle()
  }
  await bench.clock.settle()
  assert.deepEqual(started(), ['never', 'twice'], 'the other suspect waits until it has ended')
  const poll = told(bench.result('two-once', { wait: 0 }))
  await bench.clock.settle()
  assert.equal(poll.value?.isDone, false, 'it is known meanwhile')
  await finish()
  assert.deepEqual(started(), ['never', 'twice', 'once'])
  await finish()
  const asked = told(bench.result('two-often', { wait: 0 }))
  await bench.clock.settle()
  assert.equal(codeOf(asked.error), 'HDL_SET_ASIDE')
  await bench.service.computations.retry('two-often', undefined)
  await bench.clock.settle()
  assert.deepEqual(started().at(-1), 'often')
  await finish()
  assert.deepEqual(await bench.open(), [])
  bench.assertNothingLeft()
})

test('L7: what waits for its turn after a crash is listed with the reason, and its cancel is durable', async () => {
  const { load, plot, list } = jobs()
  const database = await killedWith(['one', 'two'], () => ({ crashes: 1 }))
  const bench = await Bench.open(list, { database, loop: 10, itemCapacity: 32 })
  await bench.clock.settle()
  const { computations } = bench.service
  const [running] = load.starts.map(({ input }) => input)
  const waits = running === 'one' ? 'two' : 'one'
  const handle = `two-${waits}`
  const waiting = computations.list(undefined).filter(({ state }) => state === 'waiting')
  assert.deepEqual(
    waiting.map((each) => [each.handle, each.waits_for]),
    [[handle, 'its turn: it was running when its server died, and such work runs one at a time']],
  )
  assert.deepEqual(computations.list('acme'), [])
  await assert.rejects(computations.cancel(handle, 'acme', 'a stranger'), {
    code: 'HDL_UNKNOWN_RESULT',
  })
  assert.equal(await computations.cancel(handle, undefined, 'me'), 'cancelled')
  const open = await bench.open()
  assert.deepEqual(
    open.map(({ work }) => work.input),
    [running],
  )
  const asked = told(bench.result(handle, { wait: 0 }))
  load.finishAll()
  await bench.clock.settle()
  plot.finishAll()
  await bench.clock.settle()
  assert.equal(codeOf(asked.error), 'HDL_CANCELLED')
  assert.equal(load.starts.length, 1)
  assert.deepEqual(await bench.open(), [])
  bench.assertNothingLeft()
})

test('L7: work under way whose job ignores its signal has its end in the store when its cancel is answered', async () => {
  const { load, list } = jobs()
  const bench = await Bench.open(list, {})
  const { handle } = await bench.acknowledge('two', 'a')
  await bench.clock.settle()
  assert.equal(load.starts.length, 1)
  assert.equal(await bench.service.computations.cancel(handle, undefined, 'me'), 'cancelled')
  assert.deepEqual(await bench.open(), [])
  load.finishAll()
  await bench.clock.settle()
  bench.assertNothingLeft()
})

test('L7: a request that is cancelled by its id is not recalled, although its job ignores its signal', async () => {
  const { load, list } = jobs()
  const bench = await Bench.open(list, {})
  await bench.acknowledge('two', 'a', { request: 'mine' })
  await bench.acknowledge('two', 'a', { request: 'other' })
  await bench.clock.settle()
  assert.equal(await bench.service.cancelForGood('default', 'mine'), 'cancelled')
  assert.equal((await bench.open()).length, 1, 'another caller wants it')
  assert.equal(await bench.service.cancelForGood('default', 'other'), 'cancelled')
  assert.deepEqual(await bench.open(), [])
  assert.equal(await bench.service.cancelForGood('default', 'other'), 'already_cancelled')
  load.finishAll()
  await bench.clock.settle()
  bench.assertNothingLeft()
})

test('a drain is not clean while work that was acknowledged before the start waits for its turn', async () => {
  const { load, plot, list } = jobs()
  const database = await killedWith(['one', 'two'], () => ({ crashes: 1 }))
  const bench = await Bench.open(list, { database, loop: 10, itemCapacity: 32 })
  await bench.clock.settle()
  const drained = told(bench.drain(60_000))
  load.finishAll()
  await bench.clock.settle()
  plot.finishAll()
  await bench.clock.settle()
  assert.deepEqual(drained.value, { isClean: false })
  assert.equal((await bench.open()).length, 1)
  assert.equal(load.starts.length, 1)
})

/** A ledger whose store refuses each of these rows once. */
function refusing(kinds: string[]) {
  return (options: StoreLedgerOptions): StoreLedger => {
    const { committer } = options.shards
    const write = committer.write.bind(committer)
    committer.write = async (grant, rows) => {
      const refused = kinds.findIndex((kind) => rows.some((row) => row.kind === kind))
      if (refused === -1) return write(grant, rows)
      kinds.splice(refused, 1)
      const details = { store: 'The database', action: 'be written', cause: 'it is full' }
      throw new HeddleError('HDL_STORE_FAILED', details)
    }
    return new StoreLedger(options)
  }
}

test('L5: a job whose start the store does not take is put back, in either stage, and is not failed', async () => {
  const { load, plot, list } = jobs()
  const database = await killedWith(['a'])
  const refused = ['job-started', 'job-put-back', 'job-started']
  const ledger = refusing(refused)
  const bench = await Bench.open(list, { database, ledger, loop: 10, prepare: 1_000 })
  await bench.clock.settle()
  const waits = told(bench.result('two-a'))
  await bench.clock.settle()
  assert.deepEqual([load.starts.length, refused], [0, ['job-started']])
  assert.equal((await bench.open()).length, 1)
  assert.equal(bench.ledger.acknowledged.stats().putBack, 1)
  // The first stage is there when it is run again: the second one begins.
  await bench.store.keepPrepared('two-a', { total: 2, tenant: commonTenant, value: 'rows' })
  // The row that says so was refused too: once more after half a second, and then the pause of the job.
  await bench.clock.advance(1_000)
  assert.deepEqual([plot.starts.length, refused], [0, []])
  assert.equal((await bench.open()).length, 1)
  await bench.clock.advance(1_000)
  plot.finishAll()
  await bench.clock.settle()
  assert.deepEqual(await bench.open(), [])
  assert.equal(load.starts.length, 0)
  assert.notEqual(waits.state, 'pending')
  const states = await statesOf(bench.journal)
  assert.ok(!String(states).includes('failed'), String(states))
  assert.deepEqual(bench.problems, [])
  bench.assertNothingLeft()
})

test('L5: a job whose timeout has passed before its start was written is put back, and runs once it is', async () => {
  const { load, plot, list } = jobs()
  const database = await killedWith(['a'])
  const { promise: written, resolve: answer } = Promise.withResolvers<void>()
  const bench = await Bench.open(list, {
    database,
    prepare: 1_000,
    ledger: (options) => {
      const { committer } = options.shards
      const write = committer.write.bind(committer)
      committer.write = async (grant, rows) => {
        if (rows.some(({ kind }) => kind === 'job-started')) await written
        return write(grant, rows)
      }
      return new StoreLedger(options)
    },
  })
  await bench.clock.advance(30_000)
  assert.equal(load.starts.length, 0)
  assert.equal((await bench.open()).length, 1)
  answer()
  // After a pause of a minute at most.
  for (let steps = 0; load.starts.length === 0 && steps < 600; steps++) {
    await bench.clock.advance(100)
  }
  assert.equal(load.starts.length, 1)
  load.finishAll(() => 'rows')
  await bench.clock.settle()
  plot.finishAll()
  await bench.clock.settle()
  const states = await statesOf(bench.journal)
  assert.ok(!String(states).includes('failed'), String(states))
})

test('C13: work of another version of the job waits, visibly: its handle would lie', async () => {
  const { load, list } = jobs()
  const database = await killedWith(['a'], () => ({ version: 'old' }))
  const bench = await Bench.open(list, { database })
  await bench.clock.settle()
  assert.equal(load.starts.length, 0)
  const [listed] = bench.service.computations.list(undefined)
  assert.deepEqual(
    [listed?.handle, listed?.state, listed?.waits_for],
    ['two-a', 'waiting', 'no server has "two" version "old"'],
  )
  const asked = told(bench.result('two-a', { wait: 0 }))
  await bench.clock.settle()
  assert.equal(codeOf(asked.error), 'HDL_GONE')
  await bench.service.computations.cancel('two-a', undefined, 'me')
  assert.deepEqual(await bench.open(), [])
  bench.assertNothingLeft()
})

test('one row at the acknowledgement and one at the end; rows of a run only for jobs with logs or errors', async () => {
  const { load, plot, list } = jobs()
  const bench = await Bench.open(list, { isTold: false })
  const finish = async (): Promise<void> => {
    await bench.clock.settle()
    load.finishAll()
    await bench.clock.settle()
    plot.finishAll()
    await bench.clock.settle()
  }
  const { rows: before } = bench.shards.stats().commits
  const waits = told(bench.compute('two', 'waits'))
  await finish()
  assert.equal(waits.state, 'fulfilled')
  assert.equal(bench.shards.stats().commits.rows, before, 'nothing was promised')
  await bench.acknowledge('two', 'quiet')
  await finish()
  assert.equal(bench.shards.stats().commits.rows, before + 2)
  assert.deepEqual(await bench.journal.runs(), [])
  await bench.acknowledge('two', 'fails')
  await bench.clock.settle()
  load.starts.at(-1)!.fail(new Error('not today'))
  await bench.clock.settle()
  assert.equal(bench.shards.stats().commits.rows, before + 4)
  assert.deepEqual(await statesOf(bench.journal), [['finished', 'succeeded', 'failed', 'blocked']])
  bench.assertNothingLeft()
})

test('a recomputation that was requested happens also after a crash', async () => {
  const gate = new Gate<string>('one')
  const journal = await openJournal('memory')
  const bench = await Bench.open([gate.job], { journal })
  const first = told(bench.compute('one', 'a'))
  await bench.clock.settle()
  gate.finishAll()
  await bench.clock.settle()
  assert.equal(first.state, 'fulfilled')
  await bench.acknowledge('one', 'a', { force: true })
  const [run] = await journal.runs()
  const { force } = (await journal.valueOf(run!.id, 'input')) as { force: boolean }
  assert.equal(force, true)
  gate.finishAll()
  await bench.clock.settle()
  bench.assertNothingLeft()
})

test('a first stage of another number of results is made again', async () => {
  const load = new Gate('load')
  const plot = new Gate<ItemInput<unknown>>('plot')
  let total = 2
  const two = serveJob({ name: 'two', prepare: load.job, item: plot.job, total: () => total })
  const bench = await Bench.open([two], { loop: 10 })
  const finish = async (): Promise<void> => {
    await bench.clock.settle()
    load.finishAll()
    await bench.clock.settle()
    plot.finishAll()
    await bench.clock.settle()
  }
  const before = told(bench.compute('two', 'a'))
  await finish()
  assert.equal(before.value?.total, 2)
  total = 4
  const after = told(bench.compute('two', 'a', { index: -3 }))
  await finish()
  assert.equal(after.value?.total, 4)
  assert.equal(load.starts.length, 2)
  const late = told(bench.result(after.value.handle, { index: -3, wait: 0 }))
  await bench.clock.settle()
  assert.equal(late.state, 'fulfilled')
  bench.assertNothingLeft()
})

test('W5 a total that throws for an old input does not keep the server from starting', async () => {
  const load = new Gate('load')
  const plot = new Gate<ItemInput<unknown>>('plot')
  const total = (input: string): number => (input === 'bad' ? Number('none') : 1)
  const served = serveJob({ name: 'two', prepare: load.job, item: plot.job, total })
  const bench = await Bench.open([served], { database: await killedWith(['bad', 'good']) })
  await bench.clock.settle()
  assert.match(bench.problems[0]!, /two-bad/)
  load.finishAll()
  await bench.clock.settle()
  plot.finishAll()
  await bench.clock.settle()
  assert.equal((await bench.open()).length, 1)
  bench.assertNothingLeft()
})

test('W5 asked for before it has a seat: pending, then served; after its end found', async () => {
  const { load, plot, list } = jobs()
  const database = await killedWith(['a', 'b'])
  const bench = await Bench.open(list, { database, capacity: 1, loop: 1 })
  await bench.clock.settle()
  assert.equal(load.starts.length, 1, 'the second waits for the seat of the first')
  const poll = told(bench.result('two-b', { wait: 0 }))
  const waits = told(bench.result('two-b'))
  const wrong = told(bench.result('two-b', { index: -2 }))
  await bench.clock.settle()
  assert.equal(poll.value?.isDone, false)
  assert.equal(waits.state, 'pending')
  assert.equal(codeOf(wrong.error), 'HDL_NO_SUCH_INDEX')
  for (let round = 0; round < 8; round++) {
    load.finishAll()
    plot.finishAll(({ index }) => index)
    await bench.clock.settle()
  }
  assert.deepEqual(waits.value?.result, { value: 0 })
  assert.deepEqual(await bench.open(), [])
  bench.assertNothingLeft()
})

test('S20 more waiters for one result than are allowed: the next is refused, the others are served', async () => {
  const gate = new Gate('one')
  const bench = await Bench.open([gate.job], { journal: await openJournal('memory') })
  const all = Array.from({ length: 10_000 }, () => told(bench.compute('one', 'a')))
  const refused = told(bench.compute('one', 'a'))
  await bench.clock.settle()
  assert.equal(codeOf(refused.error), 'HDL_TOO_MANY_WAITERS')
  assert.equal(gate.starts[0]!.context.cancelled, false)
  gate.finishAll()
  await bench.clock.settle()
  assert.ok(all.every(({ state }) => state === 'fulfilled'))
  bench.assertNothingLeft()
})

test('W5: a result that is asked for during a take-over is waited for until the open jobs were read, not unknown', async () => {
  const { load, plot, list } = jobs()
  const { version } = jobTable(list).get('two')!
  const handle = handleOf({ name: 'two', version, tenant: undefined }, 'a')
  const work = { job: 'two', handle, input: 'a', priority: 1, version, force: false }
  const database = await storeWith([{ work }])
  const read = database.openJobs.bind(database)
  const { promise: isBack, resolve: comeBack } = Promise.withResolvers<void>()
  // Nothing is found at the start: another server owns the shard then.
  database.openJobs = () => Promise.resolve([])
  const bench = await Bench.open(list, { database })
  await assert.rejects(bench.result(handle), { code: 'HDL_UNKNOWN_RESULT' })
  database.openJobs = async (shards) => {
    await isBack
    return read(shards)
  }
  const grant = bench.shards.grantOf(handle)
  bench.ledger.acknowledged.lost(grant)
  bench.ledger.acknowledged.acquired(grant)
  const asked = told(bench.result(handle))
  const retried = told(bench.service.computations.retry(handle, undefined))
  await bench.clock.settle()
  assert.deepEqual([asked.state, retried.state], ['pending', 'pending'])
  comeBack()
  await bench.clock.settle()
  load.finishAll(() => 'rows')
  await bench.clock.settle()
  plot.finishAll()
  await bench.clock.settle()
  assert.equal(asked.state, 'fulfilled')
  assert.equal(retried.state, 'rejected', 'it was not set aside')
})
