import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { crashRuns } from '../crash/crash-runs.ts'
import { isNotThereYet, readJournal } from '../crash/evidence.ts'

test('S83: a run that is killed again and again ends with one success for each node', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-chaos-'))
  const lives: string[] = []
  const report = await crashRuns({
    folder,
    // Six different moments: opening, durable, on its way, before an append, from outside, acknowledged.
    seed: 154,
    kills: 6,
    nodes: 60,
    streams: 1,
    onLife: ({ end }, how) => lives.push(`${end}: ${how}`),
  })
  t.diagnostic(lives.join('; '))
  const { problems, ...counts } = report
  assert.deepEqual(problems, [])
  assert.ok(counts.kills >= 6)
  assert.equal(counts.nodes, counts.runs * 60)
  assert.equal(counts.successes, counts.nodes)
  assert.deepEqual([counts.startedAgain, counts.lost], [0, 0])
  assert.equal(counts.effects, counts.nodes + counts.repeated)
  // Kept when something is wrong, as evidence.
  rmSync(folder, { recursive: true, force: true })
})

test('a kill may come before there is a journal, or before anything is in it', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-chaos-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = path.join(folder, 'runs.db')
  const look = (): Promise<unknown> => readJournal(file, () => [])
  await assert.rejects(look(), isNotThereYet)
  writeFileSync(file, '')
  await assert.rejects(look(), isNotThereYet)
})
