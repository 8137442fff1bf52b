import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import test from 'node:test'
import type { ClusterFaultsReport } from '../store/cluster-faults.ts'
import { countsOf, countsOfBrokenRun, linesOf } from '../store/report.ts'
import { addToTally } from '../tally.ts'

test('a tally adds the numbers of all runs and joins their lists', (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-tally-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'tally.jsonl')
  assert.deepEqual(addToTally(file, { sent: 3, times: [5] }), { runs: 1, sent: 3, times: [5] })
  assert.deepEqual(addToTally(file, { sent: 4, times: [1, 2] }), {
    runs: 2,
    sent: 7,
    times: [5, 1, 2],
  })
})

const report: ClusterFaultsReport = {
  counts: { kill: 2, stop: 1, cut: 0, pgkill: 1, disk: 0, replica: 0 },
  longStops: 1,
  longCuts: 0,
  acknowledged: 100,
  answered: 1,
  refusedRequests: 7,
  refusedBatches: 3,
  lost: 0,
  wrong: 0,
  openJobs: 0,
  setAside: 2,
  takeOvers: [7000, 6500, 6800],
  lateTakeOvers: 0,
  returns: [900],
  foreignWrites: 0,
  doubled: 0,
  outcomes: 99,
}

test('faults, refused batches, take-overs and set-aside jobs are added up with their seeds', (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-tally-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'tally.jsonl')
  addToTally(file, countsOf(7, 60, report))
  addToTally(file, countsOfBrokenRun(8, 5))
  const sum = addToTally(file, countsOf(9, 60, { ...report, lost: 1 }))
  assert.deepEqual([sum.runs, sum.seeds, sum.failed], [3, [7, 8, 9], 2])
  assert.deepEqual([sum.faults, sum.kill, sum.stop, sum.pgkill], [8, 4, 2, 2])
  assert.deepEqual([sum.refusedBatches, sum.setAside, sum.lost], [6, 4, 1])
  const lines = linesOf(sum)
  const at = lines.findIndex((line) => line.startsWith('takeOvers'))
  assert.deepEqual(
    lines.slice(at, at + 3).map((line) => Number(line.split(/\s+/).at(-1))),
    [6, 6800, 7000],
  )
})
