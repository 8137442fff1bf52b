import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '../../src/errors.ts'
import { createFlags, createPool, learnShort, release, waitStarted } from './fixtures/support.ts'
import { until } from '../kernel/until.ts'

const crashes = [
  { how: 'process.exit()', job: 'exit', input: 3, cause: /exited with code 3/ },
  { how: 'an error thrown later', job: 'throwLater', input: 'boom', cause: /boom/ },
  { how: 'a rejection nobody handles', job: 'rejectLater', input: 'lost', cause: /lost/ },
] as const

for (const { how, job, input, cause } of crashes) {
  test(`S54: ${how} fails only its job; the others finish and the pool is refilled`, async () => {
    await using made = createPool({ threads: 2 })
    const { pool, run } = made
    const flags = createFlags()
    const bystander = run('hold', { flags })
    const others = Array.from({ length: 20 }, (_, index) => run('plus', index))
    const crashed = run(job, input, { name: 'node x' })
    const more = Array.from({ length: 20 }, (_, index) => run('plusLater', index))
    await assert.rejects(crashed, (error) => {
      assert.ok(isError(error, 'HDL_THREAD_CRASHED'))
      assert.match(error.message, /The thread that ran "node x" ended/)
      assert.match(error.details.cause, cause)
      return true
    })
    assert.deepEqual(
      await Promise.all([...others, ...more]),
      Array.from({ length: 40 }, (_, index) => (index % 20) + 1),
    )
    release(flags)
    assert.equal(await bystander, 'held')
    assert.equal(pool.stats().crashed, 1)
    // Both places work again.
    const again = createFlags()
    const two = [run('hold', { flags: again }), run('hold', { flags: again })]
    await waitStarted(again, 2)
    release(again)
    await Promise.all(two)
  })
}

test('S54: a job that uses up the memory of its thread fails alone', async () => {
  const resourceLimits = { maxOldGenerationSizeMb: 24, maxYoungGenerationSizeMb: 4 }
  await using made = createPool({ threads: 2, resourceLimits })
  const { run } = made
  const flags = createFlags()
  const bystander = run('hold', { flags })
  await waitStarted(flags)
  await assert.rejects(run('exhaust'), (error) => {
    assert.ok(isError(error, 'HDL_THREAD_CRASHED'))
    assert.match(error.details.cause, /memory/)
    return true
  })
  release(flags)
  assert.equal(await bystander, 'held')
  assert.equal(await run('plus', 1), 2)
})

test('S54: the error that ended the thread is the cause', async () => {
  await using made = createPool({ threads: 1 })
  await assert.rejects(made.run('throwLater', 'boom'), (error: Error) => {
    assert.ok(error.cause instanceof Error)
    assert.equal(error.cause.message, 'boom')
    assert.match(error.cause.stack!, /jobs\.ts/)
    return true
  })
})

test('P3: jobs that a thread had been sent and not started run elsewhere, in order, before newer work', async () => {
  await using made = createPool({ threads: 1 })
  const { pool, run } = made
  await learnShort(made, 'echoOrExit', 5)
  const order: unknown[] = []
  const note = (result: Promise<unknown>) => result.then((value) => order.push(value))
  const crashed = run('echoOrExit', 'exit')
  const sent = [1, 2, 3, 4].map((value) => note(run('echoOrExit', value)))
  assert.equal(pool.stats().inFlight, 5, 'all are on their way to the thread that will end')
  await assert.rejects(crashed, { code: 'HDL_THREAD_CRASHED' })
  sent.push(note(run('echoOrExit', 5)))
  await Promise.all(sent)
  assert.deepEqual(order, [1, 2, 3, 4, 5])
})

test('an error that an earlier job left behind does not fail the one that runs', async () => {
  await using made = createPool({ threads: 1 })
  const { pool, run } = made
  const flags = createFlags()
  assert.equal(await run('leaveTrap', { flags }), 'done')
  const innocent = run('outlive', { flags })
  await waitStarted(flags)
  // The thread announces that it retires, and still finishes the job.
  const next = run('plus', 1)
  await until(() => pool.stats().threads[0]?.state === 'retiring')
  assert.equal(pool.stats().queued, 1)
  release(flags)
  assert.equal(await innocent, 'outlived')
  assert.equal(await next, 2)
  assert.equal(pool.stats().crashed, 1)
  assert.equal(pool.stats().threads[0]!.id, 2)
})

test('a key that keeps ending threads is put in quarantine until it is released', async () => {
  await using made = createPool({ threads: 1, crashLimit: 2 })
  const { pool, run } = made
  await assert.rejects(run('exit', 1), { code: 'HDL_THREAD_CRASHED' })
  await assert.rejects(run('exit', 1), { code: 'HDL_THREAD_CRASHED' })
  assert.deepEqual(pool.stats().quarantined, ['exit'])
  await assert.rejects(run('exit', 1), (error) => {
    assert.ok(isError(error, 'HDL_QUARANTINED'))
    assert.deepEqual(error.details, { job: 'exit', crashes: 2 })
    return true
  })
  assert.equal(await run('plus', 1), 2)
  assert.equal(pool.release('exit'), true)
  await assert.rejects(run('exit', 1), { code: 'HDL_THREAD_CRASHED' })
  assert.deepEqual(pool.stats().quarantined, [])
})

test('a run that leaves its thread alive ends the row; keys are counted apart', async () => {
  await using made = createPool({ threads: 1, crashLimit: 2 })
  const { pool, run } = made
  const crash = (key: string) => assert.rejects(run('echoOrExit', 'exit', { key }))
  await crash('a')
  assert.equal(await run('echoOrExit', 1, { key: 'a' }), 1)
  await crash('a')
  await crash('b')
  assert.deepEqual(pool.stats().quarantined, [])
  await crash('b')
  assert.deepEqual(pool.stats().quarantined, ['b'])
  assert.equal(await run('echoOrExit', 1, { key: 'a' }), 1)
  await assert.rejects(run('echoOrExit', 1, { key: 'b' }), { code: 'HDL_QUARANTINED' })
})

test('jobs with that key that the thread had been sent fail too, and are not started elsewhere', async () => {
  await using made = createPool({ threads: 1, crashLimit: 1 })
  const { pool, run } = made
  await learnShort(made, 'echoOrExit', 3)
  const sent = ['exit', 1, 2].map((input) => run('echoOrExit', input))
  assert.equal(pool.stats().inFlight, 3)
  const outcomes = await Promise.allSettled(sent)
  assert.deepEqual(
    outcomes.map((each) => (each.status === 'rejected' ? each.reason.code : 'ok')),
    ['HDL_THREAD_CRASHED', 'HDL_QUARANTINED', 'HDL_QUARANTINED'],
  )
})

test('jobs that wait with a key in quarantine fail at once', async () => {
  await using made = createPool({ threads: 1, crashLimit: 1 })
  const { pool, run } = made
  const poison = ['exit', 'exit', 'exit'].map((input) => run('echoOrExit', input, { key: 'p' }))
  const other = run('plus', 1)
  const outcomes = await Promise.allSettled(poison)
  assert.deepEqual(
    outcomes.map((each) => (each.status === 'rejected' ? each.reason.code : 'ok')),
    ['HDL_THREAD_CRASHED', 'HDL_QUARANTINED', 'HDL_QUARANTINED'],
  )
  assert.equal(await other, 2)
  assert.equal(pool.stats().crashed, 1)
})
