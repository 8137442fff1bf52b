import { build, picture, surfaceOf, text, told, zero } from './kit.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { criticalPathOf, readRecord, timedNodes } from '@heddle/core/lowlevel'
import { historyLines, readHistory } from '../../src/runs/history-view.ts'

test('the rows of a run are the points that --at can go to', async () => {
  await using journal = await told(build)
  const upTo = { position: 14, at: zero + 700 }
  const record = await readRecord(journal, '20261115-224501-k3f9q2', { now: zero, upTo })
  const criticalPath = await criticalPathOf(timedNodes(record))
  const input = { record, criticalPath, isPast: true, surface: surfaceOf() }
  assert.equal(
    text(historyLines(await readHistory(journal, record, undefined), input)),
    picture`

        ROW       AT  WHAT
          1    +0 ms  graph  5 jobs added
          2    +0 ms  run    running       pid 4711 on loom
          3    +0 ms  fetch  ready
          4   +10 ms  fetch  running
          5   +10 ms  fetch  log           reading 3 pages
          6  +210 ms  fetch  succeeded
          7  +210 ms  parse  ready
          8  +210 ms  lint   ready
          9  +210 ms  parse  running
         10  +310 ms  lint   running
         11  +410 ms  lint   retrying      in 90 ms, Error: busy
         12  +500 ms  lint   ready
         13  +510 ms  lint   running       attempt 2
         14  +610 ms  lint   succeeded
    `,
  )
  const ofLint = await readHistory(journal, record, 'lint')
  assert.deepEqual(
    ofLint.map(({ position }) => position),
    [8, 10, 11, 12, 13, 14],
  )
})
