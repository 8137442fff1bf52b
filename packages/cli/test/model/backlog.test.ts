import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { Backlog } from '../../src/model/backlog.ts'

test('the first entries that still belong, in order, whatever has left in between', () => {
  const gone = new Set<string>()
  const backlog = new Backlog((name: string) => !gone.has(name), ['a', 'b', 'c', 'd'])
  assert.deepEqual(backlog.first(2), ['a', 'b'])
  gone.add('a').add('c')
  assert.deepEqual(backlog.first(2), ['b', 'd'])
  backlog.push('e')
  assert.deepEqual(backlog.first(9), ['b', 'd', 'e'])
  assert.deepEqual(backlog.first(0), [])
})

test('an entry that comes back is there once, and one that has not left keeps its place', () => {
  const inside = new Set(['a', 'b'])
  const backlog = new Backlog((name: string) => inside.has(name), ['a', 'b'])
  inside.delete('a')
  inside.add('a')
  backlog.push('a')
  assert.deepEqual(backlog.first(3), ['a', 'b'])
})

test('it answers as a list that is searched from its start, for any order of events', () => {
  const event = fc.oneof(
    fc.record({ push: fc.nat(30) }),
    fc.record({ leave: fc.nat(30) }),
    fc.record({ look: fc.nat(5) }),
  )
  fc.assert(
    fc.property(fc.array(event, { maxLength: 200 }), (events) => {
      const inside = new Set<number>()
      const backlog = new Backlog((n: number) => inside.has(n))
      for (const { push, leave, look } of events as {
        push?: number
        leave?: number
        look?: number
      }[]) {
        if (push !== undefined && !inside.has(push)) {
          inside.add(push)
          backlog.push(push)
        }
        if (leave !== undefined) inside.delete(leave)
        if (look === undefined) continue
        const found = backlog.first(look)
        assert.equal(found.length, Math.min(look, inside.size))
        assert.ok(new Set(found).size === found.length && found.every((n) => inside.has(n)))
      }
    }),
  )
})

test('a query costs the number of entries that have left since the last one, not of those that wait', () => {
  let asked = 0
  const gone = new Set<number>()
  const all = Array.from({ length: 1_000 }, (_, i) => i)
  const backlog = new Backlog((n: number) => (asked++, !gone.has(n)), all)
  for (const n of all.slice(0, 900)) gone.add(n)
  backlog.first(4)
  assert.equal(asked, 904)
  backlog.first(4)
  assert.equal(asked, 908)
})
