import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Requests } from '../../src/jobs/requests.ts'
import { withCode } from '../support/told.ts'

test('S70 S79 a cancel reports cancelled, already cancelled, already done, or unknown', () => {
  const requests = new Requests()
  let cancelled = 0
  requests.open('acme', 'a', () => cancelled++)
  requests.open('acme', 'b', () => cancelled++)[Symbol.dispose]()
  assert.equal(requests.size, 1)
  assert.equal(requests.cancel('acme', 'a'), 'cancelled')
  assert.equal(requests.cancel('acme', 'a'), 'already_cancelled')
  assert.equal(requests.cancel('acme', 'b'), 'already_done')
  assert.throws(() => requests.cancel('acme', 'never'), withCode('HDL_UNKNOWN_REQUEST'))
  assert.throws(() => requests.cancel('acme', '__proto__'), withCode('HDL_UNKNOWN_REQUEST'))
  assert.equal(cancelled, 1)
  assert.equal(requests.size, 0)
})

test('an id that is open is refused, and free again after its end', () => {
  const requests = new Requests()
  const first = requests.open('acme', 'a', () => undefined)
  assert.throws(() => requests.check('acme', 'a'), withCode('HDL_REQUEST_EXISTS'))
  assert.throws(() => requests.open('acme', 'a', () => undefined), withCode('HDL_REQUEST_EXISTS'))
  first[Symbol.dispose]()
  requests.check('acme', 'a')
  requests.open('acme', 'a', () => undefined)
  assert.equal(requests.size, 1)
})

test('the end of one does not close a later one of the same id, whatever ended it', () => {
  const requests = new Requests()
  const first = requests.open('acme', 'a', () => undefined)
  requests.cancel('acme', 'a')
  let isCancelled = false
  requests.open('acme', 'a', () => (isCancelled = true))
  first[Symbol.dispose]()
  first[Symbol.dispose]()
  assert.equal(requests.size, 1)
  assert.equal(requests.cancel('acme', 'a'), 'cancelled')
  assert.ok(isCancelled)
})

test('listeners of a cancel find the request closed already', () => {
  const requests = new Requests()
  const opened = requests.open('acme', 'a', () => {
    opened[Symbol.dispose]()
    assert.equal(requests.size, 0)
  })
  assert.equal(requests.cancel('acme', 'a'), 'cancelled')
  assert.equal(requests.cancel('acme', 'a'), 'already_cancelled', 'not done')
})

test('ids of long ago are forgotten: memory does not grow', () => {
  const requests = new Requests()
  for (let number = 0; number <= 10_000; number++) {
    requests.open('acme', `${number}`, () => undefined)[Symbol.dispose]()
  }
  assert.throws(() => requests.cancel('acme', '0'), withCode('HDL_UNKNOWN_REQUEST'))
  assert.equal(requests.cancel('acme', '10000'), 'already_done')
})

test('at most the limit is open at a time', () => {
  const requests = new Requests(2)
  const first = requests.open('acme', 'a', () => undefined)
  requests.open('acme', 'b', () => undefined)
  assert.throws(() => requests.check('acme', 'c'), withCode('HDL_TOO_MANY_WAITERS'))
  assert.throws(() => requests.open('acme', 'c', () => undefined), withCode('HDL_TOO_MANY_WAITERS'))
  first[Symbol.dispose]()
  requests.open('acme', 'c', () => undefined)
})
