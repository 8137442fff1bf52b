import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createFlags, createPool, release, turn, waitStarted } from './fixtures/support.ts'

test('T3: a process with a pool ends when its work is done, and not before', async () => {
  const file = fileURLToPath(new URL('./fixtures/keep-alive.ts', import.meta.url))
  const flags = ['--conditions=heddle-source']
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, file])
  assert.deepEqual(stdout.trim().split('\n'), ['unused', 'result 2', 'cancelled HDL_CANCELLED'])
})

test('T1: each outcome gives its slot back: many more tasks than slots', async () => {
  await using made = createPool({ threads: 1, crashLimit: 100 })
  const { pool, run } = made
  for (let index = 0; index < 20; index++) await run('echoOrExit', index)
  const outcomes = await Promise.allSettled(
    Array.from({ length: 500 }, (_, index) => {
      if (index % 100 === 50) return run('echoOrExit', 'exit')
      if (index % 10 === 3) return run('echo', () => 'not cloneable')
      if (index % 10 === 7) return run('echoOrExit', index, { signal: soonAborted() })
      return run('echoOrExit', index)
    }),
  )
  assert.equal(outcomes.length, 500)
  const { inFlight, queued, failed, cancelled, completed } = pool.stats()
  assert.deepEqual([inFlight, queued], [0, 0])
  assert.equal(completed + failed + cancelled, 520)
  assert.equal(failed, 55)
})

function soonAborted(): AbortSignal {
  const controller = new AbortController()
  queueMicrotask(() => controller.abort())
  return controller.signal
}

test('R3: a result does not wait for the long job that was sent with it', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  for (let index = 0; index < 20; index++) await run('echoOrHold', index)
  const flags = createFlags()
  const short = run('echoOrHold', 'short')
  const long = run('echoOrHold', { flags })
  assert.equal(await short, 'short')
  assert.equal(Atomics.load(flags, 1), 0)
  release(flags)
  assert.equal(await long, 'held')
})

test('R1: an asynchronous job is finished before the next one starts', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  for (let index = 0; index < 20; index++) await run('outliveOrEcho', index)
  const [first, second] = [createFlags(), createFlags()]
  const work = [run('outliveOrEcho', { flags: first }), run('outliveOrEcho', { flags: second })]
  await waitStarted(first)
  for (let turns = 0; turns < 10; turns++) await turn()
  assert.equal(Atomics.load(second, 0), 0)
  release(second)
  release(first)
  await Promise.all(work)
})

test('R4: output of a job is written while its thread is idle', async () => {
  const file = fileURLToPath(new URL('./fixtures/prints.ts', import.meta.url))
  const flags = ['--conditions=heddle-source']
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, file])
  assert.equal(stdout.split('\n').filter((line) => line.startsWith('line')).length, 100)
})
