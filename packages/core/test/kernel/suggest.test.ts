import assert from 'node:assert/strict'
import { test } from 'node:test'
import { suggest } from '../../src/kernel/suggest.ts'

const known = ['parse', 'plot', 'download', 'publish']

test('a typing error is recognized: missing, extra, wrong, swapped, other case', () => {
  assert.equal(suggest('pase', known), 'parse')
  assert.equal(suggest('parrse', known), 'parse')
  assert.equal(suggest('pxrse', known), 'parse')
  assert.equal(suggest('prase', known), 'parse')
  assert.equal(suggest('Parse', known), 'parse')
})

test('the nearest name wins, and the first of equals', () => {
  assert.equal(suggest('publsh', ['polish', 'publish']), 'publish')
  assert.equal(suggest('job-x', ['job-a', 'job-b']), 'job-a')
})

test('a name that has nothing in common is not suggested', () => {
  assert.equal(suggest('compile', known), undefined)
  assert.equal(suggest('x', known), undefined)
  assert.equal(suggest('anything', []), undefined)
})

test('swapped neighbours count as one slip, not two', () => {
  assert.equal(suggest('abc', ['bac']), 'bac')
  assert.equal(suggest('abc', ['axy']), undefined)
})

test('the search is bounded: names after the 2,000th are not compared', () => {
  const names = function* (): Generator<string> {
    for (let i = 0; i < 2_000; i++) yield `something-else-${i}`
    yield 'parse'
  }
  assert.equal(suggest('prase', names()), undefined)
})
