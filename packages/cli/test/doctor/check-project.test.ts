import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import {
  checkClock,
  checkFolder,
  checkLimits,
  checkModuleType,
  checkTypescript,
  limitOfOpenFiles,
} from '../../src/doctor/check-project.ts'

const folder = path.resolve('/srv/app/src')

test('the nearest package.json says which kind of modules there are', async () => {
  const files = new Map([[path.resolve('/srv/app/package.json'), '{ "type": "module" }']])
  const read = (file: string): Promise<string | undefined> => Promise.resolve(files.get(file))
  assert.match((await checkModuleType(folder, read)).found, /^ES modules/)
  files.set(path.join(folder, 'package.json'), '{}')
  const common = await checkModuleType(folder, read)
  assert.deepEqual([common.ok, common.found.startsWith('CommonJS')], [true, true])
  files.set(path.join(folder, 'package.json'), '{ "type": ')
  assert.equal((await checkModuleType(folder, read)).ok, false)
  files.clear()
  assert.match((await checkModuleType(folder, read)).found, /^no package\.json/)
})

test('TypeScript 5.9 and newer are accepted, older ones are named with the version to install', () => {
  const with_ = (version: string | undefined): boolean => checkTypescript(folder, () => version).ok
  assert.deepEqual(['5.9.0', '6.0.3', '7.0.2', '5.8.3', '4.9.5', undefined].map(with_), [
    true,
    true,
    true,
    false,
    false,
    true,
  ])
  assert.match(checkTypescript(folder, () => '5.8.3').help!, /5\.9/)
})

test('a folder that can be written is fine, one that is not there is named', async (t) => {
  const here = mkdtempSync(path.join(os.tmpdir(), 'heddle-doctor-'))
  t.after(() => rmSync(here, { recursive: true, force: true }))
  assert.equal((await checkFolder(here)).ok, true)
  mkdirSync(path.join(here, '.heddle'))
  assert.match((await checkFolder(here)).found, /\.heddle can be written/)
  assert.equal((await checkFolder(path.join(here, 'missing'))).ok, false)
})

test('a clock that was never set is found', () => {
  assert.equal(checkClock(Date.UTC(2026, 0, 1)).ok, true)
  const { ok, help } = checkClock(0)
  assert.deepEqual([ok, /NTP/.test(help!)], [false, true])
})

test('too few open files are reported with how to raise the limit', () => {
  assert.equal(checkLimits(256, 2 ** 30).ok, false)
  assert.match(checkLimits(256, 2 ** 30).help!, /ulimit -n/)
  assert.deepEqual(checkLimits(undefined, 2 ** 30), {
    name: 'limits',
    ok: true,
    found: 'any number of open files, 1024 MiB of memory free',
  })
  const files = limitOfOpenFiles()
  assert.ok(files === undefined || files > 0)
})
