/** Interleavings between two awaits of the service: a caller that comes or goes there finds a consistent state. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError } from '@heddle/core'
import { StoreLedger } from '../../src/jobs/store-ledger.ts'
import { serveJob, type ItemInput } from '../../src/jobs/served-job.ts'
import { Bench } from '../support/bench.ts'
import { Gate } from '../support/gates.ts'
import { codeOf, told, withCode } from '../support/told.ts'

function twoStages(total = 4): {
  prepare: Gate<string>
  item: Gate<ItemInput<unknown>>
  served: unknown
} {
  const prepare = new Gate<string>('load')
  const item = new Gate<ItemInput<unknown>>('plot')
  const served = serveJob({ name: 'two', prepare: prepare.job, item: item.job, total })
  return { prepare, item, served }
}

for (const how of ['compute', 'acknowledge'] as const) {
  test(`an id that is in use is refused before anything is started or superseded (${how})`, async () => {
    const gate = new Gate<string>('one')
    const bench = await Bench.open([gate.job])
    const first = told(bench.compute('one', 'a', { request: 'id', slot: 'left' }))
    await assert.rejects(
      bench[how]('one', 'b', { request: 'id', slot: 'left' }),
      withCode('HDL_REQUEST_EXISTS'),
    )
    await bench.clock.settle()
    assert.equal(gate.starts.length, 1, 'nothing was started for it')
    assert.equal(first.state, 'pending', 'the slot is still that of the first')
    gate.finishAll()
    await bench.clock.settle()
    assert.equal(first.state, 'fulfilled')
    bench.assertNothingLeft()
  })

  test(`same slot, same content: the newer takes over the work of the older (${how})`, async () => {
    const gate = new Gate<string>('one')
    const bench = await Bench.open([gate.job])
    const older = told(bench[how]('one', 'a', { slot: 'left', request: 'older' }))
    await bench.clock.settle()
    const newer = told(bench.compute('one', 'a', { slot: 'left', request: 'newer' }))
    await bench.clock.settle()
    if (how === 'compute') assert.equal(codeOf(older.error), 'HDL_SUPERSEDED')
    assert.equal(gate.starts[0]!.context.cancelled, false)
    gate.finishAll(() => 'result')
    await bench.clock.settle()
    assert.deepEqual(newer.value?.result, { value: 'result' })
    assert.equal(gate.starts.length, 1)
    bench.assertNothingLeft()
  })
}

test('same slot, same content, both acknowledged: the work continues', async () => {
  const gate = new Gate<string>('one')
  const bench = await Bench.open([gate.job])
  await bench.acknowledge('one', 'a', { slot: 'left' })
  await bench.acknowledge('one', 'a', { slot: 'left' })
  assert.equal(gate.starts[0]!.context.cancelled, false)
  gate.finishAll()
  await bench.clock.settle()
  bench.assertNothingLeft()
})

test('an id that was cancelled and is used again is not closed by the end of the first', async () => {
  const gate = new Gate<string>('one')
  const bench = await Bench.open([gate.job])
  await bench.acknowledge('one', 'a', { request: 'id' })
  await bench.acknowledge('one', 'a', { request: 'other' })
  assert.equal(bench.service.cancel('default', 'id'), 'cancelled')
  const second = told(bench.compute('one', 'b', { request: 'id' }))
  await bench.clock.settle()
  gate.starts[0]!.finish(1)
  await bench.clock.settle()
  assert.equal(bench.service.cancel('default', 'id'), 'cancelled')
  await bench.clock.settle()
  assert.equal(codeOf(second.error), 'HDL_CANCELLED')
  gate.finishAll()
  await bench.clock.settle()
  bench.assertNothingLeft()
})

test('S62 a client that had gone before its input was read: its work ends with it', async () => {
  const gate = new Gate<string>('one')
  const bench = await Bench.open([gate.job])
  const asked = told(bench.compute('one', 'a', { disconnect: AbortSignal.abort() }))
  await bench.clock.settle()
  assert.equal(codeOf(asked.error), 'HDL_CANCELLED')
  assert.equal(gate.starts.length, 0)
  bench.assertNothingLeft()
})

test('W1 W7 abandoned work that ends late notifies no caller: its successor has waiters of its own', async () => {
  const { prepare, item, served } = twoStages(1)
  const bench = await Bench.open([served])
  const client = new AbortController()
  const first = told(bench.compute('two', 'a', { disconnect: client.signal }))
  await bench.clock.settle()
  const { promise: slow, resolve: go } = Promise.withResolvers<void>()
  bench.store.hold = slow
  prepare.starts[0]!.finish('prepared')
  await bench.clock.settle()
  client.abort()
  bench.store.hold = undefined
  const second = told(bench.compute('two', 'a'))
  await bench.clock.settle()
  go()
  await bench.clock.settle()
  assert.equal(second.state, 'pending', String(second.error))
  prepare.finishAll(() => 'again')
  await bench.clock.settle()
  item.finishAll(() => 'result')
  await bench.clock.settle()
  assert.equal(codeOf(first.error), 'HDL_CANCELLED')
  assert.deepEqual(second.value?.result, { value: 'result' })
  bench.assertNothingLeft()
})

test('W9 a priority that is requested during the lookup in the store counts when the work is queued', async () => {
  const gate = new Gate<string>('one')
  const bench = await Bench.open([gate.job], { loop: 1 })
  const all = [told(bench.compute('one', 'first'))]
  await bench.clock.settle()
  const { promise: slow, resolve: go } = Promise.withResolvers<void>()
  all.push(told(bench.compute('one', 'second')))
  await bench.clock.settle()
  bench.store.hold = slow
  all.push(
    told(bench.compute('one', 'third')),
    told(bench.compute('one', 'third', { priority: 0 })),
  )
  await bench.clock.settle()
  go()
  await bench.clock.settle()
  for (let count = 1; count <= 3; count++) {
    gate.starts[count - 1]!.finish(count)
    await bench.clock.settle()
  }
  assert.deepEqual(
    gate.starts.map(({ input }) => input),
    ['first', 'third', 'second'],
  )
  assert.ok(all.every(({ state }) => state === 'fulfilled'))
  bench.assertNothingLeft()
})

test('W9 a priority that is asked for while results are queued moves them', async () => {
  const { prepare, item, served } = twoStages(2)
  const bench = await Bench.open([served], { loop: 1 })
  const first = told(bench.compute('two', 'a'))
  await bench.clock.settle()
  const second = told(bench.compute('two', 'b'))
  await bench.clock.settle()
  prepare.starts[0]!.finish('a')
  await bench.clock.settle()
  prepare.starts[1]!.finish('b')
  await bench.clock.settle()
  const urgent = told(bench.compute('two', 'b', { priority: 0 }))
  for (let count = 1; count <= 4; count++) {
    await bench.clock.settle()
    item.starts[count - 1]!.finish(count)
  }
  await bench.clock.settle()
  assert.deepEqual(
    item.starts.map(({ input }) => `${String(input.prepared)}${input.index}`),
    ['a0', 'b0', 'b-1', 'a-1'],
  )
  for (const one of [first, second, urgent]) assert.equal(one.state, 'fulfilled')
  bench.assertNothingLeft()
})

test('polling holds nothing: a thousand polls leave no request, and the cancel of the submit ends the work', async () => {
  const gate = new Gate<string>('one')
  const bench = await Bench.open([gate.job])
  const { handle } = await bench.acknowledge('one', 'a', { request: 'submit' })
  for (let count = 0; count < 1_000; count++) {
    const poll = told(bench.result(handle, { wait: 0 }))
    await bench.clock.advance(1)
    assert.equal(poll.state, 'fulfilled')
    assert.equal(poll.value?.isDone, false)
  }
  assert.equal(bench.service.stats().requests, 1)
  assert.equal(bench.service.cancel('default', 'submit'), 'cancelled')
  await bench.clock.settle()
  assert.equal(gate.starts[0]!.context.cancelled, true)
  gate.finishAll()
  await bench.clock.settle()
  bench.assertNothingLeft()
})

test('a poll is not the last to leave: work that it has started, or that has no caller now, continues', async () => {
  const { prepare, item, served } = twoStages(3)
  const bench = await Bench.open([served], { loop: 4 })
  const asked = told(bench.compute('two', 'a'))
  await bench.clock.settle()
  prepare.finishAll(() => 'prepared')
  await bench.clock.settle()
  item.starts[0]!.finish('newest')
  await bench.clock.settle()
  assert.equal(asked.state, 'fulfilled')
  const poll = told(bench.result(bench.handle('two', 'a'), { index: -2, wait: 0 }))
  await bench.clock.advance(1)
  assert.equal(poll.value?.isDone, false)
  assert.deepEqual(
    item.starts.map(({ context }) => context.cancelled),
    [false, false, false],
  )
  item.finishAll(() => 'older')
  await bench.clock.settle()
  assert.deepEqual((await bench.result(bench.handle('two', 'a'), { index: -2 })).result, {
    value: 'older',
  })
  bench.assertNothingLeft()
})

test('W4 work that was acknowledged after its wait keeps its slot: a newer request of it ends the work', async () => {
  const gate = new Gate<string>('one')
  const bench = await Bench.open([gate.job])
  const first = told(bench.compute('one', 'a', { slot: 'left', wait: 10 }))
  await bench.clock.advance(10)
  assert.equal(first.value?.isDone, false)
  const second = told(bench.compute('one', 'b', { slot: 'left' }))
  await bench.clock.settle()
  assert.equal(gate.starts[0]!.context.cancelled, true)
  gate.finishAll()
  await bench.clock.settle()
  assert.equal(second.state, 'fulfilled')
  bench.assertNothingLeft()
})

/** Prepared and stored, and no result of it. */
async function preparedOnly(
  bench: Bench,
  prepare: Gate<string>,
  item: Gate<ItemInput<unknown>>,
): Promise<string> {
  const { handle } = await bench.acknowledge('two', 'a', { request: 'only prepared' })
  await bench.clock.settle()
  prepare.finishAll(() => 'prepared')
  await bench.clock.settle()
  bench.service.cancel('default', 'only prepared')
  item.finishAll(() => 'too late')
  await bench.clock.settle()
  item.starts.length = 0
  return handle
}

