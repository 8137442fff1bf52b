import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isError } from '../../src/errors.ts'
import { Slots, type SlotTicket } from '../../src/registry/slots.ts'
import { withCode } from './support.ts'

test('S71 I1: 1,000 takes of one slot strictly grow, and nothing is reused after all have left', async () => {
  const slots = new Slots()
  const takes = await Promise.all(
    Array.from({ length: 1000 }, () => Promise.resolve().then(() => slots.take('ada'))),
  )
  const sequences = takes.map(({ sequence }) => sequence)
  assert.ok(sequences.every((sequence, i) => i === 0 || sequence > sequences[i - 1]!))
  for (const ticket of takes) ticket.release()
  assert.equal(slots.size, 0)
  assert.ok(slots.take('ada').sequence > sequences.at(-1)!)
})

test('S72 I2: a newer request makes the older stale, with a reason that names both', () => {
  const slots = new Slots()
  const first = slots.take('ada')
  const { signal } = first
  const second = slots.take('ada')
  assert.deepEqual([first.stale, second.stale], [true, false])
  assert.ok(signal.aborted)
  assert.ok(isError(signal.reason, 'HDL_SUPERSEDED'))
  assert.match(signal.reason.message, /Request 1 of slot "ada" was superseded by request 2/)
  assert.deepEqual([slots.isStale('ada', 1), slots.isStale('ada', 2)], [true, false])
})

test('S74 I3: an old client that leaves does not touch the newest', () => {
  const slots = new Slots()
  const old = slots.take('ada')
  const newest = slots.take('ada')
  old.release()
  old[Symbol.dispose]()
  assert.equal(slots.size, 1)
  assert.equal(newest.stale, false)
  assert.equal(slots.isStale('ada', newest.sequence), false)
  newest.release()
  newest.release()
  assert.equal(slots.size, 0)
  assert.equal(newest.stale, false, 'released is not superseded')
})

test('S75 I2: slots of different clients do not supersede each other', () => {
  const slots = new Slots()
  const a = slots.take('ada/left')
  const b = slots.take('bob/left')
  assert.deepEqual([a.stale, b.stale], [false, false])
})

test('S76 stale while running: the token is set, and its result is not written over the newer one', () => {
  const slots = new Slots()
  const panel = new Map<string, string>()
  const write = (ticket: SlotTicket, value: string): void => {
    if (!ticket.stale) panel.set(ticket.slot, value)
  }
  const first = slots.take('ada')
  const running = first.signal
  {
    using second = slots.take('ada')
    assert.ok(running.aborted)
    write(second, 'new')
  }
  assert.equal(slots.size, 0, 'the newer one has come and gone')
  write(first, 'old')
  assert.equal(panel.get('ada'), 'new')
  assert.ok(first.signal.aborted)
})

test('a signal asked for only after the ticket became stale has aborted', () => {
  const slots = new Slots()
  const first = slots.take('ada')
  slots.take('ada')
  assert.ok(first.signal.aborted)
  assert.ok(isError(first.signal.reason, 'HDL_SUPERSEDED'))
})

test('a listener that takes the slot again wins over the one that superseded it', () => {
  const slots = new Slots()
  const first = slots.take('ada')
  let third: SlotTicket | undefined
  first.signal.addEventListener('abort', () => {
    third = slots.take('ada')
  })
  const second = slots.take('ada')
  assert.deepEqual([second.stale, third?.stale], [true, false])
})

test('Law 4: the number of slots is bounded; a slot that is held can always be taken over', () => {
  const slots = new Slots({ maxSlots: 2 })
  slots.take('a')
  slots.take('b')
  assert.throws(() => slots.take('c'), withCode('HDL_TOO_MANY_WAITERS'))
  assert.equal(slots.take('b').stale, false)
  assert.throws(() => slots.take(''), withCode('HDL_BAD_OPTION'))
})

test('I1 I2 I3 I4: any sequence of takes and releases', () => {
  const step = fc.oneof(
    fc.record({ take: fc.constantFrom('a', 'b', 'c') }),
    fc.record({ release: fc.nat({ max: 20 }) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const slots = new Slots()
      const tickets: SlotTicket[] = []
      const newest = new Map<string, SlotTicket>()
      const released = new Set<SlotTicket>()
      for (const next of steps) {
        if ('take' in next) {
          const ticket = slots.take(next.take)
          assert.ok(ticket.sequence > (tickets.at(-1)?.sequence ?? 0), 'I1')
          tickets.push(ticket)
          newest.set(next.take, ticket)
        } else {
          const ticket = tickets[next.release]
          if (ticket === undefined) continue
          ticket.release()
          released.add(ticket)
        }
        const held = [...newest.values()].filter((ticket) => !released.has(ticket))
        assert.equal(slots.size, held.length, 'I4')
        for (const ticket of tickets) {
          assert.equal(slots.isStale(ticket.slot, ticket.sequence), !held.includes(ticket))
          if (newest.get(ticket.slot) === ticket) assert.equal(ticket.stale, false, 'I3')
        }
      }
      for (const ticket of tickets) ticket.release()
      assert.equal(slots.size, 0)
      assert.equal(slots.stats().taken, tickets.length)
      assert.equal(slots.stats().superseded, tickets.filter(({ stale }) => stale).length)
    }),
  )
})
