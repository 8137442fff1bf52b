/** A library that is played wrong is not a peer: everyone must do the whole work, in order. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as queue from '../ours/queue.ts'
import * as ours from '../ours/scheduler.ts'
import * as asyncPeer from '../peers/async.ts'
import * as effect from '../peers/effect.ts'
import * as fastq from '../peers/fastq.ts'
import * as pGraph from '../peers/p-graph.ts'
import * as pLimit from '../peers/p-limit.ts'
import * as pQueue from '../peers/p-queue.ts'
import { concurrency } from '../suites/engine/conditions.ts'
import type { PlayBounded, PlayGraph } from '../suites/engine/contract.ts'
import * as floor from '../suites/engine/floor.ts'
import { chain, fan, random } from '../suites/engine/shapes.ts'

const graphs: Record<string, PlayGraph> = {
  heddle: ours.observed,
  'heddle plain': ours.plain,
  'p-graph': pGraph.graph,
  effect: effect.workers,
  'effect runFork': effect.runFork,
  async: asyncPeer.graph,
  floor: floor.graph,
}

for (const [name, play] of Object.entries(graphs)) {
  for (const shape of [chain(50), fan(200), random(300)]) {
    test(`${name} runs ${shape.names.length} nodes once each, after their dependencies`, async () => {
      const position = new Map(shape.names.map((node, index) => [node, index]))
      const ended = new Set<string>()
      let running = 0
      let peak = 0
      await play(
        shape,
        async (node) => {
          peak = Math.max(peak, ++running)
          for (const dependency of shape.after[position.get(node)!]!) {
            assert.ok(ended.has(shape.names[dependency]!), `${node} waits for its dependencies`)
          }
          await Promise.resolve()
          running--
          assert.ok(!ended.has(node), `${node} runs once`)
          ended.add(node)
        },
        () => {},
      )
      assert.equal(ended.size, shape.names.length)
      assert.ok(peak <= concurrency, `${peak} at once`)
    })
  }
}

const bounded: Record<string, PlayBounded> = {
  heddle: ours.bounded,
  'heddle queue': queue.bounded,
  'p-queue': pQueue.bounded,
  'p-limit': pLimit.bounded,
  fastq: fastq.bounded,
  async: asyncPeer.bounded,
  effect: effect.bounded,
  floor: floor.bounded,
}

for (const [name, play] of Object.entries(bounded)) {
  test(`${name} runs every item once, up to the bound at a time`, async () => {
    const items = Array.from({ length: 500 }, (_, index) => index)
    const seen = new Set<number>()
    let running = 0
    let peak = 0
    await play(items, async (item) => {
      peak = Math.max(peak, ++running)
      await Promise.resolve()
      running--
      assert.ok(!seen.has(item), `${item} runs once`)
      seen.add(item)
    })
    assert.equal(seen.size, items.length)
    assert.equal(peak, concurrency)
  })
}
