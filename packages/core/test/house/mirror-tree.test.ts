import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { files, root } from './tree.ts'

/** These test the repository or whole scenarios of the founding documents, not one file. */
const exempt = /\/test\/house\/|\/seed-\d+|^packages\/ui\/test\/browser\//

test('src/x/y.ts is tested by test/x/y.test.ts, test/x/y.<aspect>.test.ts, test/x/y.test-d.ts', () => {
  const tests = files('packages/*/test/**/*.{test,test-d}.ts').filter((file) => !exempt.test(file))
  assert.ok(tests.length > 0)
  const orphans = tests.filter((file) => {
    const folder = path.posix.dirname(file).replace(/\/test(?=\/|$)/, '/src')
    const subject = path.posix.basename(file).split('.')[0]!
    return !['ts', 'tsx'].some((end) => existsSync(path.join(root, folder, `${subject}.${end}`)))
  })
  assert.deepEqual(orphans, [], 'these tests have no source file of the same name')
})
