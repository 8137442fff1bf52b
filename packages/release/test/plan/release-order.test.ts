import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isError } from '@heddle/core'
import { releaseOrder, type ReleaseOrder } from '../../src/plan/release-order.ts'
import { sketchWorkspace, type Sketch } from './sketch.ts'

function orderOf(sketches: Readonly<Record<string, Sketch>>): ReleaseOrder {
  return releaseOrder([...sketchWorkspace(sketches).packages.values()])
}

function cyclesOf(sketches: Readonly<Record<string, Sketch>>): readonly (readonly string[])[] {
  try {
    orderOf(sketches)
  } catch (error) {
    assert.ok(isError(error, 'HDL_PACKAGE_CYCLE'))
    return error.details.cycles
  }
  return []
}

test('RO1: dependencies, optional and peer dependencies make order, development does not', () => {
  const { after, levels } = orderOf({
    a: {},
    b: { needs: { a: '1', 'dev:d': '1' } },
    c: { needs: { 'peer:a': '1', 'optional:b': '1' } },
    d: { needs: { c: '1', 'dev:b': '1', outside: '1' } },
  })
  assert.deepEqual(Object.fromEntries(after), { a: [], b: ['a'], c: ['a', 'b'], d: ['c'] })
  assert.deepEqual(Object.fromEntries(levels), { a: 0, b: 1, c: 2, d: 3 })
})

test('RO2: circles are named, each once and always in the same way', () => {
  const circle = { b: { needs: { c: '1' } }, c: { needs: { a: '1' } }, a: { needs: { b: '1' } } }
  assert.deepEqual(cyclesOf(circle), [['a', 'b', 'c', 'a']])
  assert.deepEqual(
    cyclesOf({
      ...circle,
      above: { needs: { a: '1' } },
      self: { needs: { self: '1' } },
      x: { needs: { y: '1' } },
      y: { needs: { x: '1' } },
      free: {},
    }),
    [
      ['a', 'b', 'c', 'a'],
      ['self', 'self'],
      ['x', 'y', 'x'],
    ],
  )
  assert.throws(() => orderOf(circle), /a → b → c → a/)
})

test('RO3: peers in a circle give no order and are reported; other peers give one', () => {
  const { after, loosePeers } = orderOf({
    core: { needs: { plugin: '1' } },
    plugin: { needs: { 'peer:core': '1', 'peer:base': '1' } },
    base: {},
  })
  assert.deepEqual(Object.fromEntries(after), { base: [], core: ['plugin'], plugin: ['base'] })
  assert.deepEqual(loosePeers, [['plugin', 'core']])
})

test('RO3: extras of Python in a circle make no order and are reported', () => {
  const packages = [
    ...sketchWorkspace({ core: {}, plugin: { needs: { core: '1' } } }).packages.values(),
  ]
  const group = 'project.optional-dependencies.all'
  const withExtra = packages.map((each) =>
    each.name === 'core'
      ? { ...each, dependencies: [{ name: 'plugin', group, range: '>=1' }] }
      : each,
  )
  const { after, loosePeers } = releaseOrder(withExtra)
  assert.deepEqual(Object.fromEntries(after), { core: [], plugin: ['core'] })
  assert.deepEqual(loosePeers, [['core', 'plugin']])
})

test('P14: a chain of 20,000 packages, and a circle of as many, are ordered', () => {
  const sketches: Record<string, Sketch> = {}
  const name = (i: number): string => `p${String(i).padStart(5, '0')}`
  for (let i = 0; i < 20_000; i++)
    sketches[name(i)] = { needs: i === 0 ? {} : { [name(i - 1)]: '1' } }
  const { levels } = orderOf(sketches)
  assert.equal(levels.get(name(19_999)), 19_999)
  sketches[name(0)] = { needs: { [name(19_999)]: '1' } }
  assert.equal(cyclesOf(sketches)[0]!.length, 20_001)
})

const groups = ['', 'dev:', 'peer:', 'optional:']

/** Any graph: a number for each pair of packages says whether and how the one needs the other. */
const graphs = fc.integer({ min: 1, max: 9 }).chain((size) =>
  fc
    .array(fc.integer({ min: 0, max: 30 }), { minLength: size * size, maxLength: size * size })
    .map((cells) => {
      const sketches: Record<string, Sketch> = {}
      for (let i = 0; i < size; i++) {
        const needs: Record<string, string> = {}
        for (let j = 0; j < size; j++) {
          const group = groups[cells[i * size + j]!]
          if (group !== undefined && i !== j) needs[`${group}p${j}`] = '1'
        }
        sketches[`p${i}`] = { needs }
      }
      return sketches
    }),
)

test('property RO1, RO2, RO4: order respects dependencies, circles are real, shuffling changes nothing', () => {
  fc.assert(
    fc.property(graphs, fc.infiniteStream(fc.nat()), (sketches, chance) => {
      const packages = [...sketchWorkspace(sketches).packages.values()]
      let order: ReleaseOrder
      try {
        order = releaseOrder(packages)
      } catch (error) {
        assert.ok(isError(error, 'HDL_PACKAGE_CYCLE'))
        for (const circle of error.details.cycles) {
          assert.equal(circle[0], circle.at(-1))
          for (const [i, name] of circle.slice(0, -1).entries()) {
            const needs = Object.keys(sketches[name]!.needs!)
            assert.ok(
              [circle[i + 1], `optional:${circle[i + 1]}`].some((key) => needs.includes(key!)),
            )
          }
        }
        return
      }
      for (const [name, after] of order.after) {
        for (const dependency of after)
          assert.ok(order.levels.get(dependency)! < order.levels.get(name)!)
        for (const key of Object.keys(sketches[name]!.needs!)) {
          const [, group, dependency] = /^(dev|peer|optional)?:?(.+)$/.exec(key)!
          if (group === undefined || group === 'optional') assert.ok(after.includes(dependency!))
          if (group === 'dev') continue
          const isLoose = order.loosePeers.some(([a, b]) => a === name && b === dependency)
          assert.notEqual(after.includes(dependency!), isLoose)
        }
      }
      const shuffled = packages.toSorted(() => (chance.next().value! % 3) - 1)
      const again = releaseOrder(shuffled)
      assert.deepEqual(Object.fromEntries(again.after), Object.fromEntries(order.after))
      assert.deepEqual(Object.fromEntries(again.levels), Object.fromEntries(order.levels))
    }),
    { numRuns: 500 },
  )
})
