import assert from 'node:assert/strict'
import test from 'node:test'
import { resumeAttempt, shield, suspendAttempt } from '../../src/attempts/attempt.ts'
import { final, retryAfter } from '../../src/attempts/retry.ts'
import { HeddleError, isError } from '../../src/errors.ts'
import { Entry, Kit } from './kit.ts'

test('A1 A3: an entry takes its permit, runs, reports each step and gives the permit back', async () => {
  const kit = new Kit({ permits: 1 })
  const a = kit.submit(new Entry('a'))
  const b = kit.submit(new Entry('b'))
  assert.deepEqual([kit.room.used, kit.runner.running], [1, 1])
  a.attempts[0]!.log('hello')
  a.attempts[0]!.progress(0.5, 'half')
  await kit.resolve(a)
  await kit.reject(b)
  assert.deepEqual(kit.reports, [
    'a queued',
    'a started',
    'b queued',
    'a log hello',
    'a progress 0.5 half',
    'a ended succeeded',
    'b started',
    'b ended failed',
  ])
  assert.deepEqual([kit.room.used, kit.runner.running, kit.clock.pending], [0, 0, 0])
})

test('A3: the permit is free during back-off, and the next attempt queues for it', async () => {
  const kit = new Kit({ permits: 1 })
  const flaky = kit.submit(new Entry('flaky', { retries: 1 }))
  const quick = kit.submit(new Entry('quick'))
  await kit.reject(flaky)
  assert.deepEqual(kit.reports.slice(-2), ['flaky retrying in 1000', 'quick started'])
  assert.deepEqual([kit.runner.retrying, kit.runner.retryAt(flaky)], [1, 1_000])
  await kit.clock.advance(1_000)
  assert.equal(flaky.attempts.length, 1, 'quick has the permit')
  await kit.resolve(quick)
  assert.deepEqual([flaky.attempts.length, flaky.attempts[1]!.attempt], [2, 1])
  await kit.resolve(flaky)
  assert.equal(flaky.end, 'succeeded')
})

test('A4: each attempt has the whole timeout; queueing and back-off do not count', async () => {
  const kit = new Kit({ permits: 1 })
  const first = kit.submit(new Entry('first'))
  const entry = kit.submit(new Entry('entry', { retries: 1, timeout: 50 }))
  await kit.clock.advance(500)
  await kit.resolve(first)
  await kit.clock.advance(40)
  await kit.reject(entry)
  await kit.clock.advance(1_000)
  assert.equal(entry.attempts.length, 2)
  await kit.clock.advance(49)
  assert.equal(entry.attempts[1]!.cancelled, false)
  await kit.clock.advance(1)
  assert.ok(isError(entry.attempts[1]!.reason, 'HDL_TIMEOUT'))
  assert.equal(entry.end, undefined, 'A2: it has not settled')
  await kit.resolve(entry, 'A5: too late')
  assert.equal(entry.end, 'failed')
  assert.ok(isError((entry.errors[1] as { made: unknown }).made, 'HDL_TIMEOUT'))
})

test('A4: an entry that waits for its place has a deadline of its own, and its neighbours keep theirs', async () => {
  const kit = new Kit({ permits: 3 })
  const loop = kit.submit(new Entry('loop', { timeout: 50 }))
  const thread = kit.submit(new Entry('thread', { timeout: 50 }))
  thread.isElsewhere = true
  thread.attempts[0]!.queued()
  const later = kit.submit(new Entry('later', { timeout: 50 }))
  await kit.clock.advance(50)
  assert.deepEqual(
    [loop, thread, later].map((each) => each.attempts[0]!.cancelled),
    [true, false, true],
  )
  thread.attempts[0]!.started()
  await kit.clock.advance(49)
  assert.equal(thread.attempts[0]!.cancelled, false)
  await kit.clock.advance(1)
  assert.equal(thread.attempts[0]!.cancelled, true)
})

