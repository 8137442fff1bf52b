import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandLine, quoteWord } from '../../src/journal/command-line.ts'

test('words are quoted for a shell only where they need it', () => {
  assert.deepEqual(['a-b_c/d.ts', 'a b', '', '$x', '日本'].map(quoteWord), [
    'a-b_c/d.ts',
    "'a b'",
    "''",
    "'$x'",
    "'日本'",
  ])
})

test('a command line can be typed again, and has no passwords', () => {
  const argv = [
    'node',
    'heddle',
    'run',
    'my flow.ts',
    '-j',
    'postgres://me:secret@db/runs',
    '--',
    'a b',
  ]
  assert.equal(commandLine(argv), "heddle run 'my flow.ts' -j postgres://me@db/runs -- 'a b'")
  assert.equal(commandLine(['node']), 'node')
})
