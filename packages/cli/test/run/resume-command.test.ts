import assert from 'node:assert/strict'
import test from 'node:test'
import { quote, resumeCommand } from '../../src/run/resume-command.ts'

const settings = { file: 'build.ts', journal: undefined, args: [] }

test('the command is what was typed, with the run', () => {
  assert.equal(resumeCommand('r1', settings, {}), 'heddle run build.ts --resume r1')
  assert.equal(resumeCommand(undefined, settings, {}), 'heddle run build.ts --resume')
  assert.equal(
    resumeCommand('r1', settings, { npm_command: 'exec' }),
    'npx heddle run build.ts --resume r1',
  )
  assert.equal(
    resumeCommand(
      'r1',
      { file: 'my build.ts', journal: 'sqlite:x.db', args: ['--month', "it's"] },
      {},
    ),
    `heddle run 'my build.ts' --resume r1 --journal sqlite:x.db -- --month 'it'\\''s'`,
  )
})

test('words are quoted for a shell only where they need it', () => {
  assert.deepEqual(['a-b_c/d.ts', 'a b', '', '$x', '日本'].map(quote), [
    'a-b_c/d.ts',
    "'a b'",
    "''",
    "'$x'",
    "'日本'",
  ])
})
