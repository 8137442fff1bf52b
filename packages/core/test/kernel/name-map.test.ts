import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { longestProbe, mostInNative, movedAtOnce, NameMap } from '../../src/kernel/name-map.ts'

interface Named {
  readonly name: string
}

function filled(names: readonly string[]): NameMap<Named> {
  const map = new NameMap<Named>()
  for (const name of names) map.add({ name })
  return map
}

/** Names of a length at which not every character counts, that differ only where it does not. */
function alike(size: number): string[] {
  return Array.from({ length: size }, (_, index) => {
    const number = String(index).padStart(6, '0')
    const spread = number.replaceAll(/./gu, '-$&-----')
    return `begin${spread}the same end of all`
  })
}

test('N1 it finds added names, in order, in a native map, in a table, and while a table is emptied', () => {
  // A table that is emptied in several steps has more than `movedAtOnce` slots and is half full.
  const growing = 2 * movedAtOnce
  for (const size of [0, 3, mostInNative - 1, mostInNative, growing, growing + 1, 40_000]) {
    const map = new NameMap<Named>()
    const items = Array.from({ length: size }, (_, index) => ({ name: `node ${index}` }))
    for (const item of items) map.add(item)
    assert.equal(map.size, size)
    assert.deepEqual([...map.values()], items)
    assert.ok(items.every((item) => map.get(item.name) === item && map.has(item.name)))
    assert.ok(items.every((item, index) => map.indexOf(item.name) === index))
    assert.ok(items.every((item, index) => map.at(index) === item))
    assert.equal(map.has('node'), false)
    assert.equal(map.get(`node ${size}`), undefined)
    assert.equal(map.indexOf(`node ${size}`), -1)
    assert.equal(map.at(size), undefined)
    assert.deepEqual(
      [...map.keys()],
      items.map(({ name }) => name),
    )
  }
})

test('N1 every name is found after every add, over several tables', () => {
  const names = Array.from({ length: 10 * mostInNative }, (_, index) => `n${index}`)
  const map = new NameMap<Named>()
  for (const [index, name] of names.entries()) {
    assert.equal(map.has(name), false)
    map.add({ name })
    for (let other = index % 37; other <= index; other += 37) {
      assert.equal(map.indexOf(names[other]!), other)
    }
  }
})

test('N2 names that share a hash are found, and no more than a few are compared', () => {
  const names = alike(4 * mostInNative)
  const map = filled(names)
  assert.ok(names.every((name, index) => map.indexOf(name) === index))
  assert.equal(map.has(names[0]!.replace('begin', 'being')), false)
  assert.ok(longestProbe < mostInNative)
})

test('a name that was looked up last is not confused with the one that is added', () => {
  const map = filled(Array.from({ length: mostInNative }, (_, index) => `n${index}`))
  assert.equal(map.has('asked'), false)
  map.add({ name: 'added' })
  assert.equal(map.has('asked'), false)
  assert.equal(map.get('added')?.name, 'added')
})

test('it behaves as a native map for names of any form', () => {
  const filler = Array.from({ length: 2 * mostInNative }, (_, index) => `filler ${index}`)
  const text = fc.oneof(fc.string(), fc.string({ minLength: 20, maxLength: 80, unit: 'binary' }))
  fc.assert(
    fc.property(fc.uniqueArray(text), fc.array(text), (names, asked) => {
      const map = new NameMap<Named>()
      const native = new Map<string, Named>()
      for (const name of [...filler, ...names.filter((each) => !each.startsWith('filler'))]) {
        const item = { name }
        map.add(item)
        native.set(name, item)
      }
      for (const name of [...names, ...asked]) assert.equal(map.get(name), native.get(name))
    }),
    { numRuns: 40 },
  )
})

test('values() continues with entries that are added during the iteration', () => {
  const map = new NameMap<Named>()
  map.add({ name: 'a' })
  const values = map.values()
  values.next()
  map.add({ name: 'b' })
  assert.equal(values.next().value?.name, 'b')
})
