import assert from 'node:assert/strict'
import test from 'node:test'
import { parseJournal } from '../../src/arguments/journal-address.ts'

test('the address of a journal names its engine', () => {
  assert.equal(parseJournal('memory'), 'memory')
  assert.equal(parseJournal('sqlite:a/b.db'), 'sqlite:a/b.db')
  assert.equal(parseJournal('postgres://h/d'), 'postgres://h/d')
  for (const text of ['runs.db', 'sqlite:', 'postgres:', 'mysql://x', ''])
    assert.throws(() => parseJournal(text), /sqlite:FILE/, text)
})
