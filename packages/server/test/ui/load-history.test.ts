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
