import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Encoder } from '../../src/codec/encoder.ts'
import { decodeSliced, encodeSliced } from '../../src/codec/sliced.ts'
import type { Clock } from '../../src/kernel/clock.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { encode } from './support.ts'

/** Time passes with every look at it, so that the number of slices does not depend on the machine. */
function steppingClock(step: number): Clock & { turns: number } {
  let now = 0
  const clock = {
    ...systemClock,
    turns: 0,
    now: () => (now += step),
    afterIo: (callback: () => void) => {
      clock.turns++
      systemClock.afterIo(callback)
    },
  }
  return clock
}

const nodes = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `node ${id}` }))

test('S27 encoding gives way to the loop between slices', async () => {
  const clock = steppingClock(2) // two steps are 4 ms
  const encoder = new Encoder('key', nodes, Infinity)
  const pieces: Uint8Array[] = []
  for await (const piece of encodeSliced(encoder, clock)) pieces.push(piece)
  assert.deepEqual(new Uint8Array(Buffer.concat(pieces)), encode(nodes))
  assert.ok(clock.turns >= 5, `${clock.turns} turns`)
})

test('S27 decoding gives way to the loop between slices, and stops when nobody wants it', async () => {
  const clock = steppingClock(2)
  const decoded = await decodeSliced(encode(nodes), clock, () => false)
  assert.deepEqual(decoded?.value, nodes)
  assert.equal(decoded.values, 60_001)
  assert.ok(clock.turns >= 5, `${clock.turns} turns`)
  const { turns } = clock
  assert.equal(await decodeSliced(encode(nodes), clock, () => clock.turns > turns), undefined)
  assert.equal(clock.turns, turns + 1)
})

test('a small value never leaves the tick', async () => {
  const clock = steppingClock(0)
  let isDone = false
  void decodeSliced(encode({ small: true }), clock, () => false).then(() => (isDone = true))
  await Promise.resolve()
  await Promise.resolve()
  assert.ok(isDone)
  assert.equal(clock.turns, 0)
})
