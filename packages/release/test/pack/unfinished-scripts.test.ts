import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import type { WorkspacePackage } from '../../src/model.ts'
import { finishScripts, noteScripts, removeNote } from '../../src/pack/unfinished-scripts.ts'
import { Monorepo } from '../support/monorepo.ts'

test('postpack of a killed process is run by the next one, once', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-scripts-'))
  try {
    const notes = path.join(folder, 'notes')
    const of: WorkspacePackage = {
      name: '@a/b',
      version: '1.0.0',
      ecosystem: 'npm',
      folder,
      manifestFile: path.join(folder, 'package.json'),
      manifest: { scripts: { postpack: 'rm extra.txt && echo x >> ran.txt' } },
      isPrivate: false,
      dependencies: [],
    }
    assert.deepEqual(await finishScripts(notes, {}), [])
    await noteScripts(notes, of)
    writeFileSync(path.join(folder, 'extra.txt'), '')
    assert.deepEqual(await finishScripts(notes, {}), [folder])
    assert.ok(!existsSync(path.join(folder, 'extra.txt')))
    assert.deepEqual(await finishScripts(notes, {}), [])
    await noteScripts(notes, of)
    await removeNote(notes, of)
    assert.deepEqual(await finishScripts(notes, {}), [])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('postpack that fails after a kill is reported, and run again until it has taken everything back', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  const folder = path.join(repo.root, 'packages/a')
  const notes = path.join(repo.root, '.git/heddle/scripts')
  const of: WorkspacePackage = {
    name: 'a',
    version: '1.0.0',
    ecosystem: 'npm',
    folder,
    manifestFile: path.join(folder, 'package.json'),
    manifest: { scripts: { postpack: 'test -e ../../.git/works && rm extra.txt' } },
    isPrivate: false,
    dependencies: [],
  }
  await noteScripts(notes, of)
  repo.write('packages/a/extra.txt', 'of prepack')
  for (let times = 0; times < 2; times++) {
    await assert.rejects(
      finishScripts(notes, {}),
      (error) =>
        isError(error, 'HDL_SCRIPT_UNFINISHED') && /postpack.*exit code 1/.test(error.message),
    )
  }
  repo.write('.git/works', '')
  assert.deepEqual(await finishScripts(notes, {}), [folder])
  assert.equal(repo.status, '')
  // Nothing was changed, so nothing is left to take back, although the script fails.
  await noteScripts(notes, of)
  assert.deepEqual(await finishScripts(notes, {}), [folder])
  assert.deepEqual(await finishScripts(notes, {}), [])
})
