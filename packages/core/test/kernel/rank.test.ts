import assert from 'node:assert/strict'
import test from 'node:test'
import { before, checkPriority, firstOf, rankOf, type Ranked } from '../../src/kernel/rank.ts'

const place = (priority: number, since: number, order: number, aging = 100): Ranked => ({
  rank: rankOf(priority, since, aging),
  order,
})

test('P2 priority p is overtaken only by entries that arrive less than p × aging after it', () => {
  const old = place(2, 0, 0)
  assert.ok(before(place(0, 199, 1), old))
  assert.ok(before(old, place(0, 200, 1)), 'of equal ranks the older goes first')
  assert.ok(before(old, place(0, 201, 1)))
})

test('without aging a smaller priority is always first', () => {
  assert.ok(before(place(0, 1e9, 1, Infinity), place(1, 0, 0, Infinity)))
})

test('the first of all lines is the one with the smallest rank; empty lines do not count', () => {
  const lines = [
    { first: place(1, 5, 0) },
    undefined,
    { first: undefined },
    { first: place(0, 50, 1) },
  ]
  assert.equal(
    firstOf(lines, (each) => each),
    lines[3]!.first,
  )
  assert.equal(
    firstOf([], (each: Ranked) => each),
    undefined,
  )
})

test('priorities are whole numbers from 0 to 9; 1 when absent', () => {
  assert.equal(checkPriority(undefined), 1)
  for (const wrong of [-1, 10, 1.5, NaN]) assert.throws(() => checkPriority(wrong), /0 to 9/)
})
