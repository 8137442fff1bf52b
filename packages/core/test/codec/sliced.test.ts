import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { Encoder } from '../../src/codec/encoder.ts'
import { decodeSliced, encodeSliced, encodeUnchanged, stepBudget } from '../../src/codec/sliced.ts'
import type { Clock } from '../../src/kernel/clock.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { encode } from './support.ts'

/** Time passes with every reading, so that the number of slices does not depend on the machine. */
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

test('S27 decoding gives way to the loop between slices, and stops when no caller wants it', async () => {
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

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

test('the written value existed as a whole, or the write fails', async () => {
  const change = fc.record({
    turn: fc.integer({ min: 0, max: 30 }),
    where: fc.constantFrom('first', 'last', 'bytes', 'grow', 'key', 'map'),
  })
  let written = 0
  let refused = 0
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 2 }), async (changes) => {
      const value = {
        rows: Array.from({ length: 6000 }, (_, id): Record<string, number> => ({
          id,
          even: id & 1,
        })),
        bytes: new Float64Array(200_000),
        map: new Map(Array.from({ length: 3000 }, (_, i) => [i, i])),
      }
      const existed = new Set([hashOf(encode(value))])
      let count = 0
      const changeIt = {
        first: () => (value.rows[0]!['id'] = --count),
        last: () => (value.rows.at(-1)!['id'] = --count),
        bytes: () => (value.bytes[7] = --count),
        grow: () => value.rows.push({ id: --count, even: 0 }),
        key: () => (value.rows[1]![`key ${--count}`] = 1),
        map: () => value.map.set(--count, 1),
      }
      const base = steppingClock(2)
      const clock: Clock = {
        ...base,
        afterIo: (callback) => {
          for (const { turn, where } of changes) {
            if (turn !== base.turns) continue
            changeIt[where]()
            existed.add(hashOf(encode(value)))
          }
          base.afterIo(callback)
        },
      }
      const encoder = new Encoder('key', value, Infinity)
      assert.equal(encoder.step(stepBudget), false)
      const pieces: Uint8Array[] = []
      try {
        for await (const piece of encodeUnchanged('key', value, encoder, clock)) pieces.push(piece)
      } catch (error) {
        refused++
        const expected = /The value of "key" cannot be stored: .*changed while it was written/
        assert.match((error as Error).message, expected)
        assert.ok(existed.size > 1, 'nothing was changed')
        return
      }
      written++
      assert.ok(existed.has(hashOf(Buffer.concat(pieces))))
    }),
    { numRuns: 60 },
  )
  assert.ok(written > 0 && refused > 0, `${written} written, ${refused} refused`)
})
