import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { root } from './tree.ts'

for (const [script, what] of [
  ['scripts/docs-http', 'docs/reference/http.md and metrics.md say what the code says'],
  [
    'scripts/docs-bench',
    'the table of the README has the figures of docs/reference/bench-engine.json',
  ],
  ['scripts/docs-decisions', 'docs/decisions/README.md has every decision'],
  ['site/api', 'docs/reference/api says what the types and comments of the code say'],
]) {
  test(`${what}: else run \`npm run format\``, () => {
    const args = ['--conditions=heddle-source', `${script}.ts`, '--check']
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
    assert.equal(status, 0, stderr)
  })
}
