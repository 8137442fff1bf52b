import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { isError } from '../../src/errors.ts'
import { isWatching, runBlamed } from '../../src/watch/blame.ts'
import { expectLoopFree, measureLoopGap } from '../../src/watch/loop-free.ts'
import { busyLoop, undisturbed } from './blocking.ts'

/** Longer than the beats of the watches here, which come each millisecond. */
const beat = (): Promise<void> => wait(5)

test('measureLoopGap returns the value and the longest gap', async () => {
  const { longest, value } = await measureLoopGap(async () => {
    await turn()
    busyLoop(80, 0)
    await turn()
    return 'done'
  })
  assert.equal(value, 'done')
  assert.ok(longest >= 75, `measured ${longest} ms`)
})

test('measureLoopGap sees a block that has no beat after it', async () => {
  const { longest } = await measureLoopGap(() => busyLoop(80, 0))
  assert.ok(longest >= 75, `measured ${longest} ms`)
})

test('measureLoopGap passes an error of the work', async () => {
  await assert.rejects(
    measureLoopGap(() => Promise.reject(new Error('broken'))),
    /broken/,
  )
})

test('expectLoopFree returns the value of work that leaves the loop free', async () => {
  const value = await expectLoopFree(60_000, async () => {
    for (let i = 0; i < 10; i++) await turn()
    return 42
  })
  assert.equal(value, 42)
  assert.equal(isWatching(), false)
})

test('expectLoopFree fails with the label and the innermost frame of the blocking code', async () => {
  const blocked = expectLoopFree(100, () =>
    runBlamed('job "parse"', async () => {
      await undisturbed(beat)
      busyLoop(300)
    }),
  )
  await assert.rejects(blocked, (error) => {
    assert.ok(isError(error, 'HDL_LOOP_BLOCKED'))
    assert.ok(error.details.longest >= 250)
    assert.equal(error.details.limit, 100)
    assert.match(error.details.blame, /^job "parse" at busyLoop \(.*blocking\.ts:\d+:\d+\)/)
    return true
  })
  assert.equal(isWatching(), false)
})

test('expectLoopFree blames the longest of several blocks, also a last one', async () => {
  function worst(): void {
    busyLoop(400)
  }
  const blocked = expectLoopFree(
    100,
    async () => {
      busyLoop(200)
      await undisturbed(beat)
      worst()
    },
    { label: 'the test' },
  )
  await assert.rejects(blocked, (error) => {
    assert.ok(isError(error, 'HDL_LOOP_BLOCKED'))
    assert.ok(error.details.longest >= 350, `reported ${error.details.longest} ms`)
    assert.match(error.details.blame, /^the test at busyLoop/)
    return true
  })
})

test('expectLoopFree passes an error of the work, and stops watching', async () => {
  await assert.rejects(
    expectLoopFree(60_000, () => {
      throw new Error('broken')
    }),
    /broken/,
  )
  assert.equal(isWatching(), false)
})
