import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rangeOf, uriOf } from '../../src/lsp/diagnostics.ts'

test('editors count from 0', () => {
  const span = { file: 'a.ts', line: 3, column: 5, endLine: 4, endColumn: 1 }
  assert.deepEqual(rangeOf(span), {
    start: { line: 2, character: 4 },
    end: { line: 3, character: 0 },
  })
})

test('a path with spaces becomes a URI', () => {
  assert.equal(uriOf('/my code', 'src/a b.ts'), 'file:///my%20code/src/a%20b.ts')
})
