import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LinkedList, type ListItem } from '../../src/kernel/linked-list.ts'

class Item implements ListItem<Item> {
  list: object | undefined
  previous: Item | undefined
  next: Item | undefined
  readonly id: number

  constructor(id: number) {
    this.id = id
  }
}

const ids = (list: LinkedList<Item>): number[] => Array.from(list, ({ id }) => id)

type Command = { readonly do: 'push' | 'unshift' | 'shift' | 'remove' | 'insert'; at: number }

test('any mix of operations agrees with an array', () => {
  const commands = fc.array(
    fc.record<Command>({
      do: fc.constantFrom('push', 'unshift', 'shift', 'remove', 'insert'),
      at: fc.nat(),
    }),
    { maxLength: 100 },
  )
  fc.assert(
    fc.property(commands, (list) => {
      const linked = new LinkedList<Item>()
      const model: Item[] = []
      let made = 0
      for (const command of list) {
        const index = command.at % Math.max(1, model.length)
        const chosen = model[index]
        if (command.do === 'push') {
          const item = new Item(made++)
          linked.push(item)
          model.push(item)
        } else if (command.do === 'unshift') {
          const item = new Item(made++)
          linked.unshift(item)
          model.unshift(item)
        } else if (command.do === 'insert') {
          const item = new Item(made++)
          linked.insertAfter(item, chosen)
          model.splice(chosen === undefined ? 0 : index + 1, 0, item)
        } else if (command.do === 'shift') {
          assert.equal(linked.shift(), model.shift())
        } else if (chosen !== undefined) {
          assert.equal(linked.remove(chosen), true)
          model.splice(index, 1)
        }
        assert.equal(linked.size, model.length)
        assert.equal(linked.first, model[0])
        assert.equal(linked.last, model.at(-1))
        assert.deepEqual(
          ids(linked),
          model.map(({ id }) => id),
        )
      }
    }),
  )
})

test('a removed item keeps nothing of the list', () => {
  const list = new LinkedList<Item>()
  const items = [new Item(0), new Item(1), new Item(2)]
  for (const item of items) list.push(item)
  list.remove(items[1]!)
  const { list: home, previous, next } = items[1]!
  assert.deepEqual([home, previous, next], [undefined, undefined, undefined])
  assert.deepEqual(ids(list), [0, 2])
})

test('removing twice, or from another list, changes nothing', () => {
  const list = new LinkedList<Item>()
  const other = new LinkedList<Item>()
  const item = new Item(0)
  list.push(item)
  other.push(new Item(1))
  assert.equal(other.remove(item), false)
  assert.equal(list.remove(item), true)
  assert.equal(list.remove(item), false)
  assert.deepEqual([list.size, other.size], [0, 1])
})

test('the item in hand may be removed while walking', () => {
  const list = new LinkedList<Item>()
  for (let i = 0; i < 6; i++) list.push(new Item(i))
  const seen: number[] = []
  for (const item of list) {
    seen.push(item.id)
    if (item.id % 2 === 0) list.remove(item)
  }
  assert.deepEqual(seen, [0, 1, 2, 3, 4, 5])
  assert.deepEqual(ids(list), [1, 3, 5])
})
