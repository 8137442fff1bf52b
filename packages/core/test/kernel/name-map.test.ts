import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { mostInOne, NameMap } from '../../src/kernel/name-map.ts'

test('it finds what was added, in order, in one native map and spread over many', () => {
  // Below the limit, at it, while names are being spread, and after.
  for (const size of [0, 3, mostInOne - 1, mostInOne + 100, mostInOne + 20_000]) {
    const map = new NameMap<{ name: string }>()
    const items = Array.from({ length: size }, (_, index) => ({ name: `node ${index}` }))
    for (const item of items) map.add(item)
    assert.equal(map.size, size)
    assert.deepEqual([...map.values()], items)
    assert.ok(items.every((item) => map.get(item.name) === item && map.has(item.name)))
    assert.equal(map.has('node'), false)
    assert.equal(map.get(`node ${size}`), undefined)
    assert.deepEqual(
      [...map.keys()],
      items.map(({ name }) => name),
    )
  }
})

test('it behaves as a native map for names of any form', () => {
  const filler = Array.from({ length: mostInOne }, (_, index) => `filler ${index}`)
  fc.assert(
    fc.property(fc.uniqueArray(fc.string()), fc.array(fc.string()), (names, asked) => {
      const map = new NameMap<{ name: string }>()
      const native = new Map<string, { name: string }>()
      for (const name of [...filler, ...names.filter((each) => !each.startsWith('filler'))]) {
        const item = { name }
        map.add(item)
        native.set(name, item)
      }
      for (const name of [...names, ...asked]) assert.equal(map.get(name), native.get(name))
    }),
    { numRuns: 4 },
  )
})

test('values() goes on with what is added meanwhile', () => {
  const map = new NameMap<{ name: string }>()
  map.add({ name: 'a' })
  const values = map.values()
  values.next()
  map.add({ name: 'b' })
  assert.equal(values.next().value?.name, 'b')
})
