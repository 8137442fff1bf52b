import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newRunId } from '../../src/journal/run-id.ts'
import { seededRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'

test('an id says when the run started, in a form that is easy to type', () => {
  const clock = new VirtualClock({ wallTime: Date.UTC(2026, 10, 15, 22, 45, 1) })
  const kernel = { clock, random: seededRandom(1) }
  const id = newRunId(kernel)
  assert.match(id, /^20261115-224501-[0-9b-df-hj-km-np-tv-xz]{6}$/)
  assert.equal(newRunId({ clock, random: seededRandom(1) }), id)
  assert.match(newRunId(), /^\d{8}-\d{6}-\w{6}$/)
})

test('ids sort by time and do not repeat', async () => {
  const clock = new VirtualClock()
  const kernel = { clock, random: seededRandom(2) }
  const ids: string[] = []
  for (let i = 0; i < 500; i++) {
    ids.push(newRunId(kernel))
    await clock.advance(1000)
  }
  assert.deepEqual(ids, ids.toSorted())
  const sameSecond = Array.from({ length: 5000 }, () => newRunId(kernel))
  assert.equal(new Set(sameSecond).size, sameSecond.length)
})
