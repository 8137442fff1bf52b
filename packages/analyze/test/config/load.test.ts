import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { isError } from '@heddle/core'
import { loadConfig } from '../../src/config/load.ts'

async function project(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-config-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  for (const [file, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true })
    await writeFile(path.join(folder, file), text)
  }
  return folder
}

test('the nearest file above is taken, and its paths start from its folder', async (t) => {
  const folder = await project(t, {
    'heddle-analyze.json': '{ "level": "error" }',
    'inner/heddle-analyze.json': '{ "level": "note" }',
    'inner/deep/er/x.ts': '',
    'outer/x.ts': '',
  })
  const inner = await loadConfig(path.join(folder, 'inner/deep/er'))
  assert.deepEqual(inner, {
    file: path.join(folder, 'inner/heddle-analyze.json'),
    folder: path.join(folder, 'inner'),
    config: { level: 'note' },
  })
  assert.deepEqual((await loadConfig(path.join(folder, 'outer'))).config, { level: 'error' })
})

test('without one everything is default', async (t) => {
  const folder = await project(t, {})
  assert.deepEqual(await loadConfig(folder), { file: undefined, folder, config: {} })
})

test('a named file must exist; a file with an unknown setting is reported with place and suggestion', async (t) => {
  const folder = await project(t, { 'odd.json': '{ "exlude": [] }' })
  await assert.rejects(loadConfig(folder, 'missing.json'), (error) => {
    assert.ok(isError(error, 'HDL_ANALYZE_CONFIG'))
    assert.match(error.message, /missing\.json does not exist/)
    return true
  })
  await assert.rejects(loadConfig(folder, 'odd.json'), (error) => {
    assert.ok(isError(error, 'HDL_ANALYZE_CONFIG'))
    assert.match(error.message, /odd\.json has an unknown key "exlude"\. Did you mean "exclude"\?/)
    return true
  })
  await assert.rejects(loadConfig(folder, '.'), /cannot be read/)
})