test('results that are requested one after the other are made at the same time', async () => {
  const { prepare, item, served } = twoStages(4)
  const bench = await Bench.open([served], { loop: 4 })
  const handle = await preparedOnly(bench, prepare, item)
  const first = told(bench.result(handle, { index: -2 }))
  await bench.clock.settle()
  const second = told(bench.result(handle, { index: -3 }))
  await bench.clock.settle()
  assert.deepEqual(
    item.starts.map(({ input }) => input.index),
    [-2, -3],
    'only what was asked for',
  )
  item.starts[1]!.finish('second')
  await bench.clock.settle()
  assert.deepEqual(second.value?.result, { value: 'second' })
  assert.equal(first.state, 'pending')
  item.starts[0]!.finish('first')
  await bench.clock.settle()
  assert.deepEqual(first.value?.result, { value: 'first' })
  bench.assertNothingLeft()
})

test('a submit joins work that only makes requested results: all results are made, and the ledger has the input', async () => {
  const { prepare, item, served } = twoStages(3)
  const bench = await Bench.open([served], { loop: 4 })
  const handle = await preparedOnly(bench, prepare, item)
  const asked = told(bench.result(handle, { index: -1 }))
  await bench.clock.settle()
  await bench.acknowledge('two', 'a', { request: 'submit' })
  await bench.clock.settle()
  assert.deepEqual(new Set(item.starts.map(({ input }) => input.index)), new Set([-1, 0, -2]))
  item.finishAll(({ index }) => index)
  await bench.clock.settle()
  assert.deepEqual(asked.value?.result, { value: -1 })
  const [newest] = await bench.journal.runs()
  assert.deepEqual(await bench.journal.valueOf(newest!.id, 'input'), {
    job: 'two',
    handle,
    input: 'a',
    tenant: 'default',
    priority: 0,
    version: '',
    force: false,
  })
  assert.equal((await bench.acknowledge('two', 'a')).isDone, true)
  bench.assertNothingLeft()
})

