import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import type { WorkspacePackage } from '../../src/model.ts'
import { finishScripts, noteScripts, removeNote } from '../../src/pack/unfinished-scripts.ts'

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
