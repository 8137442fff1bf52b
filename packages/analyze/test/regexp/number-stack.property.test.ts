import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { NumberStack } from '../../src/regexp/number-stack.ts'

test('it returns the same values as an array, whatever its size', () => {
  const pushes = fc.array(fc.integer(), { maxLength: 400 })
  const rounds = fc.array(fc.tuple(pushes, fc.nat(400)), { maxLength: 8 })
  fc.assert(
    fc.property(rounds, (all) => {
      const stack = new NumberStack()
      const expected: number[] = []
      for (const [values, taken] of all) {
        for (const value of values) stack.push(value)
        expected.push(...values)
        for (let i = 0; i < taken && expected.length > 0; i += 1) {
          assert.equal(stack.pop(), expected.pop())
        }
        assert.equal(stack.size, expected.length)
      }
    }),
  )
})

test('values that were cut off are gone', () => {
  const stack = new NumberStack()
  for (const value of [1, 2, 3]) stack.push(value)
  stack.size = 1
  assert.equal(stack.pop(), 1)
})