test('S16 the parent of a result is deleted between two lookups: gone, not computed from nothing', async () => {
  const { prepare, item, served } = twoStages(2)
  const bench = await Bench.open([served])
  const handle = await preparedOnly(bench, prepare, item)
  const { promise: slow, resolve: go } = Promise.withResolvers<void>()
  const asked = told(bench.result(handle, { index: -1 }))
  bench.store.hold = slow
  await bench.clock.settle()
  await bench.service.computations.forget(handle)
  go()
  await bench.clock.settle()
  assert.equal(codeOf(asked.error), 'HDL_GONE')
  assert.equal(prepare.starts.length, 1)
  bench.assertNothingLeft()
})

test('S44 a result that two callers request is made once, also when there is no seat for the others yet', async () => {
  const { prepare, item, served } = twoStages(4)
  const bench = await Bench.open([served], { loop: 1, itemCapacity: 1 })
  const all = [told(bench.compute('two', 'a')), told(bench.compute('two', 'a', { index: -3 }))]
  all.push(told(bench.compute('two', 'a', { index: -3 })))
  await bench.clock.settle()
  prepare.finishAll()
  for (let count = 1; count <= 4; count++) {
    await bench.clock.settle()
    item.starts[count - 1]!.finish(count)
  }
  await bench.clock.settle()
  assert.deepEqual(
    item.starts.map(({ input }) => input.index),
    [0, -3, -1, -2],
  )
  assert.ok(all.every(({ state }) => state === 'fulfilled'))
  bench.assertNothingLeft()
})

