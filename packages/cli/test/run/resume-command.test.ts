import assert from 'node:assert/strict'
import test from 'node:test'
import { resumeCommand } from '../../src/run/resume-command.ts'
import type { RunSettings } from '../../src/run/run-settings.ts'

const settings: RunSettings = {
  file: 'build.ts',
  args: [],
  title: undefined,
  concurrency: undefined,
  retries: undefined,
  timeout: undefined,
  journal: undefined,
  only: undefined,
  key: undefined,
  resume: undefined,
  from: undefined,
  threads: undefined,
  threadMemory: undefined,
  journalRetry: undefined,
  ui: undefined,
  allowChanges: false,
  json: false,
  quiet: false,
  color: true,
}

test('the command is the typed one, with the run added', () => {
  assert.equal(resumeCommand('r1', settings, {}), 'heddle run build.ts --resume r1')
  assert.equal(resumeCommand(undefined, settings, {}), 'heddle run build.ts --resume')
  assert.equal(
    resumeCommand('r1', settings, { npm_command: 'exec' }),
    'npx heddle run build.ts --resume r1',
  )
  const other: RunSettings = {
    ...settings,
    file: 'my build.ts',
    concurrency: Infinity,
    retries: 2,
    timeout: 5,
    title: 'nightly',
    journal: 'sqlite:x.db',
    only: ['unit test', 'lint'],
    args: ['--month', "it's"],
  }
  assert.equal(
    resumeCommand('r1', other, {}),
    `heddle run 'my build.ts' --concurrency Infinity --retries 2 --timeout 5 --title nightly` +
      ` --journal sqlite:x.db --only 'unit test' lint --resume r1 -- --month 'it'\\''s'`,
  )
})

test('a run that was retried is retried again: the limits that the journal has are not repeated', () => {
  const retried: RunSettings = {
    ...settings,
    concurrency: 5,
    retries: 0,
    timeout: 600_000,
    title: 'build.ts',
    args: ['--month', '7'],
    resume: 'r1',
    retried: { file: undefined, args: [] },
  }
  assert.equal(resumeCommand('r1', retried, {}), 'heddle runs retry r1')
  const typed = { ...retried, journal: 'sqlite:x.db', retried: { file: 'b.ts', args: ['7'] } }
  assert.equal(
    resumeCommand('r2', typed, { npm_command: 'exec' }),
    'npx heddle runs retry r2 --file b.ts --journal sqlite:x.db -- 7',
  )
})
