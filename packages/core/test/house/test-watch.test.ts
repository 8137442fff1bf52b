import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { root } from './tree.ts'

/** Runs a test file as the runner does. Returns its exit code and all that it printed. */
function play(t: TestContext, text: string, env: Record<string, string> = {}) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-watch-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = path.join(folder, 'played.test.mjs')
  writeFileSync(file, `import { describe, test } from 'node:test'\n${text}`)
  const watch = path.join(root, 'scripts/test-watch.mjs')
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', watch, file], {
    encoding: 'utf8',
    // Not a child of this test, but a run of its own.
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, HEDDLE_TEST_PROMISES: '', ...env },
  })
  return { status, said: stdout + stderr }
}

const asking = `
  import { executionAsyncId } from 'node:async_hooks'
  test('asks', async () => {
    await null
    console.log(executionAsyncId() === 0 ? 'not followed' : 'followed')
  })`

test('promises of tests are followed only where that is asked for', (t) => {
  assert.match(play(t, asking).said, /^not followed$/m)
  assert.match(play(t, asking, { HEDDLE_TEST_PROMISES: 'followed' }).said, /^followed$/m)
})

for (const [what, line] of [
  ['a rejection', 'void Promise.reject(new Error("nobody waits"))'],
  ['an exception', 'process.nextTick(() => { throw new Error("nobody waits") })'],
]) {
  test(`${what} that nothing handles fails the file, and its stack is printed`, (t) => {
    const text = `test('leaves it', async () => {
      await null
      ${line}
      await new Promise((done) => setTimeout(done, 1))
    })`
    const { status, said } = play(t, text)
    assert.equal(status, 1, said)
    assert.match(said, /Error: nobody waits\n +at .*played\.test\.mjs:/)
  })
}

test('a suite has its own tests', (t) => {
  const { status, said } = play(
    t,
    `test('first', async () => { await null })
     describe('outer', () => { describe('inner', () => { test('deep', async () => { await null }) }) })`,
  )
  assert.equal(status, 0, said)
  assert.match(said, /^▶ outer\n {2}▶ inner\n {4}✔ deep/m)
})
