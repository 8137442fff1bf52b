import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PresentItems } from '../../src/codec/present.ts'

function found(items: readonly unknown[], most: number): { indices: number[]; calls: number } {
  const present = new PresentItems(items)
  const indices: number[] = []
  let calls = 0
  for (let from = 0; from < items.length; calls++) {
    const next = present.find(from, items.length, most)
    if (next < items.length && next in items) indices.push(next)
    // Otherwise it has looked far enough for one call.
    from = next in items ? next + 1 : next
  }
  return { indices, calls }
}

test('short holes are walked, and a call walks no further than its limit', () => {
  const items: number[] = []
  for (const index of [3, 4, 9]) items[index] = index
  assert.deepEqual(found(items, 100), { indices: [3, 4, 9], calls: 3 })
  assert.deepEqual(found(items, 2), { indices: [3, 4, 9], calls: 5 })
})

test('after 65,536 holes the items are listed, so that holes cost nothing', () => {
  const items: number[] = [0]
  for (const index of [70_000, 70_002, 3_000_000_000, 4_000_000_000]) items[index] = index
  const { indices, calls } = found(items, 4096)
  assert.deepEqual(indices, [0, 70_000, 70_002, 3_000_000_000, 4_000_000_000])
  assert.ok(calls < 30, `${calls} calls`)
})

test('a proxy may have its keys in any order', () => {
  const items: number[] = []
  for (const index of [100_000, 200_000, 300_000]) items[index] = index
  const proxy = new Proxy(items, { ownKeys: (target) => Reflect.ownKeys(target).reverse() })
  assert.deepEqual(found(proxy, 4096).indices, [100_000, 200_000, 300_000])
})
