import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportTargets, matchStar } from '../../../src/frontend/resolve/exports.ts'

const conditions = new Set(['heddle-source', 'import', 'node'])

test('the first condition that is met wins, at every level', () => {
  const exports = {
    '.': { types: './t.d.ts', node: { require: './a.cjs', import: './a.mjs' }, default: './b.js' },
    './sub': { 'heddle-source': './src/sub.ts', default: './dist/sub.js' },
  }
  assert.deepEqual(exportTargets(exports, '.', conditions), ['./a.mjs'])
  assert.deepEqual(exportTargets(exports, './sub', conditions), ['./src/sub.ts'])
  assert.deepEqual(exportTargets(exports, './other', conditions), [])
})

test('a branch without a target falls through to the next', () => {
  const exports = { node: { require: './a.cjs' }, default: './b.js' }
  assert.deepEqual(exportTargets(exports, '.', conditions), ['./b.js'])
})

test('patterns: the most exact one is taken, and null forbids', () => {
  const exports = { './*': './src/*.js', './internal/*': null, './deep/*.js': './src/deep/*.ts' }
  assert.deepEqual(exportTargets(exports, './a/b', conditions), ['./src/a/b.js'])
  assert.deepEqual(exportTargets(exports, './internal/x', conditions), [])
  assert.deepEqual(exportTargets(exports, './deep/x.js', conditions), ['./src/deep/x.ts'])
})

test('a plain string is the main entry and nothing else; a list is tried in order', () => {
  assert.deepEqual(exportTargets('./a.js', '.', conditions), ['./a.js'])
  assert.deepEqual(exportTargets('./a.js', './b', conditions), [])
  assert.deepEqual(exportTargets(['./a.js', './b.js'], '.', conditions), ['./a.js', './b.js'])
})

test('a star stands for the text between its ends, which do not overlap', () => {
  assert.equal(matchStar('a*a', 'aba'), 'b')
  assert.equal(matchStar('a*a', 'a'), undefined)
  assert.equal(matchStar('a', 'a'), undefined)
})
