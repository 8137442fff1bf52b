import assert from 'node:assert/strict'
import { test } from 'node:test'
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

function namesIn(phase: Summary['before'], kind: 'read' | 'store' | 'clear'): string[] {
  return [...phase].filter(([, effects]) => effects[kind] !== undefined).map(([at]) => at.name)
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

test('I1: what happens before the first suspension is told from what happens after it', () => {
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

test('returning what a synchronous function answers is not waiting', () => {
  const one = 'function twice(n) { return n * 2 }\nfunction four() { return twice(2) }'
  assert.equal(summaryOf(one, 'four').suspends, 'never')
})

test('the calls that lead to an effect are kept', () => {
  const effects = [...summaryOf(source, 'A.run').after].find(([at]) => at.name === 'A.innerAfter')
  assert.deepEqual(
    effects?.[1].clear?.via.map((site) => site.name),
    ['inner'],
  )
})
