import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { Ring } from '../../src/model/ring.ts'

test('a ring keeps the last entries, oldest first', () => {
  fc.assert(
    fc.property(fc.array(fc.nat()), fc.integer({ min: 1, max: 8 }), fc.nat(12), (all, limit, n) => {
      const ring = new Ring<number>(limit)
      for (const one of all) ring.push(one)
      const kept = all.slice(-limit)
      assert.deepEqual([...ring], kept)
      assert.equal(ring.size, kept.length)
      assert.deepEqual(ring.last(n), n === 0 ? [] : kept.slice(-n))
    }),
  )
})
