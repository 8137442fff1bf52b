/** What was promised and could not be stored. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError } from '@heddle/core'
import { serveJob, type ItemInput } from '../../src/jobs/served-job.ts'
import { Bench } from '../support/bench.ts'
import { Gate } from '../support/gates.ts'
import { codeOf, told, withCode } from '../support/told.ts'

function diskFull(): never {
  throw new HeddleError('HDL_STORE_FAILED', { store: 'Results', action: 'write', cause: 'full' })
}

function twoStages(total: number) {
  const load = new Gate('load')
  const plot = new Gate<ItemInput<unknown>>('plot')
  const two = serveJob({ name: 'two', prepare: load.job, item: plot.job, total })
  return { load, plot, two }
}

/** States of the only run: its own, then those of its stages. */
async function statesOf({ journal }: Bench): Promise<unknown[]> {
  const [run] = await journal.runs()
  const { state, nodes } = await journal.snapshot(run!.id)
  return [state, ...Array.from(nodes.values(), (node) => node.state)]
}

test('W5 acknowledged, made, and the store is full: the waiting caller gets it, it stays open, and is made again later', async () => {
  const gate = new Gate('one')
  const bench = await Bench.open([gate.job])
  const { handle } = await bench.acknowledge('one', 'a')
  const waits = told(bench.result(handle))
  await bench.clock.settle()
  bench.store.onKeep = diskFull
  gate.finishAll(() => 'result')
  await bench.clock.settle()
  assert.deepEqual(waits.value?.result, { value: 'result' })
  const [run] = await bench.journal.runs()
  assert.equal(run?.state, 'interrupted', 'it is found at the next start')
  assert.equal((await bench.result(handle, { wait: 0 })).isDone, false)

  bench.store.onKeep = () => undefined
  const again = told(bench.compute('one', 'a'))
  await bench.clock.settle()
  gate.finishAll(() => 'result')
  await bench.clock.settle()
  assert.deepEqual(again.value?.result, { value: 'result' })
  assert.deepEqual((await bench.result(handle)).result, { value: 'result' })
})

test('W5 the last moment: promised in the step in which the store refuses', async () => {
  const gate = new Gate('one')
  const bench = await Bench.open([gate.job])
  const { promise, reject } = Promise.withResolvers<void>()
  bench.store.pace = () => (gate.starts.length > 0 ? promise : Promise.resolve())
  const waits = told(bench.compute('one', 'a'))
  await bench.clock.settle()
  gate.finishAll(() => 'result')
  await bench.clock.settle()
  assert.equal(waits.state, 'fulfilled')
  reject(new HeddleError('HDL_STORE_FAILED', { store: 'Results', action: 'write', cause: 'full' }))
  const asked = told(bench.acknowledge('one', 'a'))
  await bench.clock.settle()
  assert.equal(codeOf(asked.error), 'HDL_STORE_FAILED')
  bench.assertNothingLeft()
})

test('W5 a result of the second stage that the store did not take: the run stays open, a GET makes it again', async () => {
  const { load, plot, two } = twoStages(2)
  const bench = await Bench.open([two])
  const { handle } = await bench.acknowledge('two', 'a')
  await bench.clock.settle()
  load.finishAll(() => 'rows')
  await bench.clock.settle()
  bench.store.onKeep = (value) => void (value === 0 && diskFull())
  plot.finishAll(({ index }) => index)
  await bench.clock.settle()
  assert.equal((await statesOf(bench))[0], 'interrupted')
  bench.store.onKeep = () => undefined
  const asked = told(bench.result(handle))
  await bench.clock.settle()
  plot.finishAll(({ index }) => index)
  await bench.clock.settle()
  assert.deepEqual(asked.value?.result, { value: 0 })
  assert.equal(plot.starts.length, 3, 'the other was stored')
  bench.assertNothingLeft()
})

test('W8 promised, and the result can never be stored: a failed job, in the ledger too', async () => {
  const gate = new Gate('one')
  const bench = await Bench.open([gate.job])
  const { handle } = await bench.acknowledge('one', 'a')
  const waits = told(bench.result(handle))
  await bench.clock.settle()
  gate.finishAll(() => () => 'a function')
  await bench.clock.settle()
  assert.equal(codeOf(waits.error), 'HDL_NOT_CLONEABLE')
  await assert.rejects(bench.result(handle), withCode('HDL_NOT_CLONEABLE'))
  assert.deepEqual(await statesOf(bench), ['finished', 'succeeded', 'failed'])
  bench.assertNothingLeft()
})

test('W8 a result of the second stage that can never be stored has failed, the others have not', async () => {
  const { load, plot, two } = twoStages(2)
  const bench = await Bench.open([two])
  const { handle } = await bench.acknowledge('two', 'a')
  await bench.clock.settle()
  // Only the store has to know the first stage.
  load.finishAll(() => 10n)
  await bench.clock.settle()
  plot.finishAll(({ index }) => (index === 0 ? 10n : index))
  await bench.clock.settle()
  await assert.rejects(bench.result(handle), withCode('HDL_NOT_CLONEABLE'))
  assert.deepEqual((await bench.result(handle, { index: -1 })).result, { value: -1 })
  assert.deepEqual(await statesOf(bench), ['finished', 'succeeded', 'succeeded', 'failed'])
  bench.assertNothingLeft()
})

