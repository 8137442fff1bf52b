import assert from 'node:assert/strict'
import { chmodSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { maximumBytes, readSource } from '../../src/frontend/source-text.ts'
import { tempFolder } from '../support/temp-folder.ts'

test('text is read in the encodings that compilers read', (t) => {
  const utf16be = Buffer.from('\uFEFFlet é', 'utf16le').swap16()
  const folder = tempFolder(t, {
    'utf8.ts': 'let é',
    'mark.ts': '\uFEFFlet é',
    'le.ts': Buffer.from('\uFEFFlet é', 'utf16le'),
    'be.ts': utf16be,
    'empty.ts': '',
  })
  const read = (name: string): unknown => readSource(path.join(folder, name))
  assert.deepEqual(read('utf8.ts'), { text: 'let é' })
  assert.deepEqual(read('mark.ts'), { text: '\uFEFFlet é' })
  assert.deepEqual(read('le.ts'), { text: '\uFEFFlet é' })
  assert.deepEqual(read('be.ts'), { text: 'let é' })
  assert.deepEqual(read('empty.ts'), { text: '' })
})

test('invalid UTF-8 is read with replacements, and that is reported', (t) => {
  const folder = tempFolder(t, { 'a.ts': Uint8Array.of(0x61, 0xff, 0x62) })
  const source = readSource(path.join(folder, 'a.ts'))
  assert.ok('text' in source)
  assert.equal(source.text, 'a\uFFFDb')
  assert.match(source.warning ?? '', /not valid UTF-8/)
})

test('binary, too large and generated files are left out with the reason', (t) => {
  const folder = tempFolder(t, {
    'video.ts': Uint8Array.of(0x47, 0x40, 0, 0x10),
    'large.ts': Buffer.alloc(maximumBytes + 1, 'a\n'),
    'bundle.js': 'function a(b){return b+1};'.repeat(400_000),
  })
  const reasonOf = (name: string): string | undefined => {
    const source = readSource(path.join(folder, name))
    return 'reason' in source ? source.reason : undefined
  }
  assert.equal(reasonOf('video.ts'), 'unreadable')
  assert.equal(reasonOf('large.ts'), 'too-large')
  assert.equal(reasonOf('bundle.js'), 'generated')
})

test('a minified file below the limit is left out as such; a long table is not', (t) => {
  const folder = tempFolder(t, {
    'app.min.js': 'function a(b){return b+1};'.repeat(10_000),
    'table.ts': `export const table = [\n${'  [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],\n'.repeat(5_000)}]\n`,
  })
  const bundle = readSource(path.join(folder, 'app.min.js'))
  assert.ok('reason' in bundle && bundle.reason === 'generated')
  assert.ok('text' in readSource(path.join(folder, 'table.ts')))
})

test('a file that is gone, became a folder or may not be read costs a message', (t) => {
  const folder = tempFolder(t, { 'secret.ts': 'let a' })
  mkdirSync(path.join(folder, 'folder.ts'))
  chmodSync(path.join(folder, 'secret.ts'), 0)
  const names = ['gone.ts', 'folder.ts']
  // Nothing is unreadable for the superuser.
  if (process.getuid?.() !== 0) names.push('secret.ts')
  for (const name of names) {
    const source = readSource(path.join(folder, name))
    assert.ok('reason' in source && source.reason === 'unreadable', name)
  }
})
