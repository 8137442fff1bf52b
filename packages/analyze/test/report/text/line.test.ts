import assert from 'node:assert/strict'
import { test } from 'node:test'
import { labelled, span, wrap } from '../../../src/report/text/line.ts'
import { plainMeasure, plainText, textOf } from '../../support/report.ts'

test('words are kept whole, line breaks are kept, a long word has its own line', () => {
  assert.deepEqual(wrap('one two three\nfour', 8, plainMeasure), ['one two', 'three', 'four'])
  assert.deepEqual(wrap('a incomprehensible b', 5, plainMeasure), ['a', 'incomprehensible', 'b'])
  assert.deepEqual(wrap('', 5, plainMeasure), [''])
})

test('wrapped text is aligned with the text, not with the label', () => {
  const lines = labelled(span('note: '), 'a long sentence that is wrapped', {
    ...plainText,
    columns: 26,
  })
  assert.equal(textOf(lines), 'note: a long sentence that\n      is wrapped')
})
