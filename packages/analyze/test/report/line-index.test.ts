import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LineIndex } from '../../src/report/line-index.ts'

test('lines exclude their line end, whatever it is; empty lines stay', () => {
  const index = new LineIndex('\ufeffone\r\ntwo\nthree\rfour')
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5].map((n) => index.line(n)),
    ['', 'one', 'two', 'three', 'four', ''],
  )
})

test('a span may cover several lines, and end where the text ends', () => {
  const index = new LineIndex('a b\nc d\ne')
  const span = { file: 'x', line: 1, column: 3, endLine: 2, endColumn: 2 }
  assert.equal(index.slice(span), 'b\nc')
  assert.equal(index.slice({ ...span, endLine: 9, endColumn: 1 }), 'b\nc d\ne')
})
