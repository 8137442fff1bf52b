/** What was acknowledged: written down as it went, and gone on with after a restart. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openJournal, type Journal } from '@heddle/core/lowlevel'
import { Ledger } from '../../src/jobs/ledger.ts'
import { serveJob, type ItemInput } from '../../src/jobs/served-job.ts'
import { Bench } from '../support/bench.ts'
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
  test(`acknowledged while it is ${moment}: the run tells all its stages`, async () => {
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

test('acknowledged and made from what was stored: the run tells that too', async () => {
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

test('who only waits is not written down', async () => {
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
  test(`work that ${how} while it is written down: the submit is told that, and not that it is pending`, async () => {
    const gate = new Gate('one')
    const { promise: slow, resolve: go } = Promise.withResolvers<void>()
    const bench = await Bench.open([gate.job], {
      ledger: (journal, kernel) =>
        new (class extends Ledger {
          override async acknowledge(
            ...args: Parameters<Ledger['acknowledge']>
          ): ReturnType<Ledger['acknowledge']> {
            await slow
            return super.acknowledge(...args)
          }
        })(journal, kernel),
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
    assert.equal(run?.state, how === 'is drained' ? 'running' : 'finished')
    bench.assertNothingLeft()
  })
}

interface Was {
  readonly crashes: number
  readonly version: string
  readonly force: boolean
}

/** The ledger of a server that was killed with these inputs acknowledged. */
function killedWith(
  inputs: readonly unknown[],
  more: (number: number) => Partial<Was> = () => ({}),
) {
  return (journal: Journal, kernel: ConstructorParameters<typeof Ledger>[1]): Ledger =>
    new (class extends Ledger {
      override unfinished(): ReturnType<Ledger['unfinished']> {
        const found = inputs.map((input, number) => ({
          runId: `run ${number}`,
          crashes: more(number).crashes ?? 0,
          work: {
            job: 'two',
            handle: `two-${String(input)}`,
            input,
            priority: 1,
            version: more(number).version ?? '',
            force: more(number).force ?? false,
          },
        }))
        return Promise.resolve(found)
      }

      override resume(runId: string): ReturnType<Ledger['resume']> {
        if (runId === 'run 2') return Promise.reject(new Error('the disk is gone'))
        const nothing = (): void => undefined
        return Promise.resolve({
          runId,
          write: nothing,
          putBack: nothing,
          end: nothing,
        })
      }
    })(journal, kernel)
}

test('W5 restored: what cannot be gone on with is told, and does not hold up the others', async () => {
  const { load, plot, list } = jobs((input) => (input === 'bad' ? 'no longer taken.' : undefined))
  const ledger = killedWith(['a', 'bad', 'c', 'd', 'd'])
  const bench = await Bench.open(list, { ledger, loop: 10, itemCapacity: 32 })
  assert.equal(await bench.service.recall(), 5)
  const restored = bench.service.restore(new AbortController().signal)
  await bench.clock.settle()
  assert.equal(await restored, 3)
  assert.equal(bench.problems.length, 2)
  assert.match(bench.problems[0]!, /Run run 1 of two-bad .*no longer taken/)
  assert.match(bench.problems[1]!, /Run run 2 of two-c .*the disk is gone/)
  assert.deepEqual(
    load.starts.map(({ input }) => input),
    ['a', 'd'],
    'what cannot be written to is not started: nobody would know that it ended the server',
  )
  load.finishAll()
  await bench.clock.settle()
  plot.finishAll()
  await bench.clock.settle()
  bench.assertNothingLeft()
})

test('work that was there when the server crashed comes last and alone; after five times it is left alone', async () => {
  const { load, plot, list } = jobs()
  // The third run is one that cannot be written to.
  const inputs = ['twice', 'often', 'unwritable', 'once']
  const crashes = [2, 5, 0, 1]
  const ledger = killedWith(inputs, (number) => ({ crashes: crashes[number]! }))
  const bench = await Bench.open(list, { ledger, loop: 10, itemCapacity: 32 })
  await bench.service.recall()
  const restored = bench.service.restore(new AbortController().signal)
  const started = (): unknown[] => load.starts.map(({ input }) => input)
  await bench.clock.settle()
  assert.deepEqual(started(), ['once'], 'the other waits until it has ended')
  load.finishAll()
  await bench.clock.settle()
  plot.finishAll()
  await bench.clock.settle()
  assert.deepEqual(started(), ['once', 'twice'])
  load.finishAll()
  await bench.clock.settle()
  plot.finishAll()
  await bench.clock.settle()
  assert.equal(await restored, 2)
  assert.match(bench.problems.at(-1)!, /"two-often" was set aside/)
  const asked = told(bench.result('two-often', { wait: 0 }))
  await bench.clock.settle()
  assert.equal(codeOf(asked.error), 'HDL_SET_ASIDE')
  bench.assertNothingLeft()
})

test('work of another version of the job is not done with this one: its handle would lie', async () => {
  const { load, list } = jobs()
  const bench = await Bench.open(list, { ledger: killedWith(['a'], () => ({ version: 'old' })) })
  await bench.service.recall()
  assert.equal(await bench.service.restore(new AbortController().signal), 0)
  assert.equal(load.starts.length, 0)
  const asked = told(bench.result('two-a', { wait: 0 }))
  await bench.clock.settle()
  assert.equal(codeOf(asked.error), 'HDL_GONE')
  bench.assertNothingLeft()
})

test('what was to be computed again is, also after a crash', async () => {
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

test('W5 a total that throws for an old input, or a job that is gone, does not keep the server from starting', async () => {
  const load = new Gate('load')
  const plot = new Gate<ItemInput<unknown>>('plot')
  const total = (input: string): number => (input === 'bad' ? Number('none') : 1)
  const served = serveJob({ name: 'two', prepare: load.job, item: plot.job, total })
  const bench = await Bench.open([served], { ledger: killedWith(['bad', 'good']) })
  assert.equal(await bench.service.recall(), 2)
  assert.equal(await bench.service.restore(new AbortController().signal), 1)
  assert.match(bench.problems[0]!, /two-bad/)
  await bench.clock.settle()
  load.finishAll()
  await bench.clock.settle()
  plot.finishAll()
  await bench.clock.settle()
  bench.assertNothingLeft()
})

test('W5 asked for before it has a seat: pending, then served; after its end found', async () => {
  const { load, plot, list } = jobs()
  const ledger = killedWith(['a', 'b'])
  const bench = await Bench.open(list, { ledger, capacity: 1, loop: 1 })
  await bench.service.recall()
  const restored = told(bench.service.restore(new AbortController().signal))
  await bench.clock.settle()
  assert.equal(restored.state, 'pending', 'the second waits for the seat of the first')
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
  assert.equal(restored.value, 2)
  assert.deepEqual(waits.value?.result, { value: 0 })
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
