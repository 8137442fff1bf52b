import assert from 'node:assert/strict'
import test from 'node:test'
import { Graph, isError, job, run } from '@heddle/core'
import { Bench } from './kit.ts'

/** A thenable that calls back twice, the second time with another answer. */
function twice(answer: unknown): Promise<never> {
  const then = (resolve: (value: unknown) => void): void => {
    resolve(answer)
    resolve({ unknown: 7 })
  }
  // oxlint-disable-next-line unicorn/no-thenable -- a thenable that is not a promise is what is tested
  return { then } as never
}

test('N1: an answer that settles twice counts once', async () => {
  const b = new Bench({ resources: { db: 1 } })
  b.scheduler.add('a', { needs: () => twice({ db: 1 }) })
  const result = await b.scheduler.run(() => 1)
  assert.deepEqual(result.succeeded, ['a'])
})

test('N2: a function that never returns fails its attempt at the timeout, and explain() names the wait', async () => {
  const b = new Bench({ timeout: 5_000, retries: 1, retryBaseDelay: 0 })
  b.scheduler.add('a', { needs: () => new Promise(() => undefined) })
  const ended = b.scheduler.run(b.work)
  await b.clock.advance(4_000)
  assert.deepEqual(b.scheduler.explain('a'), {
    name: 'a',
    state: 'ready',
    why: 'needs',
    ms: 4_000,
    text: 'has waited for its needs function for 4.0 s',
  })
  assert.equal(b.scheduler.stats().ready, 1)
  await b.clock.advance(1_000)
  assert.equal(b.scheduler.explain('a').why, 'needs', 'asked again for the second attempt')
  await b.clock.advance(5_000)
  const result = await ended
  const error = result.failed.get('a')
  assert.ok(isError(error, 'HDL_TIMEOUT') && error.details.stage === 'needs', String(error))
  assert.equal(result.errors.get('a')?.length, 2)
  assert.deepEqual(b.started, [], 'the job itself has not been called')
  assert.equal(b.clock.pending, 0)
})

test('N1: an answer that comes after the timeout does not count for the next attempt', async () => {
  const b = new Bench({ timeout: 1_000, retries: 1, retryBaseDelay: 0, resources: { db: 1 } })
  const answers = [Promise.withResolvers<object>(), Promise.withResolvers<object>()]
  let asked = 0
  b.scheduler.add('a', { needs: () => answers[asked++]!.promise as never })
  const ended = b.scheduler.run(b.work)
  await b.clock.advance(1_000)
  assert.equal(asked, 2)
  answers[0]!.resolve({ db: 1 })
  await b.clock.settle()
  assert.deepEqual(b.started, [])
  answers[1]!.resolve({ db: 1 })
  await b.clock.settle()
  assert.deepEqual(b.started, ['a'])
  await b.finish('a')
  assert.equal((await ended).ok, true)
})

test('N3: a node that is removed or cancelled while it is asked leaves nothing', async () => {
  for (const act of ['remove', 'cancel'] as const) {
    const b = new Bench()
    const answer = Promise.withResolvers<undefined>()
    b.scheduler.add('a', { needs: () => answer.promise })
    const ended = b.scheduler.run(b.work)
    await b.clock.settle()
    if (act === 'remove') b.scheduler.remove('a')
    else b.scheduler.cancel()
    answer.resolve(undefined)
    assert.deepEqual((await ended).skipped, ['a'])
    await b.clock.settle()
    assert.deepEqual(b.started, [])
    assert.equal(b.clock.pending, 0)
  }
})

test('a promise from an input function is awaited for `needs` and for the job alike', async () => {
  const seen: unknown[] = []
  const work = job(
    {
      name: 'work',
      needs: (input: string) => {
        seen.push(input)
        return {}
      },
    },
    (input: string) => {
      seen.push(input)
    },
  )
  const graph = new Graph()
  graph.add('a', work, { input: () => twice('made') })
  await run(graph)
  assert.deepEqual(seen, ['made', 'made'])
  // One that is not made by a function is data, whatever it looks like.
  const fixed = twice('made') as never as string
  const other = new Graph()
  other.add('a', work, { input: fixed })
  await run(other)
  assert.deepEqual(seen.slice(2), [fixed, fixed])
})
