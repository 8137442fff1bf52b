import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '@heddle/core/testing'
import { RepeatedLook } from '../src/repeated-look.ts'

interface Look {
  readonly at: number
  readonly signal: AbortSignal
  readonly end: (delay: number) => void
}

/** Looks that the test ends. */
function setUp(end?: () => Promise<unknown>) {
  const clock = new VirtualClock()
  const looks: Look[] = []
  const look = (signal: AbortSignal): Promise<number> => {
    const { promise, resolve } = Promise.withResolvers<number>()
    looks.push({ at: clock.now(), signal, end: resolve })
    return promise
  }
  const repeated = new RepeatedLook({
    what: 'It',
    clock,
    deadline: 1_000,
    first: 100,
    look,
    ...(end !== undefined && { end }),
  })
  return { clock, looks, repeated, times: () => looks.map(({ at }) => at) }
}

test('K1: a check begins when the one before has ended and its time has passed', async () => {
  const { clock, looks, repeated, times } = setUp()
  const began = clock.now()
  await repeated.start()
  await clock.advance(5_000)
  assert.deepEqual(times(), [began + 100])
  looks[0]!.end(200)
  await clock.advance(1_000)
  assert.deepEqual(times(), [began + 100, began + 5_200])
  looks[1]!.end(Infinity)
  await clock.advance(100_000)
  assert.equal(looks.length, 2)
  repeated.poke()
  await clock.advance(0)
  assert.equal(looks.length, 3)
  looks[2]!.end(Infinity)
  await repeated.stop()
})

test('K2: a poke during a check is followed by another check', async () => {
  const { clock, looks, repeated } = setUp()
  await repeated.start()
  await clock.advance(100)
  repeated.poke()
  repeated.poke()
  looks[0]!.end(Infinity)
  await clock.advance(0)
  assert.equal(looks.length, 2)
  looks[1]!.end(Infinity)
  await clock.advance(10_000)
  assert.equal(looks.length, 2)
  await repeated.stop()
})

test('stop waits for the check under way, then for the end, and for both no longer than the deadline', async () => {
  const steps: string[] = []
  const { clock, looks, repeated } = setUp(async () => steps.push('end'))
  await repeated.start()
  await clock.advance(100)
  const stopped = repeated.stop().then(() => steps.push('stopped'))
  await clock.advance(500)
  assert.deepEqual([looks[0]!.signal.aborted, steps], [true, []])
  looks[0]!.end(0)
  await clock.runUntil(stopped)
  assert.deepEqual(steps, ['end', 'stopped'])
  await clock.advance(10_000)
  assert.equal(looks.length, 1)

  const slow = setUp(async () => steps.push('late'))
  await slow.repeated.start()
  await slow.clock.advance(100)
  await slow.clock.runUntil(slow.repeated.stop())
  assert.equal(steps.includes('late'), false)
})
