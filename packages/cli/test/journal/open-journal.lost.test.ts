import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { fixture, runProgram } from '../support/program.ts'

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-lost-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function runAndChange(
  cwd: string,
  how: string,
  place: string,
  more: readonly string[] = [],
): Promise<{ code: number | string; output: string }> {
  const file = path.join(cwd, 'runs.db')
  const args = ['run', fixture('loses-journal.ts'), '--journal', `sqlite:${file}`, ...more]
  const { code, stdout, stderr } = await runProgram(args, {
    cwd,
    env: { JOURNAL_FILE: file, CHANGE: how, PLACE: place },
  })
  return { code, output: `${stdout}\n${stderr}` }
}

const expected: Readonly<Record<string, RegExp>> = {
  'the file is deleted':
    /journal .*runs\.db cannot be written any more: the file was deleted or moved/,
  'the file is replaced':
    /journal .*runs\.db cannot be written any more: the file was replaced by another one/,
  'the file is emptied': /journal .*runs\.db cannot be written any more: the file was emptied/,
  'the log is emptied':
    /journal .*runs\.db cannot be written any more: its write-ahead log was (emptied|cut short)/,
  'everything is deleted': /journal .*runs\.db cannot be written any more: .* was deleted or moved/,
  'the log is deleted':
    /journal .*runs\.db cannot be written any more: its write-ahead log was deleted or moved/,
  'the large values are deleted': /the folder of its large values was deleted or moved/,
}

for (const [how, message] of Object.entries(expected)) {
  for (const place of ['early', 'last']) {
    test(`when ${how} by a job (${place}), the run ends with an error that says so`, async (t) => {
      const { code, output } = await runAndChange(folderFor(t), how, place)
      assert.notEqual(code, 0, output)
      assert.equal(typeof code, 'number', output)
      assert.doesNotMatch(output, /✓ .*succeeded in/)
      assert.match(output, message)
      assert.match(output, /Run again/)
      assert.doesNotMatch(output, /--resume/)
    })
  }
}

test('a journal that stays where it is ends with success', async (t) => {
  const { code, output } = await runAndChange(folderFor(t), 'nothing', 'early')
  assert.equal(code, 0, output)
  assert.match(output, /✓ .*3 succeeded/)
})

test('--journal-retry 0 ends the run at the first write that fails', async (t) => {
  const { code, output } = await runAndChange(folderFor(t), 'writes fail', 'early', [
    '--journal-retry',
    '0',
  ])
  assert.equal(code, 1, output)
  assert.match(output, /could not be written: refused by a test/)
  assert.doesNotMatch(output, /paused until the journal can be written/)
})
