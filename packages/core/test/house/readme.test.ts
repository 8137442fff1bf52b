import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { read, root } from './tree.ts'

test('the first program of the README runs as printed and prints the output below it', (t) => {
  const readme = read('README.md')
  const [, program] = /^```ts\n([\s\S]*?)^```$/m.exec(readme) ?? []
  const [, output] = /^```text\n([\s\S]*?)^```$/m.exec(readme.split(program ?? '')[1] ?? '') ?? []
  assert.ok(program !== undefined && output !== undefined, 'a ```ts fence, then a ```text fence')

  const folder = mkdtempSync(path.join(root, '.doctest-readme-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = path.join(folder, 'program.ts')
  writeFileSync(file, program)
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--conditions=heddle-source', file],
    { cwd: folder, encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1' } },
  )
  assert.deepEqual({ stdout, stderr, status }, { stdout: output, stderr: '', status: 0 })
})

test('every npm script that the guides name exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  for (const page of ['README.md', 'CONTRIBUTING.md', 'AGENTS.md', 'docs/README.md']) {
    for (const [, script] of read(page).matchAll(/\bnpm run ([\w-]+)/g)) {
      assert.ok(Object.hasOwn(scripts, script!), `${page} names npm run ${script}`)
    }
  }
})
