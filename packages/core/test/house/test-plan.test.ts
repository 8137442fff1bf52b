import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { read, root } from './tree.ts'

test('the slow files that the runner starts first exist', () => {
  const named = [...read('scripts/test-plan.ts').matchAll(/^ {2}'(.+\.test\.ts)': \d/gm)]
  assert.ok(named.length > 5)
  const missing = named
    .map(([, file]) => file!)
    .filter((file) => !existsSync(path.join(root, file)))
  assert.deepEqual(missing, [])
})