test('acknowledged work that is cancelled while it is written down: answered as cancelled, and ended in the ledger', async () => {
  const gate = new Gate<string>('one')
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
  const asked = told(bench.acknowledge('one', 'a', { request: 'id' }))
  await bench.clock.settle()
  assert.equal(bench.service.cancel('default', 'id'), 'cancelled')
  go()
  await bench.clock.settle()
  assert.equal(codeOf(asked.error), 'HDL_CANCELLED')
  assert.deepEqual(
    (await bench.journal.runs()).map(({ state }) => state),
    ['cancelled'],
  )
  gate.finishAll()
  await bench.clock.settle()
  bench.assertNothingLeft()
})

test('a ledger that fails: the submit is refused, a caller that waits for the same work is not, and it is tried again', async () => {
  const gate = new Gate<string>('one')
  let isBroken = true
  const bench = await Bench.open([gate.job], {
    ledger: (options) =>
      new (class extends StoreLedger {
        override async acknowledge(
          ...args: Parameters<StoreLedger['acknowledge']>
        ): ReturnType<StoreLedger['acknowledge']> {
          if (isBroken) {
            throw new HeddleError('HDL_STORE_FAILED', {
              store: 'x',
              action: 'write',
              cause: 'full',
            })
          }
          return super.acknowledge(...args)
        }
      })(options),
  })
  const waits = told(bench.compute('one', 'a'))
  await assert.rejects(bench.acknowledge('one', 'a'), withCode('HDL_STORE_FAILED'))
  assert.equal(waits.state, 'pending')
  isBroken = false
  assert.equal((await bench.acknowledge('one', 'a')).isDone, false)
  gate.finishAll()
  await bench.clock.settle()
  assert.equal(waits.state, 'fulfilled')
  assert.deepEqual(
    (await bench.journal.runs()).map(({ state }) => state),
    ['finished'],
  )
  isBroken = true
  await assert.rejects(bench.acknowledge('one', 'b'), withCode('HDL_STORE_FAILED'))
  await bench.clock.settle()
  gate.finishAll()
  await bench.clock.settle()
  bench.assertNothingLeft()
})

