import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'

test('an order that was killed while it waited ships after its approval, and reserves once', (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-approval-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const main = path.join(import.meta.dirname, '../main.ts')
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=heddle-source', main],
    { cwd: folder, encoding: 'utf8' },
  )
  assert.deepEqual([status, stderr], [0, ''], stdout)
  const [killed, sent, resumed] = stdout.split('$ npx heddle ').slice(1) as [string, string, string]
  assert.match(killed, /log +order 7: order 7 waits for an approval/)
  assert.doesNotMatch(killed, /done +order 7/)
  assert.match(sent, /it is delivered when the run is resumed/)
  assert.match(resumed, /log +order 7: approved by Ada/)
  assert.match(resumed, /done +order 7/)
  const effects = readFileSync(path.join(folder, 'effects.txt'), 'utf8').trimEnd().split('\n')
  assert.deepEqual(
    effects.map((line) => line.replace(/ \S+$/, '')),
    ['reserve 7', 'ship from shelf 7'],
  )
})
