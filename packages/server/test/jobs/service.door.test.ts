/** Refusals before the work begins. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serveJob, type ItemInput } from '../../src/jobs/served-job.ts'
import { Bench } from '../support/bench.ts'
import { Gate } from '../support/gates.ts'
import { codeOf, told } from '../support/told.ts'

test('while the second stage is full no work with two stages is accepted; accepted work is all done', async () => {
  const load = new Gate('load')
  const plot = new Gate<ItemInput<unknown>>('plot')
  const two = serveJob({ name: 'two', prepare: load.job, item: plot.job, total: 2 })
  const bench = await Bench.open([two], { itemCapacity: 4, capacity: 400, loop: 400 })
  const handles: string[] = []
  const refusals: unknown[] = []
  for (let n = 0; n < 100; n++) {
    const asked = told(bench.acknowledge('two', n))
    await bench.clock.settle()
    if (asked.value === undefined) refusals.push(codeOf(asked.error))
    else handles.push(asked.value.handle)
    load.finishAll()
    await bench.clock.settle()
  }
  assert.deepEqual(new Set(refusals), new Set(['HDL_OVERLOADED']))
  assert.ok(handles.length >= 2 && handles.length < 20, `${handles.length} were taken`)
  for (let n = 0; n < 100; n++) {
    plot.finishAll()
    await bench.clock.settle()
  }
  for (const handle of handles) {
    const asked = told(bench.result(handle, { index: -1, wait: 0 }))
    await bench.clock.settle()
    assert.equal(asked.value?.isDone, true, handle)
  }
  bench.assertNothingLeft()
})

test('admitted work is done however many wait for the second stage', async () => {
  const load = new Gate('load')
  const plot = new Gate<ItemInput<unknown>>('plot')
  const two = serveJob({ name: 'two', prepare: load.job, item: plot.job, total: 1 })
  const bench = await Bench.open([two], { itemCapacity: 4, capacity: 400, loop: 400 })
  const asked = Array.from({ length: 50 }, (_, n) => told(bench.acknowledge('two', n)))
  await bench.clock.settle()
  load.finishAll()
  for (let n = 0; n < 50; n++) {
    await bench.clock.settle()
    plot.finishAll()
  }
  for (const { value } of asked) {
    const done = told(bench.result(value!.handle, { wait: 0 }))
    await bench.clock.settle()
    assert.equal(done.value?.isDone, true)
  }
  bench.assertNothingLeft()
})

test('a prefetch whose store does not answer delays no drain longer than its deadline', async () => {
  const load = new Gate('load')
  const quick = serveJob({ name: 'quick', prepare: load.job, prefetch: { input: () => 'next' } })
  const bench = await Bench.open([quick])
  const asked = { input: 'now', handle: 'quick-0' }
  bench.service.planPrefetch(quick, asked, () => new Promise(() => {}))
  await bench.clock.advance(5_000)
  const drained = told(bench.drain(1_000))
  await bench.clock.settle()
  assert.equal(
    codeOf(await bench.acknowledge('quick', 1).catch((error: unknown) => error)),
    'HDL_DRAINING',
  )
  await bench.clock.advance(1_000)
  assert.deepEqual(drained.value, { isClean: true })
})
