import assert from 'node:assert/strict'
import { rmSync, utimesSync } from 'node:fs'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { systemKernel } from '@heddle/core/lowlevel'
import { readProgram, SourceCache, type ReadProgram } from '../../src/frontend/read-program.ts'
import { SourceTexts } from '../../src/frontend/source-text.ts'
import { tempFolder, writeFiles, type Files } from '../support/temp-folder.ts'

const { clock } = systemKernel

function reading(
  t: TestContext,
  files: Files,
): { readonly root: string; readonly read: (cache?: SourceCache) => Promise<ReadProgram> } {
  const root = tempFolder(t, files)
  const paths = Object.keys(files).map((name) => path.join(root, name))
  return {
    root,
    read: (cache) => readProgram({ root, files: paths, texts: new SourceTexts(), cache, clock }),
  }
}

test('nothing of the rest is lost when files cannot be read', async (t) => {
  const { root, read } = reading(t, {
    'a.ts': 'export const a = 1',
    'broken.ts': 'const a = 1\nconst {',
    'deleted.ts': '',
    'deep.ts': '[\n'.repeat(100_000),
    'invalid.ts': Uint8Array.of(0x22, 0xff, 0x22),
    'minified.js': 'a=>b;'.repeat(20_000),
    'nul.ts': 'a\0b',
    'z.ts': 'export const z = 1',
  })
  rmSync(path.join(root, 'deleted.ts'))
  const { parsed, diagnostics } = await read()
  assert.deepEqual(
    parsed.filter(({ errors }) => errors.length === 0).map(({ file }) => path.basename(file)),
    ['a.ts', 'invalid.ts', 'z.ts'],
  )
  assert.deepEqual(
    diagnostics.map(({ kind, file, line, isIncomplete }) => ({ kind, file, line, isIncomplete })),
    [
      { kind: 'parse-error', file: 'broken.ts', line: 2, isIncomplete: true },
      { kind: 'parse-error', file: 'deep.ts', line: 1, isIncomplete: true },
      { kind: 'unreadable', file: 'deleted.ts', line: undefined, isIncomplete: true },
      { kind: 'unreadable', file: 'invalid.ts', line: undefined, isIncomplete: false },
      { kind: 'unreadable', file: 'minified.js', line: undefined, isIncomplete: false },
      { kind: 'unreadable', file: 'nul.ts', line: undefined, isIncomplete: true },
    ],
  )
})

test('with a cache only changed files are parsed again', async (t) => {
  const { root, read } = reading(t, { 'a.ts': 'let a', 'b.ts': 'let b', 'c.ts': 'let c' })
  const cache = new SourceCache()
  const first = await read(cache)
  writeFiles(root, { 'b.ts': 'let changed' })
  rmSync(path.join(root, 'c.ts'))
  const second = await read(cache)
  assert.equal(second.parsed.length, 2)
  assert.equal(second.parsed[0], first.parsed[0])
  assert.equal(second.parsed[1]?.text, 'let changed')
  assert.equal(second.diagnostics[0]?.file, 'c.ts')
})

test('a file of the same size and a new time is read again', async (t) => {
  const { root, read } = reading(t, { 'a.ts': 'let a' })
  const cache = new SourceCache()
  await read(cache)
  writeFiles(root, { 'a.ts': 'let b' })
  utimesSync(path.join(root, 'a.ts'), 1, 1)
  assert.equal((await read(cache)).parsed[0]?.text, 'let b')
})

test('a file that was touched, or changed and changed back, keeps its tree', async (t) => {
  const { root, read } = reading(t, { 'a.ts': 'let a', 'b.ts': '\uFEFFlet {' })
  const cache = new SourceCache()
  const first = await read(cache)
  writeFiles(root, { 'a.ts': 'let other', 'b.ts': 'let other' })
  writeFiles(root, { 'a.ts': 'let a', 'b.ts': '\uFEFFlet {' })
  for (const name of ['a.ts', 'b.ts']) utimesSync(path.join(root, name), 1, 1)
  const second = await read(cache)
  assert.equal(second.parsed[0], first.parsed[0])
  assert.equal(second.parsed[1], first.parsed[1])
  assert.deepEqual(second.diagnostics, first.diagnostics)
  assert.equal(second.diagnostics[0]?.kind, 'parse-error')
})

test('text that is newer than the disk is used, and kept while it is the same', async (t) => {
  const root = tempFolder(t, { 'a.ts': 'let a' })
  const file = path.join(root, 'a.ts')
  const cache = new SourceCache()
  const read = (text: string): Promise<ReadProgram> =>
    readProgram({
      root,
      files: [file],
      texts: new SourceTexts(new Map([[file, text]])),
      cache,
      clock,
    })
  const first = await read('let newer')
  assert.equal(first.parsed[0]?.text, 'let newer')
  assert.equal((await read('let newer')).parsed[0], first.parsed[0])
  assert.equal((await read('let newest')).parsed[0]?.text, 'let newest')
})

test('an aborted read ends between files', async (t) => {
  const { root } = reading(t, { 'a.ts': '' })
  const signal = AbortSignal.abort(new Error('enough'))
  const files = [path.join(root, 'a.ts')]
  await assert.rejects(readProgram({ root, files, texts: new SourceTexts(), signal, clock }), {
    message: 'enough',
  })
})
