import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError } from '@heddle/core'
import { VirtualClock } from '@heddle/core/testing'
import { Prefetches } from '../../src/jobs/prefetches.ts'

test('P1 P3 one for each handle, a limited number waits; P2 refused and failed ones are counted', async () => {
  const clock = new VirtualClock()
  const problems: string[] = []
  const prefetches = new Prefetches({ clock, most: 3 }, (what) => void problems.push(what))
  const started: string[] = []
  const plan = (handle: string, end?: Error): void =>
    prefetches.plan(handle, 5_000, () => {
      started.push(handle)
      return end === undefined ? Promise.resolve('started') : Promise.reject(end)
    })
  plan('a')
  plan('a')
  plan('b', new HeddleError('HDL_OVERLOADED', { what: 'It', retryAfter: 1 }))
  plan('c', new Error('broken'))
  plan('d')
  assert.equal(prefetches.waiting, 3)
  await clock.advance(5_000)
  assert.deepEqual(started, ['a', 'b', 'c'])
  plan('e')
  await prefetches.close()
  plan('f')
  await clock.advance(10_000)
  assert.deepEqual(started, ['a', 'b', 'c'])
  assert.deepEqual(prefetches.counts(), { started: 1, known: 0, refused: 2, dropped: 3 })
  assert.deepEqual(problems, ['c could not be computed ahead'])
  assert.equal(clock.pending, 0)
})
