import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { Backlog } from '../../src/jobs/jobs-backlog.ts'

function open(): { clock: VirtualClock; backlog: Backlog } {
  const clock = new VirtualClock()
  return { clock, backlog: new Backlog({ clock, random: seededRandom(1) }) }
}

test('a listed job is known until it is taken, and its waiting caller is notified', async () => {
  const { backlog } = open()
  backlog.list('a', 3, 'acme')
  backlog.list('b', 1, 'acme')
  assert.deepEqual([backlog.find('a')?.total, backlog.find('c')?.total], [3, undefined])
  const waits = backlog.waitTaken('a', { deadline: 1_000 })
  backlog.take('a')
  backlog.take('never listed')
  assert.equal(await waits, true)
  assert.deepEqual([backlog.find('a')?.total, backlog.find('b')?.total], [undefined, 1])
  assert.equal(await backlog.waitTaken('a', { deadline: 1_000 }), true)
})

test('a deadline that comes first says so; a signal ends the wait; no timer is left', async () => {
  const { clock, backlog } = open()
  backlog.list('a', 1, 'acme')
  const late = backlog.waitTaken('a', { deadline: 100 })
  await clock.advance(100)
  assert.equal(await late, false)
  const controller = new AbortController()
  const left = backlog.waitTaken('a', { signal: controller.signal, deadline: 100 })
  controller.abort()
  await assert.rejects(left, (error) => isError(error, 'HDL_CANCELLED'))
  assert.equal(clock.pending, 0)
})

test('a drain wakes all waiters, and leaves listed jobs for the next start', async () => {
  const { backlog } = open()
  backlog.list('a', 1, 'acme')
  const waits = backlog.waitTaken('a', { deadline: 100 })
  backlog.close()
  assert.equal(await waits, true)
  assert.deepEqual([backlog.isClosed, backlog.find('a')?.total], [true, 1])
})
