import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  byTenant,
  lanesOf,
  oldestWaiting,
  ratesOf,
  type QueueHealth,
} from '../../../src/pages/load/health.ts'

test('rates are changes a second; a server that was started again does not count backwards', () => {
  assert.deepEqual(ratesOf([0, 1_000, 3_000, 4_000], [5, 10, 30, 2]), [null, 5, 10, 0])
  assert.deepEqual(ratesOf([], []), [])
})

test('lanes have the names of their priorities', () => {
  const queue = { queuedByPriority: [2, 1, 0, 4, 0, 1] } as unknown as QueueHealth
  assert.equal(lanesOf(queue), '2 interactive, 1 usual, 4 prefetch, 1 priority 5')
})

test('tenants are counted, most first', () => {
  const of = (tenant: string) => ({ tenant })
  assert.deepEqual(byTenant([of('a'), of('b'), of('b')]), [
    ['b', 2],
    ['a', 1],
  ])
})

test('the oldest waiting request: running requests do not count, nor those of an earlier process', () => {
  const of = (state: string, age_ms?: number) => ({
    state,
    ...(age_ms !== undefined && { age_ms }),
  })
  assert.equal(oldestWaiting([of('making', 900), of('waiting')]), undefined)
  const found = oldestWaiting([
    of('making', 900),
    of('queued', 10),
    of('queued', 30),
    of('looking', 20),
  ])
  assert.equal(found?.age_ms, 30)
})
