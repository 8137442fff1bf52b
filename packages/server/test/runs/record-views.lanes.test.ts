import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { layLanes, type Bar } from '../../src/runs/record-views.ts'

type Nodes = Parameters<typeof layLanes>[0]['nodes']

const places = ['loop', 'thread'] as const
const nodes = places.map((place) => ({ place })) as unknown as Nodes

/** The first lane of the place that is free, by looking at each. */
function searched(bars: readonly Bar[]): number[] {
  const lanes: { place: string; until: number }[] = []
  return bars.map(({ node, attempt }) => {
    const { place } = nodes[node]!
    const isFree = (lane: (typeof lanes)[number]): boolean =>
      lane.place === place && lane.until <= attempt.startedAt
    const found = lanes.findIndex(isFree)
    const at = found >= 0 ? found : lanes.push({ place, until: 0 }) - 1
    lanes[at]!.until = Math.max(attempt.endedAt, attempt.startedAt)
    return at
  })
}

test('property: every bar is in the first lane of its place that is free', () => {
  const bar = fc.record({
    node: fc.nat({ max: 1 }),
    startedAt: fc.nat({ max: 50 }),
    took: fc.nat({ max: 20 }),
  })
  fc.assert(
    fc.property(fc.array(bar, { maxLength: 60 }), (given) => {
      const bars = given
        .toSorted((a, b) => a.startedAt - b.startedAt)
        .map(({ node, startedAt, took }) => ({
          node,
          attempt: { startedAt, endedAt: startedAt + took },
        })) as unknown as Bar[]
      assert.deepEqual(layLanes({ nodes }, bars).laneOf, searched(bars))
    }),
  )
})