test('A4: a job on the loop cannot stop or restart its own timeout', async () => {
  const kit = new Kit()
  const entry = kit.submit(new Entry('entry', { timeout: 50 }))
  entry.attempts[0]!.queued()
  await kit.clock.advance(40)
  entry.attempts[0]!.queued()
  entry.attempts[0]!.started()
  await kit.clock.advance(10)
  assert.ok(isError(entry.attempts[0]!.reason, 'HDL_TIMEOUT'))
})

test('a timed out attempt is tried again when it has settled, not before', async () => {
  const kit = new Kit()
  const entry = kit.submit(new Entry('entry', { retries: 1, timeout: 50 }))
  await kit.clock.advance(60)
  assert.deepEqual([entry.attempts[0]!.cancelled, kit.runner.retrying], [true, 0])
  await kit.resolve(entry)
  assert.equal(kit.runner.retrying, 1)
  await kit.clock.advance(1_000)
  await kit.resolve(entry)
  assert.equal(entry.end, 'succeeded')
})

test('A6: an attempt that ignores its abort is abandoned, is not tried again, and its late promise is ignored', async () => {
  const kit = new Kit({ abortGrace: 100 })
  const deaf = kit.submit(new Entry('deaf', { retries: 3, timeout: 50 }))
  const next = kit.submit(new Entry('next'))
  await kit.clock.advance(149)
  assert.equal(deaf.end, undefined)
  await kit.clock.advance(1)
  assert.equal(deaf.end, 'failed')
  const { made } = deaf.errors[0] as { made: HeddleError }
  assert.ok(isError(made, 'HDL_UNRESPONSIVE') && isError(made.cause, 'HDL_TIMEOUT'))
  assert.equal(next.attempts.length, 1, 'the permit came back')
  await kit.resolve(deaf)
  await kit.resolve(next)
  assert.deepEqual([kit.room.used, kit.clock.pending], [0, 0])
  const stubborn = kit.submit(new Entry('stubborn'))
  kit.runner.abort(stubborn.current!, new Error('stop'))
  await kit.clock.advance(100)
  assert.equal(stubborn.end, 'cancelled')
  assert.ok(isError(stubborn.errors[0], 'HDL_UNRESPONSIVE'))
})

test('A5: an abort from outside is a cancel even when its reason is a timeout; the first reason stays', async () => {
  const kit = new Kit()
  const entry = kit.submit(new Entry('entry', { retries: 3, timeout: 1_000 }))
  const reason = new HeddleError('HDL_TIMEOUT', { what: 'The request', limit: 5 })
  assert.equal(kit.runner.abort(entry.current!, reason), true)
  assert.equal(kit.runner.abort(entry.current!, new Error('again')), false)
  assert.equal(
    entry.attempts[0]!.signal.reason,
    reason,
    'a signal that is made later is aborted, too',
  )
  await kit.reject(entry)
  assert.deepEqual([entry.end, entry.errors], ['cancelled', [reason]])
})

test('A7: a shielded attempt is ended by its own promise alone', async () => {
  const kit = new Kit()
  const entry = kit.submit(new Entry('entry', { timeout: 10 }))
  await kit.clock.advance(1)
  const attempt = entry.current!
  assert.equal(shield(attempt), true)
  assert.equal(kit.runner.abort(attempt, new Error('stop')), false)
  await kit.clock.advance(1_000)
  await kit.resolve(entry)
  assert.equal(entry.end, 'succeeded')
})

test('an entry in back-off can be withdrawn, once', async () => {
  const kit = new Kit()
  const entry = kit.submit(new Entry('entry', { retries: 1 }))
  assert.equal(kit.runner.withdrawBackoff(entry), false)
  await kit.reject(entry)
  assert.equal(kit.runner.withdrawBackoff(entry), true)
  assert.equal(kit.runner.withdrawBackoff(entry), false)
  await kit.clock.advance(60_000)
  assert.equal(entry.attempts.length, 1)
})

