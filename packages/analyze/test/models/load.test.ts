import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { loadCatalogue } from '../../src/models/load.ts'

let folder = ''
before(async () => (folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-models-'))))
after(() => rm(folder, { recursive: true, force: true }))

test('our own models are right and know the catalogue of the specification', async () => {
  const catalogue = await loadCatalogue()
  const kind = (module: string, name: string, type?: string): string | undefined =>
    catalogue.blocking({ module, name, type })?.kind
  assert.equal(kind('node:fs', 'existsSync'), 'sync-io')
  assert.equal(kind('node:child_process', 'execSync'), 'sync-process')
  for (const name of [
    'pbkdf2Sync',
    'scryptSync',
    'generateKeyPairSync',
    'hkdfSync',
    'checkPrimeSync',
  ]) {
    assert.equal(kind('node:crypto', name), 'sync-crypto')
  }
  assert.equal(kind('node:crypto', 'update', 'Hash'), 'hash')
  assert.equal(kind('bcryptjs', 'hash'), 'js-crypto')
  assert.equal(kind('node:zlib', 'gunzipSync'), 'sync-compression')
  assert.equal(kind('global', 'wait', 'Atomics'), 'blocking-wait')
  for (const name of ['atomic-sleep', 'sync-fetch', 'deasync']) {
    assert.equal(kind(name, 'default'), 'blocking-wait')
  }
  assert.equal(kind('node:sqlite', 'exec', 'DatabaseSync'), 'sync-database')
  assert.equal(kind('better-sqlite3', 'all', 'Statement'), 'sync-database')
  assert.equal(kind('global', 'parse', 'JSON'), 'parse')
  assert.equal(kind('global', 'structuredClone'), 'serialise')
  assert.equal(kind('node:v8', 'serialize'), 'serialise')
  assert.equal(kind('language', 'sort', 'Array'), 'sort')
  assert.equal(kind('global', 'concat', 'Buffer'), 'concat')
  assert.equal(kind('global', 'max', 'Math'), 'spread')
  assert.equal(kind('pug', 'compile'), 'template-compile')
  assert.equal(kind('react-dom/server', 'renderToString'), 'render')
  for (const name of ['yaml', 'xml2js', 'csv-parse/sync']) {
    assert.ok(catalogue.hasModule(name), name)
  }
  assert.equal(kind('jimp', 'resize', 'Jimp'), 'media')
  assert.equal(kind('global', 'require'), 'code-load')
  assert.equal(kind('global', 'log', 'console'), 'console')
})

test('where work goes has a tag', async () => {
  const catalogue = await loadCatalogue()
  const tag = (module: string, name: string, type?: string): string | undefined =>
    catalogue.offload({ module, name, type })?.tag
  assert.equal(tag('node:fs/promises', 'readFile'), 'THREAD:uv')
  assert.equal(tag('node:dns', 'lookup'), 'THREAD:uv')
  assert.equal(tag('node:fs', 'createReadStream'), 'STREAM/THREAD')
  assert.equal(tag('node:child_process', 'spawn'), 'PROC')
  assert.equal(tag('node:worker_threads', 'Worker'), 'THREAD')
  assert.equal(tag('piscina', 'run', 'Piscina'), 'THREAD')
  assert.equal(tag('bullmq', 'add', 'Queue'), 'REMOTE')
})

test('files of a user come before ours, the last one first', async () => {
  const write = async (name: string, kind: string): Promise<string> => {
    const file = path.join(folder, name)
    const entry = {
      module: 'node:fs',
      names: ['existsSync'],
      kind,
      tag: 'LOOP',
      cost: 'disk',
      alternative: 'x',
    }
    await writeFile(file, JSON.stringify({ version: 1, about: 'ours', entries: [entry] }))
    return file
  }
  const files = [await write('a.json', 'media'), await write('b.json', 'render')]
  const catalogue = await loadCatalogue(files)
  assert.equal(catalogue.blocking({ module: 'node:fs', name: 'existsSync' })?.kind, 'render')
  assert.equal(catalogue.blocking({ module: 'node:fs', name: 'statSync' })?.kind, 'sync-io')
})

test('a file that is not there is named', async () => {
  await assert.rejects(loadCatalogue([path.join(folder, 'none.json')]), {
    code: 'HDL_MODEL_UNREADABLE',
    message: /none\.json cannot be read/,
  })
})
