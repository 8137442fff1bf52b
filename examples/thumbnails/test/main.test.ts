import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'

test('500 thumbnails are made in threads, with progress after each hundred, and shown on a page', (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-thumbnails-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const main = path.join(import.meta.dirname, '../main.ts')
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=heddle-source', main],
    { cwd: folder, encoding: 'utf8' },
  )
  assert.deepEqual([status, stderr], [0, ''], stdout)
  const lines = stdout.trimEnd().split('\n')
  assert.deepEqual(
    lines.slice(0, 5),
    [100, 200, 300, 400, 500].map((done) => `${done} of 500`),
  )
  assert.match(lines[5]!, /^\d+ kB in /)
  const files = readdirSync(path.join(folder, 'thumbnails'))
  assert.equal(files.filter((file) => file.endsWith('.png')).length, 500)
  const page = readFileSync(path.join(folder, 'thumbnails/index.html'), 'utf8')
  assert.equal(page.split('<img ').length - 1, 500)
})
