import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { Roster } from '../../src/kernel/roster.ts'

test('L1, L2: as a Set does, in the order of add()', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(9), { maxLength: 60 }), (choices) => {
      const roster = new Roster<{ readonly n: number }>()
      const indexes = new Map<{ readonly n: number }, number>()
      let most = 0
      for (const [n, choice] of choices.entries()) {
        const old = [...indexes.keys()][choice]
        if (old === undefined) {
          const item = { n }
          indexes.set(item, roster.add(item))
        } else {
          roster.remove(indexes.get(old)!)
          indexes.delete(old)
        }
        most = Math.max(most, indexes.size)
        assert.equal(roster.size, indexes.size)
        assert.deepEqual([...roster], [...indexes.keys()])
        assert.ok([...indexes.values()].every((index) => index < most))
      }
    }),
  )
})

test('L2: items removed or added during an iteration are left out', () => {
  const roster = new Roster<string>()
  const [, second] = ['a', 'b', 'c'].map((name) => roster.add(name))
  const seen: string[] = []
  for (const name of roster) {
    seen.push(name)
    if (name !== 'a') continue
    roster.remove(second!)
    // The new item gets the index of the removed one.
    assert.equal(roster.add('d'), second)
  }
  assert.deepEqual(seen, ['a', 'c'])
  assert.deepEqual([...roster], ['a', 'c', 'd'])
})

test('L1: removed items can be collected with the young generation, also when the roster is old', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: { readonly type: 'minor' | 'major' }) => void
  const used = (): number => process.memoryUsage().heapUsed / 1_000_000
  const roster = new Roster<readonly number[]>()
  // 8 kB each.
  const item = (): readonly number[] => Array.from({ length: 1_000 }, (_, i) => i + 0.5)
  const indexes = Array.from({ length: 100 }, () => roster.add(item()))
  collect({ type: 'major' })
  const before = used()
  for (let round = 0; round < 100; round++) {
    for (const [i, index] of indexes.entries()) {
      roster.remove(index)
      indexes[i] = roster.add(item())
    }
  }
  collect({ type: 'minor' })
  // 80 MB came and went; a Set keeps most of it until the next collection of the old generation.
  const kept = used() - before
  assert.ok(kept < 8, `${kept} MB are kept`)
})
