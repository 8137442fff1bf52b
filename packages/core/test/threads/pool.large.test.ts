import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { isError } from '../../src/errors.ts'
import { createPool } from './fixtures/support.ts'

const entries = (count: number): { id: number; name: string }[] =>
  Array.from({ length: count }, (_, id) => ({ id, name: `entry ${id}` }))

test('large values arrive unchanged, in both directions, and in the order of the tasks', async () => {
  await using made = createPool({ threads: 2 })
  const { run } = made
  const values = [
    entries(50_000),
    1,
    new Map(entries(10_000).map((entry) => [entry.name, entry])),
    'text '.repeat(2_000_000),
    { rows: entries(10_000), bytes: new Uint8Array(5 * 2 ** 20).fill(3) },
    2,
  ]
  assert.deepEqual(await Promise.all(values.map((value) => run('echo', value))), values)
})

test('a large buffer is copied for the thread: the caller keeps it, and can send it again', async () => {
  await using made = createPool({ threads: 1 })
  const bytes = new Uint8Array(20 * 2 ** 20).fill(7)
  for (let times = 0; times < 3; times++) {
    assert.equal(await made.run('sum', bytes.buffer), 14)
    assert.equal(bytes.length, 20 * 2 ** 20)
  }
})

test('a large value that the codec does not know is cloned as ever', async () => {
  await using made = createPool({ threads: 1 })
  const shared = { name: 'one object' }
  const cycle: { list: object[]; self?: object } = { list: entries(10_000) }
  cycle.self = cycle
  cycle.list.push(shared, shared)
  const back = (await made.run('echo', cycle)) as typeof cycle
  assert.equal(back.self, back)
  assert.equal(back.list.at(-1), back.list.at(-2))
  assert.equal(back.list.length, 10_002)
})

test('P1: a task is stopped while its large result is being read', async () => {
  await using made = createPool({ threads: 1 })
  const { pool, run } = made
  const isReading = (): boolean => {
    const { inFlight, threads } = pool.stats()
    return inFlight === 1 && threads[0]?.busy === false
  }
  const value = entries(400_000)
  const ends = {
    HDL_CANCELLED: () => {
      const controller = new AbortController()
      const echoed = run('echo', value, { signal: controller.signal })
      return { echoed, end: () => controller.abort() }
    },
    HDL_CLOSED: () => ({ echoed: run('echo', value), end: () => void pool.stop() }),
  }
  for (const [code, start] of Object.entries(ends)) {
    const { echoed, end } = start()
    const outcome = echoed.then(
      () => 'read',
      (error: unknown) => error,
    )
    while (!isReading()) await turn()
    end()
    assert.ok(isError(await outcome, code as 'HDL_CLOSED'))
    assert.equal(pool.stats().inFlight, 0)
  }
})

test('a large input that is cancelled while it is made ready is not sent', async () => {
  await using made = createPool({ threads: 1 })
  const { pool, run } = made
  await run('echo', 1)
  const controller = new AbortController()
  const sent = run('echo', entries(400_000), { signal: controller.signal })
  const outcome = sent.catch((error: unknown) => error)
  await turn()
  assert.equal(pool.stats().inFlight, 1)
  controller.abort()
  assert.ok(isError(await outcome, 'HDL_CANCELLED'))
  assert.deepEqual(await run('echo', [2]), [2])
})
