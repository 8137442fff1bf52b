import { build, node, told, zero, type Story } from './kit.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { criticalPathOf } from '../../src/lowlevel.ts'
import { readRecord, timedNodes } from '../../src/recorded/run-record.ts'
import { idleStretches, timelineOf, type Timeline } from '../../src/recorded/timeline.ts'

async function timeline(story: Story): Promise<Timeline> {
  await using journal = await told(story)
  const record = await readRecord(journal, '20261115-224501-k3f9q2', { now: zero + 1_500 })
  return timelineOf(record, await criticalPathOf(timedNodes(record)))
}

test('rows are in order of their start, with every stretch of waiting, running and back-off', async () => {
  const { rows, idle, length } = await timeline(build)
  assert.deepEqual(
    rows.map((row) => row.node),
    ['fetch', 'parse', 'lint', 'upload'],
  )
  assert.deepEqual(
    rows[2]!.spans.map(({ kind, from, to }) => [kind, from, to]),
    [
      ['queue', 210, 310],
      ['run', 310, 410],
      ['backoff', 410, 500],
      ['queue', 500, 510],
      ['run', 510, 610],
    ],
  )
  assert.deepEqual(
    rows.map(({ critical, slack }) => [critical, slack]),
    [
      [true, 0],
      [true, 0],
      [false, 500],
      [true, 0],
    ],
  )
  assert.deepEqual(
    idle.map(({ name }) => name),
    ['notify'],
  )
  assert.equal(length, 1_010)
})

test('a wait that has not ended lasts until now', async () => {
  const { rows } = await timeline({
    nodes: [node('ready'), node('back')],
    rows: [
      [0, 'back', 'ready'],
      [0, 'ready', 'ready'],
      [10, 'back', 'running'],
      [20, 'back', 'retrying', { attempt: 1, delay: 9_000, error: 'no' }],
    ],
  })
  const last = Object.fromEntries(rows.map((row) => [row.node, row.spans.at(-1)!]))
  assert.deepEqual(last['ready'], { kind: 'queue', from: 0, to: 1_500 })
  assert.deepEqual(last['back'], { kind: 'backoff', from: 20, to: 1_500 })
})

test('idle is where nothing ran, whatever waited', async () => {
  assert.deepEqual(idleStretches(await timeline(build)), [{ from: 0, to: 10 }])
  const paused = await timeline({
    nodes: [node('a'), node('b')],
    rows: [
      [0, 'a', 'ready'],
      [0, 'b', 'ready'],
      [0, 'a', 'running'],
      [100, 'a', 'succeeded'],
      [900, 'b', 'running'],
      [1_000, 'b', 'succeeded'],
      [1_000, 'finished'],
    ],
  })
  assert.deepEqual(idleStretches(paused), [{ from: 100, to: 900 }])
})
