import assert from 'node:assert/strict'
import { chmodSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { discover } from '../../src/frontend/discover.ts'
import { tempFolder, type Files } from '../support/temp-folder.ts'

function found(root: string, paths: readonly string[], exclude: readonly string[] = []): string[] {
  return discover(paths, { root, exclude }).files.map((file) => path.relative(root, file))
}

function sample(t: TestContext, files: Files = {}): string {
  return tempFolder(t, {
    'src/a.ts': '',
    'src/deep/b.tsx': '',
    'src/deep/types.d.ts': '',
    'src/readme.md': '',
    'scripts/c.mjs': '',
    'node_modules/x/index.js': '',
    'dist/a.js': '',
    ...files,
  })
}

test('a folder gives its sources, without declarations, packages and output', (t) => {
  const root = sample(t)
  assert.deepEqual(found(root, ['.']), ['scripts/c.mjs', 'src/a.ts', 'src/deep/b.tsx'])
  assert.deepEqual(found(root, ['src', 'src/a.ts']), ['src/a.ts', 'src/deep/b.tsx'])
})

test('a file that is named is taken, whatever would leave it out', (t) => {
  const root = sample(t, { '.gitignore': '*.ts' })
  assert.deepEqual(found(root, ['dist/a.js', 'src/a.ts', 'src/deep/types.d.ts']), [
    'dist/a.js',
    'src/a.ts',
    'src/deep/types.d.ts',
  ])
})

test('globs select among the files of a folder', (t) => {
  const root = sample(t)
  assert.deepEqual(found(root, ['**/*.tsx']), ['src/deep/b.tsx'])
  assert.deepEqual(found(root, ['src/*.{ts,js}']), ['src/a.ts'])
  assert.deepEqual(found(root, ['.'], ['src/deep/**', 'scripts/**']), ['src/a.ts'])
})

test('files that git ignores are left out, also by patterns above the folder', (t) => {
  const root = sample(t, {
    '.git/HEAD': '',
    '.gitignore': 'generated/\n',
    'src/generated/d.ts': '',
    'src/deep/.gitignore': 'b.tsx',
  })
  assert.deepEqual(found(root, ['src']), ['src/a.ts'])
  const everything = discover(['src'], { root, withIgnored: true }).files
  assert.equal(everything.length, 3)
})

test('nothing at a path, or for a glob, is an error that names it', (t) => {
  const root = sample(t)
  for (const wanted of ['nowhere', 'src/*.vue', 'nowhere/*.ts']) {
    assert.throws(() => discover([wanted], { root }), { code: 'HDL_NO_SUCH_SOURCE' })
  }
})

test('links are followed once: loops end and no file is there twice', (t) => {
  const root = sample(t)
  symlinkSync('..', path.join(root, 'src/deep/up'))
  symlinkSync('a.ts', path.join(root, 'src/same.ts'))
  symlinkSync('nowhere.ts', path.join(root, 'src/broken.ts'))
  symlinkSync('self.ts', path.join(root, 'src/self.ts'))
  assert.deepEqual(found(root, ['src']), ['src/a.ts', 'src/deep/b.tsx'])
})

test('a folder may be called x.ts', (t) => {
  const root = tempFolder(t, { 'x.ts/y.ts': '' })
  assert.deepEqual(found(root, ['.']), ['x.ts/y.ts'])
})

test('a folder that may not be read is reported, and the rest is found', (t) => {
  if (process.getuid?.() === 0) return t.skip('nothing is unreadable for the superuser')
  const root = sample(t)
  chmodSync(path.join(root, 'src/deep'), 0)
  t.after(() => chmodSync(path.join(root, 'src/deep'), 0o755))
  const { files, diagnostics } = discover(['src'], { root })
  assert.equal(files.length, 1)
  assert.equal(diagnostics[0]?.file, 'src/deep')
  assert.ok(diagnostics[0].isIncomplete)
})

test('an aborted search ends', (t) => {
  const root = sample(t)
  const signal = AbortSignal.abort(new Error('enough'))
  assert.throws(() => discover(['.'], { root, signal }), { message: 'enough' })
})
