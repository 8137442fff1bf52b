// One test for each defect that was found by trying to break the scheduler.
import assert from 'node:assert/strict'
import test from 'node:test'
import { HeddleError, isError } from '../../src/errors.ts'
import {
  backoff,
  final,
  isRetryable,
  requestedDelay,
  retryAfter,
} from '../../src/attempts/retry.ts'
import { Scheduler } from '../../src/scheduler/scheduler.ts'
import { Bench, recorder } from './kit.ts'

test('lowering concurrency from Infinity keeps the new cap', async () => {
  const b = new Bench({ concurrency: Infinity }).add({ a: [], b: [], c: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  b.scheduler.concurrency = 1
  b.add({ d: [], e: [] })
  for (const name of ['a', 'b']) await b.finish(name)
  assert.deepEqual(b.started, ['a', 'b', 'c'])
  await b.finish('c')
  assert.deepEqual(b.started, ['a', 'b', 'c', 'd'])
  await b.finish('d')
  await b.finish('e')
  await run
})

test('a thrown value whose properties throw is an error like any other', async () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  const hostile = [
    proxy,
    {
      get retryable(): boolean {
        throw new Error('x')
      },
    },
  ]
  for (const thrown of hostile) {
    const b = new Bench({ retries: 1, retryBaseDelay: 0 }).add({ a: [] })
    const r = await b.clock.runUntil(
      b.scheduler.run(() => {
        // oxlint-disable-next-line typescript/only-throw-error -- what people throw
        throw thrown
      }),
    )
    assert.equal(r.errors.get('a')?.length, 2)
  }
})

test('retryAfter takes a finite duration, and only our own errors are asked for one', () => {
  for (const wrong of [Infinity, NaN, -1]) {
    assert.throws(
      () => retryAfter(wrong),
      (error) => isError(error, 'HDL_BAD_OPTION'),
    )
  }
  const http = Object.assign(new Error('429'), { retryAfter: 30 })
  assert.equal(requestedDelay(http), undefined, 'it may well mean seconds')
  assert.equal(isRetryable(final(http)), false)
})

test('a resource cannot be lowered below the needs of a node', async () => {
  const b = new Bench({ resources: { gpu: 4 }, keepOpen: true })
  b.scheduler.add('big', { needs: { gpu: 3 } })
  assert.throws(
    () => b.scheduler.resize('gpu', 2),
    (error) => isError(error, 'HDL_WOULD_DEADLOCK'),
  )
  b.scheduler.resize('gpu', 3)
})

test('back-off stays a number after a thousand attempts', () => {
  assert.equal(backoff(5_000, 0, { next: () => 1 }), 0)
  assert.equal(backoff(5_000, 1, { next: () => 1 }), 60_000)
})

test('a wrong `after` is refused before anything has changed', async () => {
  const s = new Scheduler()
  for (const after of [5, 'core', [{ name: 'core' }]]) {
    assert.throws(
      () => s.add('b', { after: after as never }),
      (error) => isError(error, 'HDL_BAD_OPTION'),
    )
  }
  const { calls, work } = recorder()
  await s.run(work)
  assert.deepEqual(calls, [])
})

test('a node added while running that depends on itself is a cycle', async () => {
  const b = new Bench({ keepOpen: true })
  const run = b.scheduler.run(b.work)
  assert.throws(
    () => b.scheduler.add('x', { after: ['x'] }),
    (error) => isError(error, 'HDL_CYCLE'),
  )
  b.scheduler.close()
  assert.equal((await run).ok, true)
})

test('detach before the run: dependents also wait for dependencies that are added later', async () => {
  const b = new Bench()
  b.add({ b: ['a'], c: ['b'] })
  b.scheduler.remove('b', { dependents: 'detach' })
  b.add({ a: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  assert.deepEqual(b.started, ['a'])
  await b.finish('a')
  assert.deepEqual(b.started, ['a', 'c'])
  await b.finish('c')
  assert.deepEqual((await run).skipped, ['b'])
})

test('detach: a failure before the removed node blocks the nodes behind it', async () => {
  const b = new Bench().add({ a: [], b: ['a'], c: ['b'] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  b.scheduler.remove('b', { dependents: 'detach' })
  assert.equal(b.scheduler.explain('c').text, 'waits for "a" (running 0 ms)')
  await b.fail('a')
  const r = await run
  assert.deepEqual([...r.blocked], [['c', 'a']])
})

test('detaching a chain of 50,000 nodes does not recurse deeply, in explain() or in run()', async () => {
  const scheduler = new Scheduler()
  const { calls, work } = recorder()
  const size = 50_000
  for (let i = 0; i < size; i++) scheduler.add(`n${i}`, i === 0 ? {} : { after: [`n${i - 1}`] })
  for (let i = 1; i < size - 1; i++) scheduler.remove(`n${i}`, { dependents: 'detach' })
  assert.equal(scheduler.explain(`n${size - 1}`).text, 'waits for "n0" (ready)')
  assert.equal((await scheduler.run(work)).ok, true)
  assert.deepEqual(calls, ['n0', `n${size - 1}`])
})

test('explain names the nodes behind removed diamonds once', () => {
  const b = new Bench().add({ a: [], l1: ['a'], r1: ['a'], l2: ['l1', 'r1'], r2: ['l1', 'r1'] })
  b.add({ end: ['l2', 'r2'] })
  for (const name of ['l1', 'r1', 'l2', 'r2']) b.scheduler.remove(name, { dependents: 'detach' })
  assert.equal(b.scheduler.explain('end').text, 'waits for "a" (ready)')
})

test('detaching a hub of 2,000 dependencies and 2,000 dependents makes no edge between them', async () => {
  const b = new Bench({ concurrency: Infinity })
  const before = Array.from({ length: 2_000 }, (_, i) => `in${i}`)
  for (const name of before) b.scheduler.add(name)
  b.scheduler.add('hub', { after: before })
  for (let i = 0; i < 2_000; i++) b.scheduler.add(`out${i}`, { after: ['hub'] })
  b.scheduler.remove('hub', { dependents: 'detach' })
  let started = 0
  const r = await b.scheduler.run(async (name) => {
    started++
    if (name.startsWith('out')) assert.ok(started > 2_000)
  })
  assert.equal(r.succeeded.length, 4_000)
})

test('the same observer twice: disposing of one leaves the other', async () => {
  const b = new Bench()
  let told = 0
  const count = (): void => void told++
  const first = b.scheduler.observe(count)
  b.scheduler.observe(count)
  first[Symbol.dispose]()
  b.scheduler.add('a')
  assert.equal(told, 1)
})

test('run() without a function is refused', async () => {
  await assert.rejects(
    new Scheduler().run(undefined as never),
    (error) => error instanceof HeddleError,
  )
})

test('`unknown: error` also holds while run() searches for cycles', async () => {
  const b = new Bench({ unknown: 'error' }).add({ b: ['a'], a: [] })
  const run = b.scheduler.run(b.work)
  assert.throws(
    () => b.scheduler.add('c', { after: ['ghost'] }),
    (error) => isError(error, 'HDL_UNKNOWN_DEPENDENCY'),
  )
  assert.throws(
    () => b.scheduler.add('d', { after: ['d'] }),
    (error) => isError(error, 'HDL_CYCLE'),
  )
  await b.clock.settle()
  await b.finish('a')
  await b.finish('b')
  assert.deepEqual((await run).succeeded, ['a', 'b'])
})

test('a name that is added while missing names are settled has one outcome, and is not lost', async () => {
  const b = new Bench({ unknown: 'ignore' }).add({ x: ['late'], y: ['never'] })
  const run = b.scheduler.run(b.work)
  b.scheduler.add('late')
  await b.clock.settle()
  for (const name of ['x', 'y', 'late']) if (b.started.includes(name)) await b.finish(name)
  for (const name of ['x', 'y', 'late'])
    if (b.scheduler.stateOf(name) === 'running') await b.finish(name)
  assert.deepEqual((await run).succeeded.toSorted(), ['late', 'x', 'y'])
})

test('a cycle of 50,000 nodes has a message that fits on a screen, and its whole way in the details', async () => {
  const s = new Scheduler()
  for (let i = 0; i < 50_000; i++) s.add(`n${i}`, { after: [`n${(i + 1) % 50_000}`] })
  await assert.rejects(s.run(recorder().work), (error) => {
    assert.ok(isError(error, 'HDL_CYCLE'))
    assert.match(error.message, /n0 → n1 → .* … 49991 more … → .* → n0\.$/)
    assert.ok(error.message.length < 300)
    assert.equal(error.details.path.length, 50_001)
    return true
  })
})

test('log and resultOf can be taken out of the context', async () => {
  const lines: string[] = []
  const s = new Scheduler({
    observer: (event) => {
      if (event.type === 'log') lines.push(event.text)
    },
  })
  s.add('a')
  s.add('b', { after: ['a'] })
  const r = await s.run((name, { log, resultOf }) => {
    if (name === 'a') return 1
    log(`a gave ${String(resultOf('a'))}`)
    return undefined
  })
  assert.equal(r.ok, true)
  assert.deepEqual(lines, ['a gave 1'])
})

test('a node that could never start is named, with the permits it lacks', async () => {
  const s = new Scheduler({ resources: { db: 1 } })
  assert.throws(
    () => s.add('load', { needs: { db: 3 } }),
    (error) =>
      isError(error, 'HDL_WOULD_DEADLOCK') &&
      error.details.node === 'load' &&
      error.details.resource === 'db' &&
      error.message ===
        '"load" needs 3 permits of "db" but there are only 1: it could never start.',
  )
  s.add('asked', { needs: () => ({ db: 5 }) })
  const { failed } = await s.run(() => 1)
  const error = failed.get('asked')
  assert.ok(isError(error, 'HDL_WOULD_DEADLOCK') && error.details.node === 'asked')
})

test('a refused resize names its arguments', () => {
  const s = new Scheduler({ resources: { db: 1, api: { limit: 1, per: 3 } } })
  assert.throws(() => s.resize('dbb', 3), {
    message:
      'Option "resource" is "dbb", expected a place (loop, thread, fleet) or a name in `resources` (db, api); did you mean db?',
  })
  assert.throws(() => s.resize('api', 3), {
    message:
      'Option "resource" is "api", expected a resource with a number of permits: rates and limits for each key stay as they are.',
  })
})

test('a timeout of 0 is refused, a deadline of 0 has passed already', async () => {
  assert.throws(() => new Scheduler({ timeout: 0 }), { code: 'HDL_BAD_OPTION' })
  const s = new Scheduler()
  assert.throws(() => s.add('a', { timeout: 0 }), { code: 'HDL_BAD_OPTION' })
  s.add('a')
  const { calls, work } = recorder()
  const { state, skipped } = await s.run(work, { deadline: 0 })
  assert.deepEqual([state, skipped, calls], ['cancelled', ['a'], []])
})

test('a wrong way to cancel, to remove or to observe is refused', async () => {
  const s = new Scheduler()
  s.add('a')
  assert.throws(() => s.cancel('because' as never), { code: 'HDL_BAD_OPTION' })
  assert.throws(() => s.remove('a', { dependents: 'skip' as never }), { code: 'HDL_BAD_OPTION' })
  assert.throws(() => s.observe(5 as never), { code: 'HDL_BAD_OPTION' })
  assert.throws(() => new Scheduler({ observer: 5 as never }), { code: 'HDL_BAD_OPTION' })
  assert.equal((await s.run(() => 1)).ok, true)
})

for (const starting of ['first', 'after']) {
  test(`an observer that aborts the run while "${starting}" starts: it is aborted, the run ends`, async () => {
    const controller = new AbortController()
    const scheduler = new Scheduler({
      observer: (event) => {
        if (event.type !== 'node' || event.name !== starting || event.state !== 'running') return
        controller.abort('not wanted')
      },
    })
    // The second one is started by the end of the first, and not by a scan of all ready nodes.
    scheduler.add('first')
    scheduler.add('after', { after: ['first'] })
    const { ok, succeeded, cancelled } = await scheduler.run(
      async (name, { signal }) => {
        if (name !== starting) return
        signal.throwIfAborted()
        await new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error))
        })
      },
      { signal: controller.signal },
    )
    assert.deepEqual([ok, cancelled], [false, [starting]])
    assert.deepEqual(succeeded, starting === 'first' ? [] : ['first'])
  })
}
