import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PieceList } from '../../src/kernel/piece-list.ts'

test('items keep their index and order over many pieces', () => {
  const list = new PieceList<number>()
  const size = 100_003
  for (let index = 0; index < size; index++) assert.equal(list.push(index), index + 1)
  assert.equal(list.size, size)
  for (let index = 0; index < size; index++) assert.equal(list.at(index), index)
  assert.equal(list.at(-1), undefined)
  assert.equal(list.at(size), undefined)
  assert.equal(list.at(10 * size), undefined)
  const expected = Array.from({ length: size }, (_, index) => index)
  assert.deepEqual(list.toArray(), expected)
  assert.deepEqual([...list], expected)
})

test('an iterator also yields items that are added while it is under way', () => {
  const list = new PieceList<number>()
  list.push(0)
  const seen: number[] = []
  for (const item of list) {
    seen.push(item)
    if (item < 70_000) list.push(item + 1)
  }
  assert.equal(seen.length, 70_001)
  assert.equal(seen.at(-1), 70_000)
})

test('an empty list', () => {
  const list = new PieceList<string>()
  assert.deepEqual([list.size, list.at(0), [...list], list.toArray()], [0, undefined, [], []])
})
