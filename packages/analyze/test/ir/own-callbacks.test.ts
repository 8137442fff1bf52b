import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSource } from '../../src/frontend/parse.ts'
import { OwnCallbacks } from '../../src/ir/own-callbacks.ts'

function runsAtOnce(code: string, name: string, index = 0): boolean {
  const { program, errors } = parseSource('a.ts', code)
  assert.deepEqual(errors, [])
  return new OwnCallbacks(program).runsAtOnce(name, index)
}

test('a parameter that is called, and nothing else, has run when the call returns', () => {
  assert.ok(runsAtOnce('function attempt(work) { try { work() } catch {} }', 'attempt'))
  assert.ok(runsAtOnce('export const time = (label, work) => { work(1); log(label) }', 'time', 1))
  assert.ok(runsAtOnce('class A { #try(id, work) { if (id) return work() } }', '#try', 1))
  assert.ok(runsAtOnce('export default class { run(work) { for (;;) work() } }', 'run'))
  assert.ok(
    runsAtOnce('async function run(work) { try { return await work() } finally {} }', 'run'),
  )
})

test('one that is stored, passed on, called later or not at all has not', () => {
  const cases = [
    'function f(work) { queue.push(work) }',
    'function f(work) { work(); again = work }',
    'function f(work) { setTimeout(() => work(), 5) }',
    'function f(work) { return { work } }',
    'async function f(work) { await ready(); work() }',
    'async function f(work) { for await (const x of y) work() }',
    'function* f(work) { work() }',
    'function f(work) { return 1 }',
    'function f({ work }) { work() }',
    'function f() {}',
  ]
  for (const code of cases) assert.equal(runsAtOnce(code, 'f'), false, code)
})

test('names of properties are not the parameter; all functions of a name must agree', () => {
  assert.ok(runsAtOnce('function f(work) { work(); x.work = { work: 1 } }', 'f'))
  const two = 'class A { f(work) { work() } }\nclass B { f(work) { this.later = work } }'
  assert.equal(runsAtOnce(two, 'f'), false)
  assert.equal(runsAtOnce('', 'f'), false)
})

test('code that is nested too deeply is not followed', () => {
  const code = `function f(work) { return ${'!'.repeat(2_000)}work() }`
  assert.equal(runsAtOnce(code, 'f'), false)
})
