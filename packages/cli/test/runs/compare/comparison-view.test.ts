import { compareRuns, readRecord, type RunRecord } from '@heddle/core/lowlevel'
import { build, node, picture, surfaceOf, text, told, zero, type Story } from '../kit.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { comparisonLines } from '../../../src/runs/compare/comparison-view.ts'

async function recordOf(story: Story): Promise<RunRecord> {
  await using journal = await told(story)
  return await readRecord(journal, '20261115-224501-k3f9q2', { now: zero })
}

const repaired: Story = {
  ...build,
  options: { concurrency: 4, retries: 1 },
  nodes: [...build.nodes.slice(0, 4), node('notify', 'upload', 'lint'), node('archive')],
  rows: [
    [0, 'fetch', 'running'],
    [350, 'fetch', 'succeeded'],
    [350, 'parse', 'running'],
    [350, 'lint', 'running'],
    [450, 'lint', 'succeeded'],
    [860, 'parse', 'succeeded'],
    [860, 'upload', 'running'],
    [990, 'upload', 'succeeded'],
    [990, 'notify', 'running'],
    [1_000, 'notify', 'succeeded'],
    [1_000, 'archive', 'running'],
    [1_100, 'archive', 'succeeded'],
    [1_100, 'finished'],
  ],
}

test('two runs side by side', async () => {
  const comparison = await compareRuns(await recordOf(build), await recordOf(repaired))
  assert.equal(
    text(comparisonLines(comparison, false, surfaceOf())),
    picture`
         RUN                     TITLE     STATE        STARTED
      A  20261115-224501-k3f9q2  build.ts  ✗ failed     2026-11-15 22:45:01
      B  20261115-224501-k3f9q2  build.ts  ✓ succeeded  2026-11-15 22:45:01

                         A      B  CHANGE
      total          1.0 s  1.1 s  +90 ms  +9 %
      critical path  1.0 s  1.0 s    0 ms   0 %

      SLOWER       A       B   CHANGE         ON THE TOTAL
      fetch   200 ms  350 ms  +150 ms  +75 %       +150 ms

      FASTER       A       B   CHANGE         ON THE TOTAL
      lint    300 ms  100 ms  -200 ms  -67 %          none

      OUTCOME
      upload: failed in 300 ms → succeeded in 130 ms
      notify: blocked → succeeded in 10 ms

      GRAPH
      "notify" now needs "lint"
      "archive" is new, 100 ms

      LIMITS
      concurrency: 2 → 4

      1 other job took the same time, within 5 % or 10 ms
    `,
  )
})

test('two equal runs', async () => {
  const comparison = await compareRuns(await recordOf(repaired), await recordOf(repaired))
  const lines = text(comparisonLines(comparison, false, surfaceOf())).split('\n')
  assert.deepEqual(lines.slice(4, 6), [
    '                   A      B  CHANGE',
    'total          1.1 s  1.1 s    0 ms  0 %',
  ])
  assert.equal(lines.at(-1), '6 jobs took the same time, within 5 % or 10 ms')
})

test('a long list is cut, unless all is asked for', async () => {
  const names = Array.from({ length: 30 }, (_, i) => `n${i}`)
  const many = (ms: number): Story => ({
    nodes: names.map((name) => node(name)),
    rows: names.flatMap((name) => [
      [0, name, 'running'] as const,
      [ms, name, 'succeeded'] as const,
    ]),
  })
  const comparison = await compareRuns(await recordOf(many(100)), await recordOf(many(200)))
  const lines = text(comparisonLines(comparison, false, surfaceOf())).split('\n')
  assert.equal(lines.filter((line) => /^n\d/.test(line)).length, 20)
  assert.ok(lines.includes('and 10 more; --all shows them'))
  const all = text(comparisonLines(comparison, true, surfaceOf())).split('\n')
  assert.equal(all.filter((line) => /^n\d/.test(line)).length, 30)
})
