import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAsyncLike } from '../../src/blocking/async-like.ts'
import { programOf } from './program.ts'

const cases: [code: string, expected: boolean][] = [
  ['export async function f() {}', true],
  ['export function f(file, callback) { callback() }', true],
  ['export function f(req, res, next) { next() }', true],
  ['export function f() { return g().then(h) }', true],
  ['export function f() { return new Promise((resolve) => resolve()) }', true],
  ['export function f() { return Promise.all([]) }', true],
  ['async function g() {}\nexport function f() { return g() }', true],
  ['export function f() { return g() }', false],
  ['export function f() { return [1].map(String) }', false],
]

for (const [code, expected] of cases) {
  test(`${expected ? 'async' : 'not async'}: ${code.replace('\n', '; ')}`, () => {
    const unit = programOf({ 'a.ts': code }).units.find(({ name }) => name === 'f')!
    assert.equal(isAsyncLike(unit), expected)
  })
}
