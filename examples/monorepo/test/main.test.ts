import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'

test('a release that was killed after its first upload is finished by the same command, each version uploaded once', (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-monorepo-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const main = path.join(import.meta.dirname, '../main.ts')
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=heddle-source', main],
    { cwd: folder, encoding: 'utf8' },
  )
  assert.equal(status, 0, stdout + stderr)
  assert.match(stdout, /@acme\/money +1\.0\.0 → 1\.1\.0/)
  const [, accepted = ''] = stdout.split('What the registry has accepted:\n')
  const [lines = '', tags = ''] = accepted.split('\n\n')
  const versions = ['@acme/cart@1.0.0', '@acme/mail@1.0.0', '@acme/money@1.1.0', '@acme/shop@1.0.0']
  assert.deepEqual(
    lines.split('\n').sort(),
    versions.map((version) => `${version} once`),
  )
  assert.equal(tags.trim(), `Tags: ${versions.join(' ')}`)
})
