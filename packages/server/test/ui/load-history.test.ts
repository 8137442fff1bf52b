import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '@heddle/core/testing'
import { LoadHistory } from '../../src/ui/load-history.ts'

const calm = {
  utilisation: 0.1,
  level: 'calm',
  requests: 0,
  threadsBusy: 0,
  finished: 0,
  refused: 0,
}

test('Y1 one sample a second is kept for ten minutes, refusals are bounded, and it stops', async () => {
  const clock = new VirtualClock()
  let queued = 0
  const history = new LoadHistory(clock, () => ({ ...calm, queued: { prepare: queued++ } }))
  await history.start()
  await clock.advance(700_000)
  const { at, queued: columns, level } = history.view()
  assert.equal(at.length, 600)
  assert.equal(level.length, 600)
  assert.equal(columns['prepare']!.at(-1), 700)
  assert.equal(at.at(-1)! - at[0]!, 599_000)
  for (let i = 0; i < 150; i++) {
    history.refuse({ at: i, route: 'POST /jobs/:name', status: 503, retry_after_s: i })
  }
  const { refusals, refused_total: total } = history.view()
  assert.equal(refusals.length, 100)
  assert.equal(refusals[0]!.retry_after_s, 149)
  assert.equal(total, 150)
  await history.stop()
  await clock.advance(5_000)
  assert.equal(history.view().queued['prepare']!.at(-1), 700)
})

test('Y3 the slowest twenty of the last ten minutes are kept, slowest first', async () => {
  const clock = new VirtualClock()
  const history = new LoadHistory(clock, () => ({ ...calm, queued: {} }))
  const times = (): number[] => history.view().slowest.map(({ ms }) => ms)
  for (let ms = 1; ms <= 30; ms++) history.noteEnded('render', ms, true)
  assert.deepEqual(
    times(),
    Array.from({ length: 20 }, (_, i) => 30 - i),
  )
  await clock.advance(300_000)
  history.noteEnded('render', 25.5, false)
  assert.deepEqual(times().slice(0, 7), [30, 29, 28, 27, 26, 25.5, 25])
  history.noteEnded('render', 3, true)
  assert.equal(times().length, 20, 'a faster one makes no room')
  await clock.advance(300_001)
  assert.deepEqual(
    history.view().slowest.map(({ ms, ok }) => [ms, ok]),
    [[25.5, false]],
  )
  history.noteEnded('render', 2, true)
  assert.deepEqual(times(), [25.5, 2])
})
