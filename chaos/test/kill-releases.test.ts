import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { killReleases } from '../release/kill-releases.ts'

test('a release that is killed again and again is finished by the same command', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-chaos-'))
  const { problems, kills, lost, doubled, at } = await killReleases({
    folder,
    seed: 5,
    kills: 3,
    packages: 3,
  })
  t.diagnostic(`killed at ${Object.keys(at).join(', ')}`)
  assert.deepEqual(problems, [])
  assert.deepEqual([kills, lost, doubled], [3, 0, 0])
  // Kept when something is wrong.
  rmSync(folder, { recursive: true, force: true })
})
