import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { Permits, makePermits } from '../../src/kernel/permits.ts'

test('P1 P2 P3 property: permits of either kind are never given out beyond the limit, and all are given back', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.nat(3),
      fc.array(fc.tuple(fc.boolean(), fc.boolean(), fc.integer({ min: 1, max: 4 })), {
        maxLength: 50,
      }),
      (capacity, reserved, steps) => {
        const permits = new Permits(capacity, reserved)
        const out: { count: number; fromReserved: number }[] = []
        for (const [givesBack, urgent, count] of steps) {
          const held = givesBack ? out.pop() : undefined
          if (held !== undefined) permits.giveBack(held.count, held.fromReserved)
          else if (permits.hasRoom(count, urgent)) {
            const fromReserved = permits.take(count, urgent)
            assert.ok(urgent || fromReserved === 0, 'P2')
            out.push({ count, fromReserved })
          } else assert.ok(count > permits.free + (urgent ? permits.freeReserved : 0))
          assert.ok(permits.used <= capacity && permits.usedReserved <= reserved, 'P1')
        }
        for (const { count, fromReserved } of out) permits.giveBack(count, fromReserved)
        assert.deepEqual([permits.used, permits.usedReserved], [0, 0], 'P3')
      },
    ),
  )
})

test('lowered below the permits in use, only reserved ones are left for priority 0', () => {
  const permits = new Permits(3, 1)
  permits.take(3, false)
  permits.capacity = 1
  assert.equal(permits.hasRoom(1, false), false)
  assert.equal(permits.hasRoom(1, true), true)
  assert.equal(permits.take(1, true), 1)
  assert.equal(permits.hasRoom(1, true), false)
})

test('reserved permits are on top of the others', () => {
  const permits = makePermits('thread', { permits: 2, reserved: 1 })
  assert.equal(permits.canEverHave(3, false), false)
  assert.equal(permits.canEverHave(3, true), true)
  assert.throws(() => makePermits('thread', 0), /thread/)
  assert.throws(() => makePermits('thread', { permits: 1, reserved: -1 }), /thread.reserved/)
})