test('force that comes during the lookup in the store is not lost', async () => {
  const gate = new Gate<string>('one')
  const bench = await Bench.open([gate.job])
  const first = told(bench.compute('one', 'a'))
  await bench.clock.settle()
  gate.finishAll(() => 'old')
  await bench.clock.settle()
  assert.equal(first.state, 'fulfilled')
  const { promise: slow, resolve: go } = Promise.withResolvers<void>()
  bench.store.hold = slow
  const plain = told(bench.compute('one', 'a'))
  const forced = told(bench.compute('one', 'a', { force: true }))
  await bench.clock.settle()
  go()
  await bench.clock.settle()
  assert.equal(gate.starts.length, 2)
  gate.finishAll(() => 'new')
  await bench.clock.settle()
  assert.deepEqual(forced.value?.result, { value: 'new' })
  assert.deepEqual(plain.value?.result, { value: 'new' })
  bench.assertNothingLeft()
})

test('a drain that ends by itself leaves no timer, and nothing is started when it is over', async () => {
  const { prepare, item, served } = twoStages(2)
  const bench = await Bench.open([served])
  const { handle } = await bench.acknowledge('two', 'a')
  const drained = bench.drain(10_000)
  await bench.clock.settle()
  prepare.finishAll(() => 'prepared')
  await bench.clock.settle()
  item.starts[0]!.finish('result')
  item.starts[1]!.fail(new Error('not today'))
  assert.deepEqual(await drained, { isClean: true })
  await bench.clock.settle()
  bench.assertNothingLeft()
  assert.equal((await bench.result(handle)).result?.value, 'result')
})

test('W4 the ledger of work that is begun twice over: no invalid input is restored', async () => {
  const { prepare, item, served } = twoStages(2)
  const bench = await Bench.open([served])
  const { handle } = await bench.acknowledge('two', 'a')
  await bench.clock.settle()
  prepare.finishAll(() => 'prepared')
  await bench.clock.settle()
  item.starts[0]!.finish('newest')
  item.starts[1]!.fail(new Error('not today'))
  await bench.clock.settle()
  await bench.acknowledge('two', 'b', { request: 'b' })
  const before = (await bench.journal.runs()).length
  // A poll for a result that has to be made again is not a submit.
  await assert.rejects(bench.result(handle, { index: -1, wait: 0 }), /not today/)
  assert.equal((await bench.journal.runs()).length, before)
  bench.service.cancel('default', 'b')
  prepare.finishAll()
  await bench.clock.settle()
  bench.assertNothingLeft()
})

test('W3 work that finds its stored parent gives its seat back before it makes results', async () => {
  const { prepare, item, served } = twoStages(2)
  const bench = await Bench.open([served])
  await preparedOnly(bench, prepare, item)
  const asked = told(bench.compute('two', 'a'))
  await bench.clock.settle()
  assert.equal(item.starts.length, 2)
  const { reserved, queued, running } = bench.service.stats().prepare.queue
  assert.deepEqual([reserved, queued, running], [0, 0, 0])
  item.finishAll()
  await bench.clock.settle()
  assert.equal(asked.state, 'fulfilled')
  bench.assertNothingLeft()
})

test('W7 cancelled in any step between the end of the job and the write: nothing is written afterwards', async () => {
  let written = 0
  let refused = 0
  for (const stage of ['prepare', 'item'] as const) {
    for (let steps = 0; steps < 16; steps++) {
      const { prepare, item, served } = twoStages(1)
      const bench = await Bench.open([served])
      const asked = told(bench.compute('two', 'a', { request: 'mine' }))
      await bench.clock.settle()
      if (stage === 'item') prepare.finishAll()
      await bench.clock.settle()
      let isCancelled = false
      let wasWritten = false
      let isLate = false
      bench.store.onKeep = () => {
        wasWritten = true
        isLate ||= isCancelled
      }
      const gate = stage === 'item' ? item : prepare
      gate.finishAll()
      for (let step = 0; step < steps; step++) await Promise.resolve()
      // Before: a listener of the cancel may write in the same step.
      isCancelled = !wasWritten
      bench.service.cancel('default', 'mine')
      await bench.clock.settle()
      // Not in onKeep: an error of the store is only counted.
      assert.ok(!isLate, `${stage}: written after the cancel, ${steps} steps after the job`)
      if (stage === 'prepare') assert.equal(codeOf(asked.error), 'HDL_CANCELLED')
      if (wasWritten) written++
      else refused++
      item.finishAll()
      await bench.clock.settle()
      bench.assertNothingLeft()
    }
  }
  assert.ok(written > 0 && refused > 0, 'both sides of the step were seen')
})

