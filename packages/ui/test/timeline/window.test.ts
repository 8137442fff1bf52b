import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { follow, pan, reveal, whole, zoom, type TimeWindow } from '../../src/timeline/window.ts'

const length = 10_000

test('W1 the window never leaves the axis', () => {
  const number = fc.double({ min: -20_000, max: 20_000, noNaN: true })
  const moves = fc.array(
    fc.tuple(
      fc.constantFrom('zoom', 'pan', 'reveal'),
      number,
      fc.double({ min: 0, max: 1, noNaN: true }),
    ),
  )
  fc.assert(
    fc.property(moves, (list) => {
      let window: TimeWindow = whole(length)
      for (const [kind, by, at] of list) {
        if (kind === 'zoom') window = zoom(window, length, 2 ** (by / 2_000), at)
        else if (kind === 'pan') window = pan(window, length, by)
        else {
          const from = at * 9_000
          window = reveal(window, length, from, from + 1_000)
          assert.ok(window.from <= from + 1e-6 && window.to >= from + 1_000 - 1e-6)
        }
        assert.ok(window.from >= 0 && window.to <= length + 1e-6, JSON.stringify(window))
        assert.ok(window.to - window.from >= 1 - 1e-6)
      }
    }),
  )
})

test('W2 the moment under the pointer stays when zooming in', () => {
  const window = zoom({ from: 2_000, to: 6_000 }, length, 0.5, 0.25)
  assert.equal(window.from + (window.to - window.from) * 0.25, 3_000)
})

test('W3 a window over everything grows with the run, another one does not', () => {
  assert.deepEqual(follow(whole(100), 100, 150), whole(150))
  assert.deepEqual(follow({ from: 10, to: 20 }, 100, 150), { from: 10, to: 20 })
})
