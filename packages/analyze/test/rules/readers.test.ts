import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Model } from '../../src/rules/program-model.ts'
import { summarise } from '../../src/summaries/summary.ts'
import { programOf } from '../support/program.ts'

function readersOf(source: string, name: string): string[] {
  const program = programOf({ 'a.ts': source })
  const location = program.locations.find((one) => one.name === name)
  assert.ok(location !== undefined, name)
  const model = new Model(program, summarise(program.units))
  return model.readers.of(location.canonical).map((unit) => unit.name)
}

test('users of a location or a part of it are found, in the order of the program', () => {
  const source = `
class A {
  size() { return this.list.length }
  entry(k) { return this.list[k] }
  other() { return this.others }
  all() { return this.list }
}`
  assert.deepEqual(readersOf(source, 'A.list'), ['A.size', 'A.entry', 'A.all'])
})

test('callers of a function that checks a location are found, at any distance', () => {
  const source = `
class A {
  run() { if (this.isReady()) return 1 }
  isReady() { return this.isOpen() }
  isOpen() { return this.state }
  other() { return 2 }
}`
  assert.deepEqual(readersOf(source, 'A.state'), ['A.run', 'A.isReady', 'A.isOpen'])
})

test('callers of a getter that checks a location are found', () => {
  const source = `
class A {
  run() { if (this.isOpen) return 1 }
  get isOpen() { return this.state }
  other() { return 2 }
}`
  assert.deepEqual(readersOf(source, 'A.state'), ['A.run', 'A.isOpen'])
})
