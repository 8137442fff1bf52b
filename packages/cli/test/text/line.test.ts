import assert from 'node:assert/strict'
import test from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { fit, paint, span, spread, textOf } from '../../src/text/line.ts'
import { widthOf } from '../../src/text/terminal-text.ts'

test('a line that fits is not touched; one that does not ends with an ellipsis', () => {
  const line = [span('ab', 'red'), span('cd'), span('')]
  assert.deepEqual(fit(line, 4, '…'), line)
  assert.equal(textOf(fit(line, 3, '…')), 'ab…')
  assert.equal(textOf(fit(line, 2, '…')), 'a…')
  assert.equal(textOf(fit(line, 0, '…')), '')
})

test('after a name only whole words follow, and optional parts are dropped first, without an ellipsis', () => {
  const line = [span('build '), span('TypeError: no'), { ...span(' · 3.1 s'), optional: true }]
  assert.equal(textOf(fit(line, 40, '…')), 'build TypeError: no · 3.1 s')
  assert.equal(textOf(fit(line, 26, '…')), 'build TypeError: no')
  assert.equal(textOf(fit(line, 19, '…')), 'build TypeError: no')
  assert.equal(textOf(fit(line, 18, '…')), 'build TypeError…')
  assert.equal(textOf(fit(line, 12, '…')), 'build …')
})

test('a fitted line is never wider than the columns', () => {
  const text = fc.string({ unit: fc.constantFrom('a', ' ', '日', '🎉', 'e\u0301'), maxLength: 12 })
  fc.assert(
    fc.property(fc.array(text, { maxLength: 6 }), fc.nat(40), (pieces, columns) => {
      const line = pieces.map((piece) => span(piece))
      const fitted = fit(line, columns, '…')
      assert.ok(widthOf(textOf(fitted)) <= columns)
      if (widthOf(textOf(line)) <= columns) assert.equal(textOf(fitted), textOf(line))
      else if (columns > 0) assert.ok(textOf(fitted).endsWith('…'))
    }),
  )
})

test('two ends are spread over the columns, or the right one is left out', () => {
  assert.equal(textOf(spread([span('a')], [span('b')], 5)), 'a   b')
  assert.equal(textOf(spread([span('abcd')], [span('b')], 6)), 'abcd')
})

test('painting adds nothing but colours, and nothing at all without them', () => {
  const line = [span('a', ['red', 'bold']), span('b')]
  assert.equal(paint(line, false), 'ab')
  assert.notEqual(paint(line, true), 'ab')
  assert.equal(stripVTControlCharacters(paint(line, true)), 'ab')
})
