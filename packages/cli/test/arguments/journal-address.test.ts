import assert from 'node:assert/strict'
import test from 'node:test'
import { parseJournal, parseStored } from '../../src/arguments/journal-address.ts'

test('the address of a journal names its engine', () => {
  assert.equal(parseJournal('memory'), 'memory')
  assert.equal(parseJournal('sqlite:a/b.db'), 'sqlite:a/b.db')
  assert.equal(parseJournal('postgres://h/d'), 'postgres://h/d')
  for (const text of ['runs.db', 'sqlite:', 'postgres:', 'mysql://x', ''])
    assert.throws(() => parseJournal(text), /sqlite:FILE/, text)
})

test('a journal in memory cannot be read from the command line, and the message says so', () => {
  assert.equal(parseStored('sqlite:a/b.db'), 'sqlite:a/b.db')
  assert.throws(() => parseStored('memory'), /its own process only. Expected sqlite:FILE/)
  assert.throws(() => parseStored('runs.db'), /sqlite:FILE/)
})
