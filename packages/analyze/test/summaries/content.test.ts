import assert from 'node:assert/strict'
import { test } from 'node:test'
import { content } from '../../src/summaries/content.ts'
import { summarise } from '../../src/summaries/summary.ts'
import { programOf, unitNamed } from '../support/program.ts'

function contentOf(source: string, name = 'f'): string[] {
  const program = programOf({ 'a.ts': source })
  const { contains } = summarise(program.units)(unitNamed(program, name))
  return Object.entries(content)
    .filter(([, bit]) => (contains & bit) !== 0)
    .map(([kind]) => kind)
}

test('a write is distinguished from one that empties', () => {
  const head = 'let state\nexport function g() { return state }\n'
  assert.deepEqual(contentOf(`${head}function f() { return state }`), [])
  assert.deepEqual(contentOf(`${head}function f() { state = g() }`), ['write'])
  assert.deepEqual(contentOf(`${head}function f() { state = null }`), ['write', 'clear'])
})

test('entries of one container are distinguished from entries of several', () => {
  const head = 'const a = new Map()\nconst b = new Map()\n'
  assert.deepEqual(contentOf(`${head}function f(k) { a.set(k, 1); a.set(k, 2) }`), ['write'])
  assert.deepEqual(contentOf(`${head}function f(k) { a.set(k, 1); b.set(k, 2) }`), [
    'write',
    'severalContainers',
  ])
})

test('a call is late when something of it happens after a suspension', () => {
  const late = 'let n\nasync function g() { await tick(); n = 1 }\nfunction h() { n = 2 }\n'
  assert.deepEqual(contentOf(`${late}function f() { g() }`), ['lateCall'])
  assert.deepEqual(contentOf(`${late}function f() { h() }`), [])
  assert.deepEqual(contentOf(`${late}function i() { g() }\nfunction f() { i() }`), ['lateCall'])
})

test('in functions that call each other the order is unknown, so each access may be late', () => {
  const source = 'function f(n) { if (n) g(n) }\nfunction g(n) { f(n - 1) }'
  assert.deepEqual(contentOf(source), ['lateCall'])
})
