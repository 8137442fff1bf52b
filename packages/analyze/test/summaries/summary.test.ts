import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Location } from '../../src/ir/locations.ts'
import type { EffectsByLocation } from '../../src/summaries/effects-by-location.ts'
import type { Effects } from '../../src/summaries/effects.ts'
import { summarise } from '../../src/summaries/summary.ts'
import type { Summary } from '../../src/summaries/summary.ts'
import { programOf } from '../support/program.ts'

function summaryOf(source: string, name: string): Summary {
  const { units } = programOf({ 'a.ts': source })
  const summaries = summarise(units)
  const unit = units.find((one) => one.name === name)
  assert.ok(unit !== undefined, name)
  return summaries(unit)
}

function entriesOf({ locations, effects }: EffectsByLocation): [Location, Effects][] {
  return locations.map((location, place) => [location, effects[place]!])
}

function namesIn(phase: EffectsByLocation, kind: 'read' | 'store' | 'clear'): string[] {
  return entriesOf(phase)
    .filter(([, effects]) => effects[kind] !== undefined)
    .map(([at]) => at.name)
}

const source = `
class A {
  async run() {
    this.before = 1
    await this.inner()
    this.after = 2
  }
  async inner() {
    this.innerBefore = 1
    await tick()
    this.innerAfter = null
  }
  sync() { return this.before }
  maybe() { if (this.x) return; return this.run() }
}`

test('I1: accesses before the first suspension are distinguished from accesses after it', () => {
  const summary = summaryOf(source, 'A.run')
  assert.deepEqual(namesIn(summary.before, 'store'), ['A.before', 'A.innerBefore'])
  assert.deepEqual(namesIn(summary.after, 'store'), ['A.after'])
  assert.deepEqual(namesIn(summary.after, 'clear'), ['A.innerAfter'])
  assert.equal(summary.suspends, 'always')
})

test('a function that only reads does not suspend', () => {
  const summary = summaryOf(source, 'A.sync')
  assert.equal(summary.suspends, 'never')
  assert.deepEqual(namesIn(summary.before, 'read'), ['A.before'])
})

test('returning the promise of another one is waiting, on the ways that do it', () => {
  assert.equal(summaryOf(source, 'A.maybe').suspends, 'maybe')
})

test('returning the result of a synchronous function is not waiting', () => {
  const one = 'function twice(n) { return n * 2 }\nfunction four() { return twice(2) }'
  assert.equal(summaryOf(one, 'four').suspends, 'never')
})

test('how many calls lead to an effect is kept', () => {
  const { before, after } = summaryOf(source, 'A.run')
  const distances = [...entriesOf(before), ...entriesOf(after)].map(([at, { store, clear }]) => [
    at.name,
    (store ?? clear)?.distance,
  ])
  assert.deepEqual(distances, [
    ['A.before', 0],
    ['A.innerBefore', 1],
    ['A.innerAfter', 1],
    ['A.after', 0],
  ])
})

test('I2: accesses more than five calls away are dropped', () => {
  const chain = Array.from({ length: 8 }, (_, at) => `  f${at}() { return this.f${at + 1}() }`)
  const deep = `class A {\n${chain.join('\n')}\n  f8() { this.x = 1 }\n}`
  assert.deepEqual(namesIn(summaryOf(deep, 'A.f3').before, 'store'), ['A.x'])
  assert.deepEqual(namesIn(summaryOf(deep, 'A.f2').before, 'store'), [])
})

test('callers at the same distance share the summary of a callee', () => {
  const { units } = programOf({
    'a.ts': 'class A {\n  one() { this.f() }\n  two() { this.f() }\n  f() { this.x = 1 }\n}',
  })
  const summaries = summarise(units)
  const [one, two] = ['A.one', 'A.two'].map((name) => {
    const unit = units.find((candidate) => candidate.name === name)
    assert.ok(unit !== undefined, name)
    return summaries(unit).before.effects[0]
  })
  assert.ok(one !== undefined)
  assert.equal(one, two)
})

test('a function that returns a call of itself does not wait for that', () => {
  const recursive = `
export class Suite {
  keep(suite) {
    this.last = suite
    return suite.next === undefined ? this.last : this.keep(suite.next)
  }
  async load(suite) {
    this.last = suite
    return suite.next === undefined ? this.last : this.load(suite.next)
  }
}
`
  assert.equal(summaryOf(recursive, 'Suite.keep').suspends, 'never')
  assert.notEqual(summaryOf(recursive, 'Suite.load').suspends, 'never')
})
