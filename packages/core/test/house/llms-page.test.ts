import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { files, read, root } from './tree.ts'

const page = read('llms.txt')
const linked = new Set(
  [...page.matchAll(/^- \[[^\]]+\]\(([^)]+)\): \S/gm)].map(([, link]) => link!),
)

test('llms.txt matches the docs: else run `npm run format`', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/docs-llms.ts', '--check'], {
    cwd: root,
    encoding: 'utf8',
  })
  assert.equal(status, 0, stderr)
})

test('llms.txt has the form of llmstxt.org: a title, a summary, lists of links that exist', () => {
  assert.match(page, /^# Heddle\n\n> \S.*\n\n## /)
  for (const link of linked) assert.ok(existsSync(path.join(root, link)), link)
  const others = page.split('\n').filter((line) => line !== '' && !/^(# |> |## |- \[)/.test(line))
  assert.deepEqual(others, [])
})

test('llms.txt has every guide, every page of the reference and every example', () => {
  const wanted = files('docs/guide/*.md', 'docs/reference/**/*.md', 'examples/*/README.md')
  const missing = wanted.filter((file) => !linked.has(file))
  assert.deepEqual(missing, [])
})
