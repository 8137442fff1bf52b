import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '../../src/errors.ts'
import { Patience } from '../../src/kernel/patience.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'

test('each wait gets what is left of the deadline', async () => {
  const clock = new VirtualClock()
  const patience = new Patience('work', clock, { deadline: 1000 })
  await clock.runUntil(patience.pause(300))
  assert.equal(patience.left, 700)
  assert.deepEqual(patience.options, { signal: undefined, deadline: 700 })
  await assert.rejects(patience.pause(700), (error) => {
    assert.ok(isError(error, 'HDL_TIMEOUT'))
    return error.details.limit === 1000
  })
  assert.equal(clock.pending, 0)
})

test('without a deadline there is none to pass on', () => {
  const { signal } = new AbortController()
  const patience = new Patience('work', new VirtualClock(), { signal })
  assert.deepEqual(patience.options, { signal })
  assert.equal(patience.left, Infinity)
  assert.equal(patience.bounded, signal)
})

test('an abort ends a pause, and is seen before one', async () => {
  const clock = new VirtualClock()
  const abort = new AbortController()
  const patience = new Patience('work', clock, { signal: abort.signal })
  const pausing = patience.pause(1000)
  abort.abort(new Error('enough'))
  await assert.rejects(pausing, (error) => isError(error, 'HDL_CANCELLED'))
  await assert.rejects(patience.pause(0), (error) => isError(error, 'HDL_CANCELLED'))
  assert.equal(clock.pending, 0)
})

test('its bounded signal aborts at the deadline, and errors are those of the end', async () => {
  const clock = new VirtualClock()
  using patience = new Patience('work', clock, { deadline: 1000 })
  const consequence = new Error('the command was killed')
  assert.equal(patience.errorOf(consequence), consequence)
  const { bounded } = patience
  assert.equal(patience.bounded, bounded)
  await clock.advance(999)
  assert.equal(bounded.aborted, false)
  await clock.advance(1)
  assert.ok(isError(bounded.reason, 'HDL_TIMEOUT'))
  assert.ok(isError(patience.errorOf(consequence), 'HDL_TIMEOUT'))
})

test('its bounded signal follows the signal, and a disposed one leaves no timer', () => {
  const clock = new VirtualClock()
  const abort = new AbortController()
  {
    using patience = new Patience('work', clock, { signal: abort.signal, deadline: 1000 })
    const { bounded } = patience
    abort.abort(new Error('enough'))
    assert.equal(bounded.aborted, true)
    assert.ok(isError(patience.errorOf(new Error('consequence')), 'HDL_CANCELLED'))
    assert.equal(clock.pending, 1)
  }
  assert.equal(clock.pending, 0)
  assert.equal(new Patience('work', clock, { deadline: 0 }).bounded.aborted, true)
})

test('a timer that fires a moment early: the error is that of the deadline', () => {
  const virtual = new VirtualClock()
  let fire: (() => void) | undefined
  const clock = {
    now: () => virtual.now(),
    wallTime: () => virtual.wallTime(),
    setTimer: (_delay: number, call: () => void) => {
      fire = call
      return { cancel: () => undefined }
    },
  }
  using patience = new Patience('Reading', clock as never, { deadline: 50 })
  const { bounded } = patience
  fire?.()
  assert.ok(bounded.aborted && patience.left > 0)
  assert.ok(isError(patience.errorOf(new Error('it was ended')), 'HDL_TIMEOUT'))
})
