import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'

test('a result that was promised with 202 is there after kill -9, and the same question is computed once', (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-service-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const main = path.join(import.meta.dirname, '../main.ts')
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=heddle-source', main],
    { cwd: folder, encoding: 'utf8' },
  )
  assert.equal(status, 0, stdout + stderr)
  const lines = new Map(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => [line.slice(0, 8).trim(), line.slice(9)]),
  )
  assert.match(lines.get('words')!, /^\[\["the",3\],\["and",2\]/)
  assert.equal(lines.get('shared'), '20 answers, 1 computation')
  assert.match(lines.get('refused')!, /^404 unknown_job: .*Did you mean "words"/)
  assert.match(lines.get('submit')!, /^202/)
  assert.equal(lines.get('result'), 'the report of July')
  assert.equal(lines.get('stopped'), 'exit code 0')
})
