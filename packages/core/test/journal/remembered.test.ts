import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Derived, Remembered } from '../../src/journal/remembered.ts'

test('callers at the same time take turns, and no row is taken in twice', async () => {
  const derived = new Derived<number[]>([])
  const work = async (from: number): Promise<number> => {
    for (let row = from; row < from + 3; row++) {
      derived.value.push(row)
      await Promise.resolve()
    }
    return from + 3
  }
  await Promise.all([derived.catchUp(work), derived.catchUp(work), derived.catchUp(work)])
  assert.deepEqual(derived.value, [0, 1, 2, 3, 4, 5, 6, 7, 8])
})

test('a caller whose work fails gets the error; the next one continues from the last success', async () => {
  const derived = new Derived<number[]>([])
  await derived.catchUp(async () => 5)
  await assert.rejects(
    derived.catchUp(async () => {
      throw new Error('damaged')
    }),
    /damaged/,
  )
  await derived.catchUp(async (from) => {
    derived.value.push(from)
    return from
  })
  assert.deepEqual(derived.value, [5])
})

test('the runs that were asked for last are remembered', () => {
  let made = 0
  const remembered = new Remembered(2, () => made++)
  const one = remembered.of(1)
  remembered.of(2)
  assert.equal(remembered.of(1), one)
  remembered.of(3)
  assert.equal(remembered.of(1), one)
  remembered.of(2)
  assert.equal(made, 4)
})