test('a result that failed, was made later and has left the store is made again: its failure is forgotten', async () => {
  const { prepare, item, served } = twoStages(1)
  const bench = await Bench.open([served])
  const { handle } = await bench.acknowledge('two', 'a')
  await bench.clock.settle()
  prepare.finishAll()
  await bench.clock.settle()
  item.starts[0]!.fail(new Error('not today'))
  await bench.clock.settle()
  await assert.rejects(bench.result(handle), /not today/)
  const second = told(bench.compute('two', 'a'))
  await bench.clock.settle()
  item.starts[1]!.finish('made')
  await bench.clock.settle()
  assert.equal(second.state, 'fulfilled')
  bench.store.item = () => Promise.resolve(undefined)
  const third = told(bench.result(handle))
  await bench.clock.settle()
  assert.equal(item.starts.length, 3)
  item.starts[2]!.finish('again')
  await bench.clock.settle()
  assert.deepEqual(third.value?.result, { value: 'again' })
  bench.assertNothingLeft()
})

test('a cancel in the very step in which the wait is over: cancelled, not acknowledged', async () => {
  const gate = new Gate('one')
  const bench = await Bench.open([gate.job])
  const { clock, service } = bench
  const setTimer = clock.setTimer.bind(clock)
  clock.setTimer = (delay, callback) =>
    setTimer(delay, () => {
      callback()
      if (delay === 10) service.cancel('default', 'mine')
    })
  const asked = told(bench.compute('one', 'a', { request: 'mine', wait: 10 }))
  await clock.advance(10)
  assert.equal(codeOf(asked.error), 'HDL_CANCELLED')
  assert.equal(gate.starts[0]!.context.cancelled, true)
  gate.finishAll()
  await clock.settle()
  bench.assertNothingLeft()
})

test('the work ends while the store is asked for a result that is no longer there: gone, not pending for ever', async () => {
  const { prepare, item, served } = twoStages(2)
  const bench = await Bench.open([served])
  await bench.acknowledge('two', 'a')
  await bench.clock.settle()
  prepare.finishAll()
  await bench.clock.settle()
  item.starts[0]!.finish('newest')
  await bench.clock.settle()
  const { promise: slow, resolve: go } = Promise.withResolvers<undefined>()
  bench.store.item = () => slow
  const late = told(bench.result(bench.handle('two', 'a')))
  await bench.clock.settle()
  item.starts[1]!.finish('older')
  await bench.clock.settle()
  go(undefined)
  await bench.clock.settle()
  assert.equal(codeOf(late.error), 'HDL_GONE')
  bench.assertNothingLeft()
})

test('when a drain is over, no admitted caller and no later caller starts anything', async () => {
  const { prepare, item, served } = twoStages(2)
  const bench = await Bench.open([served])
  const handle = await preparedOnly(bench, prepare, item)
  const admitted = bench.service.admit('two', 1, 'default')
  const drained = told(bench.drain(0))
  await bench.clock.advance(1)
  assert.deepEqual(drained.value, { isClean: false }, 'a body was still to come')
  const caller = {
    request: 'late',
    disconnect: new AbortController().signal,
    tenant: 'default',
    deadline: 1_000,
    wait: 1_000,
  }
  const submission = { ...admitted, input: 'b', handle: bench.handle('two', 'b'), priority: 1 }
  await assert.rejects(
    bench.service.compute({ ...submission, force: false }, 0, caller),
    withCode('HDL_DRAINING'),
  )
  await assert.rejects(bench.result(handle, { index: -1 }), withCode('HDL_DRAINING'))
  await bench.clock.settle()
  assert.deepEqual([prepare.starts.length, item.starts.length], [1, 0])
  bench.assertNothingLeft()
})
