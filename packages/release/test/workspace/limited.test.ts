import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mapLimited } from '../../src/workspace/limited.ts'

test('never more than the limit at a time, results in the order of the items', async () => {
  let running = 0
  let most = 0
  const results = await mapLimited(
    Array.from({ length: 20 }, (_, i) => i),
    3,
    async (item) => {
      most = Math.max(most, ++running)
      for (let i = 0; i < 20 - item; i++) await Promise.resolve()
      running--
      return item * 2
    },
  )
  assert.equal(most, 3)
  assert.deepEqual(
    results,
    Array.from({ length: 20 }, (_, i) => i * 2),
  )
  assert.deepEqual(await mapLimited([], 3, async () => 1), [])
})

test('the first error ends it, after the calls under way have ended', async () => {
  const started: number[] = []
  const ended: number[] = []
  const work = async (item: number): Promise<void> => {
    started.push(item)
    await Promise.resolve()
    if (item === 1) throw new Error('broken')
    await Promise.resolve()
    ended.push(item)
  }
  await assert.rejects(mapLimited([0, 1, 2, 3, 4, 5], 2, work), /broken/)
  assert.deepEqual(started, [0, 1])
  assert.deepEqual(ended, [0])
})

test('an aborted signal starts nothing new', async () => {
  const controller = new AbortController()
  const started: number[] = []
  const mapping = mapLimited(
    [0, 1, 2, 3],
    1,
    async (item) => {
      started.push(item)
      if (item === 1) controller.abort('enough')
    },
    controller.signal,
  )
  await assert.rejects(mapping, { code: 'HDL_CANCELLED' })
  assert.deepEqual(started, [0, 1])
})
