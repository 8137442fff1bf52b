import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  Slots,
  claim,
  isCancelled,
  slotCount,
  slotOf,
  type Ticket,
} from '../../src/threads/task-ownership.ts'

test('L1: of claim and revoke exactly one succeeds, whichever comes first', () => {
  const slots = new Slots()
  const first = slots.publish()
  assert.equal(claim(slots.words, first), true)
  assert.equal(slots.revoke(first), false)
  assert.equal(slots.isClaimed(first), true)
  slots.release(first)

  const second = slots.publish()
  assert.equal(slots.isClaimed(second), false)
  assert.equal(slots.revoke(second), true)
  assert.equal(claim(slots.words, second), false)
  assert.equal(slots.used, 0)
})

test('L2: a ticket that was revoked cannot be claimed when its slot serves another task', () => {
  const slots = new Slots()
  const old = slots.publish()
  slots.revoke(old)
  const later = slots.publish()
  assert.equal(slotOf(later), slotOf(old))
  assert.equal(claim(slots.words, old), false)
  assert.equal(slots.isClaimed(later), false)
  assert.equal(claim(slots.words, later), true)
})

test('a job sees its cancellation, and no job sees that of another', () => {
  const slots = new Slots()
  const [a, b] = [slots.publish(), slots.publish()]
  claim(slots.words, a)
  claim(slots.words, b)
  slots.cancel(a)
  assert.equal(isCancelled(slots.words, a), true)
  assert.equal(isCancelled(slots.words, b), false)
  slots.release(b)
  const next = slots.publish()
  claim(slots.words, next)
  slots.cancel(b)
  assert.equal(isCancelled(slots.words, next), false, 'a late cancel of b reaches nobody')
})

test('cancelling an unclaimed task changes nothing', () => {
  const slots = new Slots()
  const ticket = slots.publish()
  slots.cancel(ticket)
  assert.equal(claim(slots.words, ticket), true)
})

test('generations wrap without touching the sign bit or the slot', () => {
  const slots = new Slots(2 ** 24 - 2)
  const tickets: Ticket[] = []
  for (let use = 0; use < 4; use++) {
    const ticket = slots.publish()
    tickets.push(ticket)
    assert.ok(ticket >= 0)
    assert.equal(slotOf(ticket), slotOf(tickets[0]!))
    assert.equal(claim(slots.words, ticket), true)
    assert.equal(isCancelled(slots.words, ticket), false)
    slots.release(ticket)
  }
  assert.equal(new Set(tickets).size, 4)
  assert.equal(slots.used, 0)
})

test('property: any order of operations leaves each task with one owner and no slot lost', () => {
  const operation = fc.record({
    kind: fc.constantFrom('publish', 'claim', 'revoke', 'cancel', 'release'),
    pick: fc.nat(),
  })
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 300 }), (operations) => {
      const slots = new Slots()
      const out = new Map<Ticket, 'queued' | 'claimed' | 'cancelled'>()
      const gone: Ticket[] = []
      for (const { kind, pick } of operations) {
        if (kind === 'publish') {
          if (out.size === slotCount) continue
          const ticket = slots.publish()
          assert.ok(!out.has(ticket))
          out.set(ticket, 'queued')
          continue
        }
        const pool = pick % 4 === 0 ? gone : [...out.keys()]
        const ticket = pool[pick % (pool.length || 1)]
        if (ticket === undefined) continue
        const state = out.get(ticket)
        if (kind === 'claim') {
          assert.equal(claim(slots.words, ticket), state === 'queued')
          if (state === 'queued') out.set(ticket, 'claimed')
        } else if (kind === 'revoke') {
          assert.equal(slots.revoke(ticket), state === 'queued')
          if (state === 'queued') gone.push(ticket)
          if (state === 'queued') out.delete(ticket)
        } else if (kind === 'cancel') {
          slots.cancel(ticket)
          if (state === 'claimed') out.set(ticket, 'cancelled')
        } else if (state === 'claimed' || state === 'cancelled') {
          slots.release(ticket)
          out.delete(ticket)
          gone.push(ticket)
        }
        assert.equal(isCancelled(slots.words, ticket), out.get(ticket) !== 'claimed')
      }
      assert.equal(slots.used, out.size)
    }),
  )
})
