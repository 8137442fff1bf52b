import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Location } from '../../src/ir/locations.ts'
import type { Program } from '../../src/ir/program.ts'
import { summarise } from '../../src/summaries/summary.ts'
import type { Uses } from '../../src/summaries/uses.ts'
import { programOf } from '../support/program.ts'

function usesOf(source: string): { uses: Uses; at: (name: string) => Location } {
  const program = programOf({ 'a.ts': source })
  return { uses: summarise(program.units).uses, at: (name) => locationNamed(program, name) }
}

function locationNamed({ locations }: Program, name: string): Location {
  const found = locations.find((one) => one.name === name)
  assert.ok(found !== undefined, name)
  return found
}

const source = `
class A {
  last() { this.first(); this.x = 1; this.x = 2 }
  middle() { return this.x }
  first() { this.x = 0; this.y.x = 1 }
  dead() { return 1; this.z = 3 }
  twin() { this.other(); this.z = 1 }
  other() { this.twin(); this.z = 2 }
}`

test('hosts come in the order of the program, each once, though callees are summarised first', () => {
  const { uses, at } = usesOf(source)
  assert.deepEqual(
    uses.hostsOf(at('A.x')).map((unit) => unit.name),
    ['A.last', 'A.middle', 'A.first'],
  )
})

test('writes come in the order of the program, and in a host in that of its text', () => {
  const { uses, at } = usesOf(source)
  const starts = uses.writesOf(at('A.x')).map(({ access }) => access.start)
  assert.equal(starts.length, 3)
  assert.deepEqual(
    starts,
    starts.toSorted((a, b) => a - b),
  )
  const [first] = uses.writesOf(at('A.x'))
  assert.equal(first?.block.events[first.index], first?.access)
})

test('unreached code counts, and functions that call each other count once', () => {
  const { uses, at } = usesOf(source)
  assert.deepEqual(
    uses.hostsOf(at('A.z')).map((unit) => unit.name),
    ['A.dead', 'A.twin', 'A.other'],
  )
  assert.equal(uses.writesOf(at('A.z')).length, 3)
})

test('writes are found by the name of the field, whatever its owner', () => {
  const { uses } = usesOf(source)
  assert.deepEqual(
    uses.writesOfField('x').map(({ access }) => access.location.name),
    ['A.x', 'A.x', 'A.x', 'A.y.x'],
  )
  assert.deepEqual(uses.writesOfField('nobody'), [])
})

test('the field of a subclass is that of its base class', () => {
  const { uses, at } = usesOf(
    'class B { set() { this.v = 1 } }\nclass C extends B { get() { return this.v } }',
  )
  assert.deepEqual(
    uses.hostsOf(at('C.v')).map((unit) => unit.name),
    ['B.set', 'C.get'],
  )
})
