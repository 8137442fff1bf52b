import assert from 'node:assert/strict'
import test from 'node:test'
import { parseCount, parseJournal, titleOf } from '../../src/run/settings.ts'

test('counts', () => {
  assert.equal(parseCount(1)('8'), 8)
  assert.equal(parseCount(0)('0'), 0)
  assert.equal(parseCount(1)('Infinity'), Infinity)
  for (const text of ['0', '-1', '1.5', 'x', '', ' ', 'NaN'])
    assert.throws(() => parseCount(1)(text), /whole number/, text)
})

test('journals', () => {
  assert.equal(parseJournal('memory'), 'memory')
  assert.equal(parseJournal('sqlite:a/b.db'), 'sqlite:a/b.db')
  assert.equal(parseJournal('postgres://h/d'), 'postgres://h/d')
  for (const text of ['runs.db', 'sqlite:', 'postgres:', 'mysql://x', ''])
    assert.throws(() => parseJournal(text), /sqlite:FILE/, text)
})

test('a title is the same however the file was typed', () => {
  const titles = ['a/b.ts', './a/b.ts', '/w/a/b.ts', 'x/../a/b.ts'].map((file) =>
    titleOf(file, '/w'),
  )
  assert.deepEqual(new Set(titles), new Set(['a/b.ts']))
  assert.equal(titleOf('../b.ts', '/w'), '/b.ts')
})