test('final errors are not tried again, retryAfter is kept to the millisecond, hostile errors are errors', async () => {
  const kit = new Kit({ permits: 3 })
  const given = kit.submit(new Entry('given', { retries: 5 }))
  await kit.reject(given, final(new Error('never')))
  assert.equal(given.end, 'failed')
  const polite = kit.submit(new Entry('polite', { retries: 1 }))
  await kit.reject(polite, retryAfter(5))
  assert.equal(kit.runner.retryAt(polite), 5)
  const throws = (): never => {
    throw new Error('not today')
  }
  const hostile = kit.submit(new Entry('hostile', { retries: 1 }))
  await kit.reject(hostile, new Proxy({}, { get: throws, getPrototypeOf: throws, has: throws }))
  assert.equal(kit.runner.retryAt(hostile), 1_000)
})

test('the owner decides whether an entry may be tried again', async () => {
  const kit = new Kit()
  kit.mayRetry = false
  const entry = kit.submit(new Entry('entry', { retries: 5 }))
  await kit.reject(entry)
  assert.equal(entry.end, 'failed')
})

test('A8: nothing starts while the host is closed', async () => {
  const kit = new Kit()
  kit.isOpen = false
  const entry = kit.submit(new Entry('entry'))
  assert.equal(entry.attempts.length, 0)
  kit.isOpen = true
  kit.runner.pump()
  assert.equal(entry.attempts.length, 1)
})

test('A3 A4 A9: a suspended attempt holds no permit, its timeout stops, and it continues before new work', async () => {
  const kit = new Kit({ permits: 1 })
  const long = kit.submit(new Entry('long', { timeout: 100 }))
  await kit.clock.advance(40)
  const attempt = long.current!
  assert.equal(suspendAttempt(attempt), true)
  assert.equal(suspendAttempt(attempt), false)
  assert.deepEqual([kit.room.used, kit.runner.running, kit.runner.suspended], [0, 0, 1])
  const busy = kit.submit(new Entry('busy'))
  const waiting = kit.submit(new Entry('waiting'))
  await kit.clock.advance(10_000)
  let isResumed = false
  const resumed = resumeAttempt(attempt).then(() => (isResumed = true))
  await kit.clock.settle()
  assert.equal(isResumed, false, 'busy has the permit')
  await kit.resolve(busy)
  await resumed
  assert.deepEqual([kit.room.used, waiting.attempts.length], [1, 0])
  await kit.clock.advance(59)
  assert.equal(attempt.cancelled, false)
  await kit.clock.advance(1)
  assert.ok(isError(attempt.reason, 'HDL_TIMEOUT'), 'it had 60 ms left')
  await kit.resolve(long)
  await kit.resolve(waiting)
  kit.runner.releaseTimers()
  assert.deepEqual([kit.room.used, kit.runner.suspended, kit.clock.pending], [0, 0, 0])
  assert.deepEqual(
    kit.reports.filter((report) => /suspended|resumed/.test(report)),
    ['long suspended', 'long resumed'],
  )
})

test('attempts that resume continue in the order in which they became ready', async () => {
  const kit = new Kit({ permits: 2 })
  const [a, b] = ['a', 'b'].map((name) => kit.submit(new Entry(name)))
  suspendAttempt(a!.current!)
  suspendAttempt(b!.current!)
  await kit.clock.settle()
  kit.room.capacity = 0
  kit.submit(new Entry('new'))
  const order: string[] = []
  void resumeAttempt(b!.current!).then(() => order.push('b'))
  void resumeAttempt(a!.current!).then(() => order.push('a'))
  await kit.clock.settle()
  kit.room.capacity = 3
  kit.runner.pump()
  await kit.clock.settle()
  assert.deepEqual(order, ['a', 'b'])
  assert.deepEqual(kit.reports.slice(-3), ['a resumed', 'b resumed', 'new started'])
})

