import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { HeddleError } from '@heddle/core'
import { Kit } from './kit.ts'

const second = 1_000

async function open(t: TestContext): Promise<Kit> {
  const kit = await Kit.open('2026-01-01T00:00:00Z')
  t.after(() => kit.close())
  return kit
}

const request = { graph: 'g', by: 'ada' }
const begin = Date.parse('2026-01-01T00:00:00Z')

test('B1 a start waits for its time, and is started once by two servers', async (t) => {
  const kit = await open(t)
  const [one, two] = [kit.starts(), kit.starts()]
  await kit.serve([], one)
  await kit.serve([], two)
  const startAt = begin + 10 * second
  const answer = await one.request({ ...request, args: { day: 1 }, startAt })
  assert.deepEqual(
    { ...answer, start: '' },
    { run: null, how: 'delayed', start: '', dueAt: startAt },
  )
  await kit.clock.advance(9 * second)
  assert.equal(kit.runner.runs.length, 0)
  await kit.clock.advance(2 * second)
  assert.equal(kit.runner.runs.length, 1)
  assert.deepEqual(kit.runner.runs[0]!.request.args, { day: 1 })
  assert.deepEqual(await one.list(10), [])
})

test('B1 a time that has passed starts at once; a key has one start', async (t) => {
  const kit = await open(t)
  const starts = kit.starts()
  assert.equal((await starts.request({ ...request, startAt: begin })).how, 'started')
  const later = { ...request, key: 'k', startAt: begin + second }
  const first = await starts.request(later)
  const second_ = await starts.request({ ...later, startAt: begin + 5 * second })
  assert.deepEqual([first.how, second_.how], ['delayed', 'attached'])
  assert.deepEqual('dueAt' in second_ && second_.dueAt, begin + second)
})

test('B1 a server that dies after the start leaves a record that starts nothing twice', async (t) => {
  const kit = await open(t)
  let deaths = 1
  kit.runner.fault = (when) => {
    if (when === 'after' && deaths-- > 0) throw new HeddleError('HDL_DRAINING', { what: 'It' })
  }
  const starts = kit.starts()
  await starts.request({ ...request, startAt: begin + second })
  await kit.serve([], starts)
  await kit.clock.advance(10 * second)
  assert.equal(kit.runner.runs.length, 1)
  assert.deepEqual(await starts.list(10), [])
})

test('B2 debounce: the last arguments count, after a pause, at the latest after `most`', async (t) => {
  const kit = await open(t)
  const starts = kit.starts()
  await kit.serve([], starts)
  const debounce = { key: 'save', delay: 2 * second, most: 5 * second }
  for (let n = 1; n <= 7; n++) {
    await starts.request({ ...request, args: n, debounce })
    await kit.clock.advance(second)
  }
  // The first five seconds are over: the fifth request was the last of the first run.
  assert.deepEqual(
    kit.runner.runs.map((run) => [run.request.args, run.startedAt]),
    [[5, 5 * second]],
  )
  await kit.clock.advance(10 * second)
  assert.deepEqual(
    kit.runner.runs.map((run) => [run.request.args, run.startedAt]),
    [
      [5, 5 * second],
      [7, 8 * second],
    ],
  )
  assert.equal(new Set(kit.runner.runs.map(({ key }) => key)).size, 2)
})

test('a start is cancelled while it waits; the list of starts is bounded', async (t) => {
  const kit = await open(t)
  const starts = kit.starts(2)
  const { start } = (await starts.request({ ...request, startAt: begin + second })) as {
    start: string
  }
  await starts.request({ ...request, startAt: begin + second })
  await assert.rejects(
    starts.request({ ...request, startAt: begin + second }),
    (error: { code: string }) => error.code === 'HDL_OVERLOADED',
  )
  await starts.cancel(start)
  await assert.rejects(
    starts.cancel(start),
    (error: { code: string }) => error.code === 'HDL_UNKNOWN_START',
  )
  assert.equal((await starts.list(10)).length, 1)
})
