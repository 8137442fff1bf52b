/** Shares of the second stage: one large computation closes the door for no other one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serveJob, type ItemInput } from '../../src/index.ts'
import { Bench } from '../support/bench.ts'
import { Gate } from '../support/gates.ts'
import { until } from '../../../core/test/kernel/until.ts'

function stages(total: number) {
  const load = new Gate('load')
  const plot = new Gate<ItemInput<unknown>>('plot')
  const large = serveJob({ name: 'large', prepare: load.job, item: plot.job, total })
  const quickLoad = new Gate('quick load')
  const quickPlot = new Gate<ItemInput<unknown>>('quick plot')
  const quick = serveJob({ name: 'quick', prepare: quickLoad.job, item: quickPlot.job, total: 2 })
  return { load, plot, quickLoad, quickPlot, jobs: [large, quick] }
}

test('a background computation of 3,000 results leaves half of the second stage, and others are admitted', async () => {
  const { load, plot, quickLoad, quickPlot, jobs } = stages(3_000)
  const bench = await Bench.open(jobs, { itemCapacity: 32, loop: 100 })
  const ofSecond = (): number =>
    plot.starts.filter(({ input }) => input.prepared === 'other rows').length
  await bench.acknowledge('large', 1, { priority: 3 })
  ;(await load.started()).finish('rows')
  await plot.started(16)
  assert.equal(bench.items.stats().queue.running, 16)
  assert.equal(bench.items.load().refusing, false)
  // Both priorities are admitted and answered while the large one is under way.
  for (const [number, priority] of [0, 1].entries()) {
    const answer = bench.compute('quick', number, { priority })
    ;(await quickLoad.started(number + 1)).finish('row')
    ;(await quickPlot.started(2 * number + 1)).finish('plot')
    assert.deepEqual((await answer).result, { value: 'plot' })
    ;(await quickPlot.started(2 * number + 2)).finish('plot')
  }
  // Two large ones have a quarter each.
  await bench.acknowledge('large', 2, { priority: 3 })
  ;(await load.started(2)).finish('other rows')
  for (let done = 0; done < 16; done++) (await plot.started(done + 1)).finish(done)
  await plot.started(24)
  await until(() => ofSecond() === 8)
  await bench.service.drain(AbortSignal.abort())
})

test('background work that fills the second stage to its level closes the door for itself only', async () => {
  const { load, plot, quickLoad, quickPlot, jobs } = stages(1)
  const bench = await Bench.open(jobs, { itemCapacity: 4, capacity: 32, loop: 100 })
  for (let input = 0; input < 4; input++) {
    await bench.acknowledge('large', input)
    ;(await load.started(input + 1)).finish(input)
    await plot.started(input + 1)
  }
  assert.equal(bench.items.load().refusing, true)
  await assert.rejects(async () => bench.compute('quick', 1, { priority: 1 }), {
    code: 'HDL_OVERLOADED',
  })
  plot.starts[0]!.finish(1)
  await until(() => bench.items.stats().queue.running === 3)
  // Three of four seats: a seat above the level is free for priority 0 only.
  const answer = bench.compute('quick', 2, { priority: 0 })
  ;(await quickLoad.started()).finish('row')
  ;(await quickPlot.started()).finish('plot')
  assert.deepEqual((await answer).result, { value: 'plot' })
  plot.finishAll()
  quickPlot.finishAll()
  await bench.service.drain(AbortSignal.abort())
})

test('the first stage: background submits stop at the level, interactive ones at the last seat', async () => {
  const gate = new Gate('work')
  const bench = await Bench.open([gate.job], { capacity: 8, loop: 100 })
  let taken = 0
  for (; ; taken++) {
    try {
      await bench.acknowledge('work', taken)
    } catch {
      break
    }
  }
  assert.equal(taken, 7)
  const quick = bench.compute('work', 'quick', { priority: 0 })
  ;(await gate.started(8)).finish('quick')
  assert.deepEqual((await quick).result, { value: 'quick' })
  gate.finishAll()
  await bench.drain(1_000)
})
