import assert from 'node:assert/strict'
import test from 'node:test'
import { abortAttempt, shield } from '../../src/attempts/attempt.ts'
import { Entry, Kit } from './kit.ts'

test('log and progress can be taken out of the context, like functions', async () => {
  const kit = new Kit()
  const entry = kit.submit(new Entry('entry'))
  const { log, progress } = entry.current!
  log('one')
  progress(0.25)
  progress(7, 'too far')
  progress(Number.NaN)
  assert.deepEqual(kit.reports.slice(2), [
    'entry log one',
    'entry progress 0.25 undefined',
    'entry progress 1 too far',
    'entry progress 0 undefined',
  ])
  await kit.resolve(entry)
  progress(1, 'after the end')
  assert.equal(kit.reports.at(-1), 'entry ended succeeded')
})

test('the text of a progress report has at most 1,000 characters', () => {
  const kit = new Kit()
  const { progress } = kit.submit(new Entry('entry')).current!
  progress(0.5, 'x'.repeat(1_000))
  assert.equal(kit.reports.at(-1), `entry progress 0.5 ${'x'.repeat(1_000)}`)
  progress(0.5, 'x'.repeat(100_000))
  assert.equal(kit.reports.at(-1), `entry progress 0.5 ${'x'.repeat(999)}…`)
})

test('the signal is made on first use; the first reason stays', () => {
  const kit = new Kit()
  const attempt = kit.submit(new Entry('entry')).current!
  const { signal } = attempt
  const seen: unknown[] = []
  signal.addEventListener('abort', () => seen.push(signal.reason))
  abortAttempt(attempt, 'first')
  abortAttempt(attempt, 'second')
  assert.deepEqual([attempt.cancelled, attempt.reason, seen], [true, 'first', ['first']])
  assert.equal(shield(attempt), false)
})

test('a job cannot use a cast to stop its timeout, free its permits or end its attempt', () => {
  const attempt: object = new Kit().submit(new Entry('entry')).current!
  const names = new Set<string>()
  for (let each: object = attempt; each !== Object.prototype; each = Object.getPrototypeOf(each)) {
    for (const name of Object.getOwnPropertyNames(each)) names.add(name)
  }
  const changing = [...names].filter((name) =>
    /^(mark|abort|suspend$|resume$|shield$|control$)/.test(name),
  )
  assert.deepEqual(changing, [])
  const cast = attempt as unknown as { suspension: unknown }
  assert.throws(() => (cast.suspension = { timeLeft: Infinity, waiter: undefined }), TypeError)
})