test('A8: a suspended attempt continues while the host is closed', async () => {
  const kit = new Kit({ permits: 1 })
  const entry = kit.submit(new Entry('entry'))
  const attempt = entry.current!
  suspendAttempt(attempt)
  kit.isOpen = false
  const waiting = kit.submit(new Entry('waiting'))
  await resumeAttempt(attempt)
  assert.deepEqual([kit.room.used, waiting.attempts.length], [1, 0])
  await kit.resolve(entry)
  assert.equal(entry.end, 'succeeded')
})

test('a suspended attempt that is aborted: its wait ends with the reason and nothing is left', async () => {
  for (const when of ['before', 'while'] as const) {
    const kit = new Kit({ permits: 1 })
    const entry = kit.submit(new Entry('entry', { retries: 3 }))
    const attempt = entry.current!
    suspendAttempt(attempt)
    const busy = kit.submit(new Entry('busy'))
    await kit.clock.settle()
    const reason = new HeddleError('HDL_CANCELLED', { what: 'It', source: 'user' })
    const early = when === 'while' ? resumeAttempt(attempt) : undefined
    kit.runner.abort(attempt, reason)
    await assert.rejects(early ?? resumeAttempt(attempt), (error) => error === reason)
    assert.equal(kit.room.size, 0)
    await kit.reject(entry, reason)
    assert.deepEqual([entry.end, kit.room.used, kit.runner.suspended], ['cancelled', 1, 0])
    await kit.resolve(busy)
    kit.runner.releaseTimers()
    assert.deepEqual([kit.room.used, kit.clock.pending], [0, 0])
  }
})

test('an attempt that settles or is abandoned while it is suspended gives nothing back twice', async () => {
  const kit = new Kit({ permits: 1 })
  const entry = kit.submit(new Entry('entry'))
  const attempt = entry.current!
  suspendAttempt(attempt)
  const busy = kit.submit(new Entry('busy'))
  await kit.clock.settle()
  const waiting = resumeAttempt(attempt)
  await kit.resolve(entry)
  assert.equal(entry.end, 'succeeded')
  await assert.rejects(waiting, /has ended/)
  await resumeAttempt(attempt)
  assert.equal(suspendAttempt(attempt), false, 'it has ended')
  const deaf = kit.submit(new Entry('deaf'))
  await kit.resolve(busy)
  suspendAttempt(deaf.current!)
  kit.runner.abort(deaf.current!, new Error('stop'))
  assert.equal(suspendAttempt(deaf.current!), false)
  await kit.clock.advance(100)
  assert.equal(deaf.end, 'cancelled')
  assert.deepEqual([kit.room.used, kit.runner.suspended, kit.clock.pending], [0, 0, 0])
})

test('a suspension ends with its attempt: the next attempt starts normally', async () => {
  const kit = new Kit()
  const entry = kit.submit(new Entry('entry', { retries: 1 }))
  suspendAttempt(entry.current!)
  await kit.reject(entry)
  await kit.clock.advance(1_000)
  assert.deepEqual([entry.attempts.length, kit.room.used], [2, 1])
  await kit.resolve(entry)
  assert.deepEqual([entry.end, kit.room.used], ['succeeded', 0])
})

test('A10: the work of the host in slices goes before the next start', async () => {
  const kit = new Kit()
  kit.addPreparing(5)
  const entry = kit.submit(new Entry('entry'))
  assert.equal(entry.attempts.length, 1)
  kit.addPreparing(1)
  await kit.resolve(entry)
  assert.equal(entry.end, 'succeeded')
})

test('A11: timers that nothing waits for are released', async () => {
  const kit = new Kit()
  const entry = kit.submit(new Entry('entry', { timeout: 60_000 }))
  await kit.clock.advance(1)
  assert.equal(kit.clock.pending, 1)
  await kit.resolve(entry)
  kit.runner.releaseTimers()
  assert.equal(kit.clock.pending, 0)
  const other = kit.submit(new Entry('other', { retries: 1 }))
  await kit.reject(other)
  assert.equal(kit.clock.pending, 1)
  kit.runner.close()
  assert.equal(kit.clock.pending, 0)
})
