import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findMissingFiles, unbuiltFiles } from '../../src/stages/declared-files.ts'

const programsOf = (fields: object, ...files: string[]): readonly string[] =>
  findMissingFiles({ ...fields }, files).programs
const othersOf = (fields: object, ...files: string[]): readonly string[] =>
  findMissingFiles({ ...fields }, files).others

test('a file in `main` is found as Node finds it', () => {
  assert.deepEqual(programsOf({ main: './dist/index.js' }), ['dist/index.js ("main")'])
  assert.deepEqual(programsOf({ main: './dist/index.js' }, 'dist/index.js'), [])
  assert.deepEqual(programsOf({ main: 'lib' }, 'lib.js'), [])
  assert.deepEqual(programsOf({ main: 'lib' }, 'lib/index.js'), [])
  assert.deepEqual(programsOf({ main: 'dist/x.js' }, 'index.js'), [], 'the fallback of Node')
  assert.deepEqual(programsOf({ main: 'style.css' }), [], 'not a program')
  assert.deepEqual(programsOf({ main: '' }), [])
  assert.deepEqual(programsOf({}), [])
})

test('only files of `exports` that Node loads must be there', () => {
  const exports = {
    '.': {
      'own-source': './src/a.ts',
      types: './dist/a.d.ts',
      import: './dist/a.js',
      require: './dist/a.cjs',
    },
    './features/*': './dist/f/*.js',
    './style.css': './style.css',
    './closed': null,
  }
  assert.deepEqual(programsOf({ exports, main: 'gone.js' }), [
    'dist/a.js ("exports")',
    'dist/a.cjs ("exports")',
  ])
  assert.deepEqual(programsOf({ exports }, 'dist/a.js', 'dist/a.cjs'), [])
  assert.deepEqual(othersOf({ exports }, 'dist/a.js', 'dist/a.cjs'), ['dist/a.d.ts ("exports")'])
  assert.deepEqual(programsOf({ exports: './a.js' }), ['a.js ("exports")'])
})

test('types, programs and entries of `files` that packed nothing are named', () => {
  const manifest = { types: './a.d.ts', bin: { x: 'x.js' }, files: ['dist/', '/lib', '*.md', '!b'] }
  assert.deepEqual(othersOf(manifest, 'lib/a.js'), [
    'a.d.ts ("types")',
    'x.js ("bin")',
    'dist ("files")',
  ])
  assert.deepEqual(othersOf({ bin: 'x.js', files: ['.'] }, 'x.js'), [])
})

test('a package counts as not built where a field leads nowhere, or no entry of `files` has packed anything', () => {
  const unbuilt = (fields: object, ...files: string[]): string[] =>
    unbuiltFiles({ ...fields }, othersOf(fields, ...files))
  const files = ['dist', 'bin', 'LICENSE', 'CHANGELOG.md']
  assert.deepEqual(unbuilt({ files }), ['dist ("files")', 'bin ("files")'])
  assert.deepEqual(unbuilt({ files }, 'dist/index.js'), [], 'an entry too many')
  assert.deepEqual(unbuilt({ files: ['LICENSE'] }), [])
  assert.deepEqual(unbuilt({ files, types: 'dist/a.d.ts' }, 'dist/index.js'), [
    'dist/a.d.ts ("types")',
  ])
})
