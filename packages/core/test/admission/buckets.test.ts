import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Buckets, type Prioritised } from '../../src/admission/buckets.ts'

class Item implements Prioritised<Item> {
  list: object | undefined
  previous: Item | undefined
  next: Item | undefined
  priority = 0
  rank = 0
  readonly since: number
  readonly order: number

  constructor(order: number, since = order) {
    this.order = order
    this.since = since
  }
}

function drain(buckets: Buckets<Item>, priority: number): number[] {
  const orders: number[] = []
  for (let item = buckets.head(priority); item; item = buckets.head(priority)) {
    orders.push(item.order)
    buckets.remove(item)
  }
  return orders
}

test('B1: items of one priority leave in the order in which they arrived, moved or not', () => {
  const step = fc.record({
    priority: fc.integer({ min: 0, max: 9 }),
    moveTo: fc.option(fc.integer({ min: 0, max: 9 })),
    remove: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step), fc.constantFrom(0, 10, Infinity), (steps, aging) => {
      const buckets = new Buckets<Item>(aging)
      const expected = new Map<number, number[]>()
      const items = steps.map(({ priority }, order) => {
        const item = new Item(order)
        buckets.push(item, priority)
        return item
      })
      for (const [order, { priority, moveTo, remove }] of steps.entries()) {
        const item = items[order]!
        if (moveTo !== null) assert.ok(buckets.move(item, moveTo))
        if (remove) {
          assert.ok(buckets.remove(item))
          assert.equal(buckets.remove(item), false)
          assert.equal(buckets.move(item, 0), false)
        } else {
          const at = moveTo ?? priority
          expected.set(at, [...(expected.get(at) ?? []), order])
        }
      }
      assert.equal(buckets.size, steps.filter(({ remove }) => !remove).length)
      for (let priority = 0; priority < 10; priority++) {
        assert.deepEqual(drain(buckets, priority), expected.get(priority) ?? [])
      }
      assert.equal(buckets.size, 0)
    }),
  )
})

test('B2: a smaller priority never gives a later rank, because the time waited is kept', () => {
  const buckets = new Buckets<Item>(100)
  const item = new Item(0, 50)
  buckets.push(item, 5)
  let last = item.rank
  for (const priority of [4, 2, 1, 0]) {
    buckets.move(item, priority)
    assert.ok(item.rank < last)
    last = item.rank
  }
  assert.equal(item.rank, 50)
})
