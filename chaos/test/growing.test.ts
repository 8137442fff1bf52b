import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { killGrowingRuns } from '../growing/campaign.ts'
import { playManySteps } from '../growing/many-steps.ts'

test('G3, G9: a growing run that is killed again and again finishes; nothing finished runs again, signals arrive once', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-growing-'))
  const report = await killGrowingRuns({
    folder,
    seed: 5,
    kills: 4,
    journal: async (name) => `sqlite:${path.join(folder, `${name}.db`)}`,
  })
  assert.deepEqual(report.problems, [])
  assert.ok(report.kills >= 4)
  assert.deepEqual([report.startedAgain, report.lost], [0, 0])
  assert.equal(report.signals, 6 * report.runs)
  // Kept when something is wrong, as evidence.
  rmSync(folder, { recursive: true, force: true })
})

test('G3: a job with 30,000 steps is cut off and resumed: no recorded step runs again', async (t) => {
  const report = await playManySteps(30_000)
  t.diagnostic(JSON.stringify(report))
  assert.equal(report.ok, true)
})
