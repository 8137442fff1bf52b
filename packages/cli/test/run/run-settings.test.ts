import assert from 'node:assert/strict'
import test from 'node:test'
import { titleOf } from '../../src/run/run-settings.ts'

test('a title is the same however the file was typed', () => {
  const titles = ['a/b.ts', './a/b.ts', '/w/a/b.ts', 'x/../a/b.ts'].map((file) =>
    titleOf(file, '/w'),
  )
  assert.deepEqual(new Set(titles), new Set(['a/b.ts']))
  assert.equal(titleOf('../b.ts', '/w'), '/b.ts')
})