test('W8 too large for the store: found out while it is written, a failed job all the same', async () => {
  const gate = new Gate('one')
  const bench = await Bench.open([gate.job])
  const { handle } = await bench.acknowledge('one', 'a')
  await bench.clock.settle()
  bench.store.onKeep = () => {
    throw new HeddleError('HDL_VALUE_TOO_LARGE', { key: handle, bytes: 2, limit: 1 })
  }
  gate.finishAll()
  await bench.clock.settle()
  await assert.rejects(bench.result(handle), withCode('HDL_VALUE_TOO_LARGE'))
  assert.deepEqual(await statesOf(bench), ['finished', 'succeeded', 'failed'])
  bench.assertNothingLeft()
})

test('W5 deleted while results are made, and promised: the first stage is stored again, once', async () => {
  const { load, plot, two } = twoStages(3)
  const bench = await Bench.open([two], { loop: 3 })
  const { handle } = await bench.acknowledge('two', 'a')
  await bench.clock.settle()
  load.finishAll(() => 'rows')
  await bench.clock.settle()
  assert.equal(await bench.service.computations.forget(handle), true)
  const kept: unknown[] = []
  bench.store.onKeep = (value) => kept.push(value)
  plot.finishAll(({ index }) => index)
  await bench.clock.settle()
  assert.equal(kept.filter((value) => value === 'rows').length, 1)
  for (const index of [0, -1, -2]) {
    assert.deepEqual((await bench.result(handle, { index })).result, { value: index })
  }
  assert.equal(plot.starts.length, 3)
  assert.equal((await statesOf(bench))[0], 'finished')
  bench.assertNothingLeft()
})

test('W5 deleted before the last result is stored: results that were stored before are made again', async () => {
  const { load, plot, two } = twoStages(2)
  const bench = await Bench.open([two])
  const { handle } = await bench.acknowledge('two', 'a')
  await bench.clock.settle()
  load.finishAll(() => 'rows')
  await bench.clock.settle()
  plot.starts[0]!.finish(0)
  await bench.clock.settle()
  await bench.service.forgetAll()
  plot.starts[1]!.finish(-1)
  await bench.clock.settle()
  assert.deepEqual((await bench.result(handle, { index: -1 })).result, { value: -1 })
  const asked = told(bench.compute('two', 'a'))
  await bench.clock.settle()
  plot.finishAll(({ index }) => index)
  await bench.clock.settle()
  assert.deepEqual(asked.value?.result, { value: 0 })
  assert.deepEqual([load.starts.length, plot.starts.length], [1, 3])
  bench.assertNothingLeft()
})

test('W5 deleted again and again: it stays open, and is made again later', async () => {
  const { load, plot, two } = twoStages(1)
  const bench = await Bench.open([two])
  const { handle } = await bench.acknowledge('two', 'a')
  await bench.clock.settle()
  load.finishAll(() => 'rows')
  await bench.clock.settle()
  bench.store.pace = async () => void (await bench.service.computations.forget(handle))
  plot.finishAll(({ index }) => index)
  await bench.clock.settle()
  bench.store.pace = () => Promise.resolve()
  assert.equal((await bench.result(handle, { wait: 0 })).isDone, false)
  await bench.clock.advance(1_000)
  load.finishAll(() => 'rows')
  await bench.clock.settle()
  plot.finishAll(({ index }) => index)
  await bench.clock.settle()
  assert.deepEqual((await bench.result(handle)).result, { value: 0 })
  bench.assertNothingLeft()
})

test('W5 a drain is clean only when nothing acknowledged is left: not when the store refused a result', async () => {
  const gate = new Gate('one')
  const bench = await Bench.open([gate.job])
  await bench.acknowledge('one', 'a')
  await bench.clock.settle()
  bench.store.onKeep = diskFull
  gate.finishAll(() => 'result')
  await bench.clock.settle()
  assert.equal(bench.service.isStoreFailing, true)
  assert.deepEqual(await bench.drain(1_000), { isClean: false })
})

test('W5 work that was left and done later in the same process makes the drain clean again', async () => {
  const gate = new Gate('one')
  const bench = await Bench.open([gate.job])
  await bench.acknowledge('one', 'a')
  await bench.clock.settle()
  bench.store.onKeep = diskFull
  gate.finishAll(() => 'result')
  await bench.clock.settle()
  bench.store.onKeep = () => undefined
  await bench.acknowledge('one', 'a')
  await bench.clock.settle()
  gate.finishAll(() => 'result')
  await bench.clock.settle()
  assert.equal(bench.service.isStoreFailing, false)
  assert.deepEqual(await bench.drain(1_000), { isClean: true })
})
