import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { scenarios } from '../scenarios/scenarios.ts'

for (const { name, play } of scenarios) {
  test(name, async (t) => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-chaos-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const skipped = await play(folder)
    if (skipped !== undefined) t.skip(skipped)
  })
}
