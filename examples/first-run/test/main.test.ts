import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'

const main = path.join(import.meta.dirname, '../main.ts')

/** Runs the sample in an empty folder, with fewer stations than it has. */
function start(t: TestContext, ...args: readonly string[]): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-sample-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=heddle-source', main, ...args],
    { cwd: folder, encoding: 'utf8' },
  )
  assert.deepEqual([status, stderr], [0, ''], stdout)
  return stdout
}

/** Lines of the run by their first word: `done`, `running`, … */
function linesOf(output: string, word: string): string[] {
  return output.split('\n').filter((line) => line.slice(9).startsWith(`${word} `))
}

test('the sample runs to its end, with one retry, and reports what decided its length', (t) => {
  const output = start(t, '--', '3')
  assert.equal(linesOf(output, 'done').length, 8)
  assert.equal(linesOf(output, 'retry').length, 1)
  assert.equal(linesOf(output, 'failed').length, 0)
  assert.match(output, /8 succeeded/)
  assert.match(output, /critical path .*: download .* → smooth .* → compare .* → publish/)
  for (const station of ['Tromsø', 'Oslo', 'Riga']) {
    const downloaded = output.indexOf(`done      download ${station}`)
    const smoothing = output.indexOf(`running   smooth ${station} (thread)`)
    assert.ok(downloaded >= 0 && downloaded < smoothing, output)
  }
  assert.match(output, /npm start -- --kill-demo/)
})

test('--kill-demo: the killed run resumes, and no finished job runs again', (t) => {
  const output = start(t, '--kill-demo', '--', '6')
  const [before, after] = output.split('npx heddle runs\n') as [string, string]
  assert.ok(linesOf(before, 'done').length >= 9, output)
  assert.match(after, /! interrupted/)
  const done = linesOf(before, 'done').map((line) => /done +(.*) in /.exec(line)![1]!)
  const again = linesOf(after, 'running').map((line) => /running +(.*) \(/.exec(line)![1]!)
  assert.deepEqual(
    done.filter((name) => again.includes(name)),
    [],
  )
  assert.match(after, /14 succeeded \(\d+ reused\)/)
  assert.match(after, /had finished before the kill\. Of these 0 ran again/)
})
