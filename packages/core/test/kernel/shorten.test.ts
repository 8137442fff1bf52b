import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shorten } from '../../src/kernel/shorten.ts'

test('a short text is unchanged; a longer one has an ellipsis and is never longer than allowed', () => {
  assert.equal(shorten('page 40', 7), 'page 40')
  assert.equal(shorten('page 400', 7), 'page 4…')
  assert.equal(shorten('x'.repeat(5_000), 1_000), `${'x'.repeat(999)}…`)
})

test('it is cut between two characters as people see them', () => {
  assert.equal(shorten('0123456789👍🏽cd', 14), '0123456789…')
  assert.equal(shorten('0123456789👨‍👩‍👧‍👦cd', 17), '0123456789…')
  assert.equal(shorten('0123456789e\u0301f', 12), '0123456789…')
  assert.equal(shorten('🙂🙂🙂', 4), '🙂…')
})

test('one character that is longer than half of the text is cut at a code point', () => {
  const stacked = `a${'\u0301'.repeat(5_000)}`
  assert.equal(shorten(stacked, 1_000), `${stacked.slice(0, 999)}…`)
  const pairs = `👨${'\u200D👨'.repeat(2_000)}`
  assert.ok(shorten(pairs, 1_000).isWellFormed())
})
