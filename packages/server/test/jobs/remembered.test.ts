import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Remembered } from '../../src/jobs/remembered.ts'

test('the last entries are known, older ones are forgotten', () => {
  const last = new Remembered<number>(3)
  for (let number = 0; number < 5; number++) last.set(`${number}`, number)
  assert.deepEqual(
    ['0', '1', '2', '3', '4'].map((key) => last.get(key)),
    [undefined, undefined, 2, 3, 4],
  )
})

test('setting again makes it the newest, and does not push out another', () => {
  const last = new Remembered<number>(2)
  last.set('a', 1)
  last.set('b', 2)
  last.set('a', 3)
  assert.deepEqual([last.get('a'), last.get('b')], [3, 2])
  last.set('c', 4)
  assert.deepEqual([last.get('a'), last.get('b'), last.get('c')], [3, undefined, 4])
})

test('delete and clear; names of prototypes are unknown', () => {
  const last = new Remembered<number>(2)
  last.set('a', 1)
  last.delete('a')
  last.delete('never')
  assert.equal(last.get('a'), undefined)
  last.set('b', 2)
  last.clear()
  assert.equal(last.get('b'), undefined)
  assert.equal(last.get('__proto__'), undefined)
})
