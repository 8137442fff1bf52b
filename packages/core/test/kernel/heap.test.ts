import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { IndexedHeap, type HeapItem } from '../../src/kernel/heap.ts'

interface Item extends HeapItem {
  key: number
}

const item = (key: number): Item => ({ key, heapIndex: -1 })
const byKey = (): IndexedHeap<Item> => new IndexedHeap<Item>((a, b) => a.key < b.key)

test('items leave in the order of their keys', () => {
  const heap = byKey()
  for (const key of [5, 3, 8, 1, 9, 2]) heap.push(item(key))
  const keys: number[] = []
  for (let next = heap.pop(); next !== undefined; next = heap.pop()) keys.push(next.key)
  assert.deepEqual(keys, [1, 2, 3, 5, 8, 9])
})

test('an empty heap has nothing to give', () => {
  const heap = byKey()
  assert.equal(heap.peek(), undefined)
  assert.equal(heap.pop(), undefined)
  assert.equal(heap.size, 0)
})

test('removing an absent item changes nothing', () => {
  const heap = byKey()
  const other = byKey()
  const inOther = item(1)
  other.push(inOther)
  heap.push(item(2))
  assert.equal(heap.remove(item(3)), false)
  assert.equal(heap.remove(inOther), false, 'an item of another heap')
  assert.deepEqual([heap.size, other.size], [1, 1])
})

type Command =
  | { readonly do: 'push'; readonly key: number }
  | { readonly do: 'pop' }
  | { readonly do: 'remove'; readonly at: number }
  | { readonly do: 'update'; readonly at: number; readonly key: number }

const commands: fc.Arbitrary<Command[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('push' as const), key: fc.integer({ min: 0, max: 20 }) }),
    fc.record({ do: fc.constant('pop' as const) }),
    fc.record({ do: fc.constant('remove' as const), at: fc.nat() }),
    fc.record({
      do: fc.constant('update' as const),
      at: fc.nat(),
      key: fc.integer({ min: 0, max: 20 }),
    }),
  ),
  { maxLength: 200 },
)

test('any mix of push, pop, remove and update agrees with a sorted array', () => {
  fc.assert(
    fc.property(commands, (list) => {
      const heap = byKey()
      const model: Item[] = []
      const smallest = (): number | undefined =>
        model.length === 0 ? undefined : Math.min(...model.map(({ key }) => key))
      const forget = (gone: Item): void => void model.splice(model.indexOf(gone), 1)

      for (const command of list) {
        const chosen = 'at' in command ? model[command.at % Math.max(1, model.length)] : undefined
        if (command.do === 'push') {
          const added = item(command.key)
          heap.push(added)
          model.push(added)
        } else if (command.do === 'pop') {
          const expected = smallest()
          const popped = heap.pop()
          assert.equal(popped?.key, expected)
          if (popped !== undefined) {
            assert.equal(popped.heapIndex, -1)
            forget(popped)
          }
        } else if (chosen !== undefined && command.do === 'remove') {
          assert.equal(heap.remove(chosen), true)
          assert.equal(heap.remove(chosen), false)
          forget(chosen)
        } else if (chosen !== undefined && command.do === 'update') {
          chosen.key = command.key
          heap.update(chosen)
        }
        assert.equal(heap.size, model.length)
        assert.equal(heap.peek()?.key, smallest())
        assert.equal(new Set(model.map(({ heapIndex }) => heapIndex)).size, model.length)
      }
      const drained: number[] = []
      for (let next = heap.pop(); next !== undefined; next = heap.pop()) drained.push(next.key)
      assert.deepEqual(
        drained,
        model.map(({ key }) => key).toSorted((a, b) => a - b),
      )
    }),
  )
})

test('removal from the middle is logarithmic: 100,000 items in any order need few comparisons', () => {
  const size = 100_000
  let comparisons = 0
  const heap = new IndexedHeap<Item>((a, b) => {
    comparisons++
    return a.key < b.key
  })
  const items = Array.from({ length: size }, (_, i) => item((i * 7919) % size))
  for (const each of items) heap.push(each)
  comparisons = 0
  for (const each of items) heap.remove(each)
  assert.equal(heap.size, 0)
  assert.ok(comparisons < size * 3 * Math.log2(size), `${comparisons} comparisons`)
})
