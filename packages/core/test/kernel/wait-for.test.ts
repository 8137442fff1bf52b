import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { endsBefore, pauseFor, waitFor } from '../../src/kernel/wait-for.ts'

const never = new Promise<never>(() => {})

test('waitFor() ends as the work does, or with the deadline, and leaves no timer', async () => {
  const clock = new VirtualClock()
  assert.equal(await waitFor(Promise.resolve(1), 'work', clock, { deadline: 10 }), 1)
  await assert.rejects(waitFor(Promise.reject(new Error('bad')), 'work', clock, {}), /bad/)
  const late = assert.rejects(waitFor(never, 'work', clock, { deadline: 10 }), {
    code: 'HDL_TIMEOUT',
  })
  await clock.advance(10)
  await late
  assert.equal(clock.pending, 0)
})

test('a pause ends with its time or with its signal, and leaves no timer and no listener', async () => {
  const clock = new VirtualClock()
  const controller = new AbortController()
  const { signal } = controller
  const whole = pauseFor(500, clock, signal)
  let isOver = false
  const noted = whole.then(() => (isOver = true))
  await clock.advance(499)
  assert.equal(isOver, false)
  await clock.advance(1)
  await noted
  assert.deepEqual([clock.pending, getEventListeners(signal, 'abort').length], [0, 0])
  const cut = pauseFor(500, clock, signal)
  controller.abort()
  await cut
  assert.equal(clock.pending, 0)
  await pauseFor(500, clock, signal)
  assert.equal(clock.pending, 0)
})

test('endsBefore() returns whether the work ended before the limit, and throws the error of the work', async () => {
  const clock = new VirtualClock()
  const { signal } = new AbortController()
  assert.equal(await endsBefore(signal, Promise.resolve(), clock), true)
  await assert.rejects(endsBefore(signal, Promise.reject(new Error('bad')), clock), /bad/)
  assert.equal(await endsBefore(AbortSignal.abort(), never, clock), false)
  const controller = new AbortController()
  const cut = endsBefore(controller.signal, never, clock)
  controller.abort()
  assert.equal(await cut, false)
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})
