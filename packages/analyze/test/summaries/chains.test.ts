import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { Chains } from '../../src/summaries/chains.ts'

test('a list returns its values in order, whatever is added to other lists', () => {
  const added = fc.array(fc.tuple(fc.nat({ max: 2_000 }), fc.integer()), { maxLength: 800 })
  fc.assert(
    fc.property(added, (pairs) => {
      const chains = new Chains<number>()
      for (const [list, value] of pairs) chains.add(list, value)
      for (const [list] of pairs) {
        const expected = pairs.filter(([other]) => other === list).map(([, value]) => value)
        assert.deepEqual(chains.of(list), expected)
        assert.equal(chains.lastOf(list), expected.at(-1))
      }
      assert.deepEqual(
        chains.values,
        pairs.map(([, value]) => value),
      )
    }),
  )
})

test('a list without values is empty, also beyond the known lists', () => {
  const chains = new Chains<string>()
  chains.add(3, 'a')
  for (const list of [0, 2, 4, 1_000_000]) {
    assert.deepEqual(chains.of(list), [])
    assert.equal(chains.lastOf(list), undefined)
  }
})
