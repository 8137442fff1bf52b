import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSourceFile, isTypeScript } from '../../src/frontend/language.ts'

test('sources, declarations and other files are distinguished by their names', () => {
  for (const name of [
    'a.ts',
    'a.tsx',
    'a.mts',
    'a.cts',
    'a.js',
    'a.jsx',
    'a.mjs',
    'a.cjs',
    'd.ts',
  ]) {
    assert.ok(isSourceFile(`/x/${name}`), name)
  }
  for (const name of ['a.d.ts', 'a.d.mts', 'a.d.cts', 'a.d.css.ts', 'a.json', 'ts', 'a.tsc']) {
    assert.ok(!isSourceFile(`/x/${name}`), name)
  }
  assert.ok(isTypeScript('a.cts') && !isTypeScript('a.cjs'))
})
