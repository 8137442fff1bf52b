import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { Changes } from '../../src/watch/changes.ts'

function changing(): { readonly clock: VirtualClock; readonly changes: Changes } {
  const clock = new VirtualClock()
  const kernel = { clock, random: seededRandom(1) }
  return { clock, changes: new Changes({ settle: 50, patience: 1_000, kernel }) }
}

test('changes in quick succession are one batch', async () => {
  const { clock, changes } = changing()
  const taken = changes.take()
  changes.note('a')
  await clock.advance(40)
  changes.note('b')
  await clock.advance(40)
  changes.note('a')
  await clock.advance(50)
  assert.deepEqual(await taken, { paths: new Set(['a', 'b']), isMore: false })
})

test('changes that never stop are handed out all the same', async () => {
  const { clock, changes } = changing()
  let count = 0
  const taken = changes.take().then(() => count)
  for (; count < 100; count++) {
    changes.note('log.ts')
    await clock.advance(30)
  }
  const steps = await taken
  assert.ok(steps >= 33 && steps <= 35, `after ${steps} steps of 30 ms`)
})

test('I1: changes after a batch was taken are in the next', async () => {
  const { clock, changes } = changing()
  changes.note('a')
  await clock.advance(50)
  assert.deepEqual([...(await changes.take()).paths], ['a'])
  changes.note('b')
  const taken = changes.take()
  await clock.advance(50)
  assert.deepEqual([...(await taken).paths], ['b'])
})

test('I2: a batch names a thousand paths and says that there are more', async () => {
  const { clock, changes } = changing()
  for (let number = 0; number < 5_000; number++) changes.note(`${number}.ts`)
  await clock.advance(50)
  const { paths, isMore } = await changes.take()
  assert.equal(paths.size, 1_000)
  assert.ok(isMore)
})

test('a caller that gives up loses no change', async () => {
  const { clock, changes } = changing()
  const aborted = new AbortController()
  const first = changes.take({ signal: aborted.signal })
  aborted.abort()
  await assert.rejects(first, { code: 'HDL_CANCELLED' })
  changes.note('a')
  await clock.advance(50)
  assert.equal((await changes.take()).paths.size, 1)
})
