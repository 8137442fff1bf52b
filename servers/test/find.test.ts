import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { findProgram } from '../src/find.ts'

test('programs are searched where HEDDLE_SERVERS points', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-find-'))
  const before = process.env['HEDDLE_SERVERS']
  process.env['HEDDLE_SERVERS'] = folder
  try {
    assert.equal(findProgram('postgres'), undefined)
  } finally {
    if (before === undefined) delete process.env['HEDDLE_SERVERS']
    else process.env['HEDDLE_SERVERS'] = before
    rmSync(folder, { recursive: true })
  }
})
