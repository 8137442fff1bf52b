import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { files, root } from './tree.ts'

/** Each `@ts-expect-error` in a `*.test-d.ts` is a promise of the types: tsc fails when it is not kept. */
test('the type tests hold', () => {
  assert.ok(files('packages/core/test/**/*.test-d.ts').length > 0)
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['node_modules/typescript/bin/tsc', '-p', 'packages/core/test/tsconfig.types.json'],
    { cwd: root, encoding: 'utf8' },
  )
  assert.equal(status, 0, stdout + stderr)
})
