import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IgnoreRules } from '../../src/frontend/gitignore.ts'

/** [pattern, path, is a folder, ignored]: each as `git check-ignore` answers. */
const cases: readonly (readonly [string, string, boolean, boolean])[] = [
  ['*.log', 'a.log', false, true],
  ['*.log', 'deep/er/a.log', false, true],
  ['build/', 'build', true, true],
  ['build/', 'build', false, false],
  ['/build', 'build', true, true],
  ['/build', 'sub/build', true, false],
  ['src/gen', 'src/gen', true, true],
  ['src/gen', 'a/src/gen', true, false],
  ['**/gen', 'a/b/gen', true, true],
  ['a/**', 'a/b/c', false, true],
  ['a/**', 'a', true, false],
  ['a/**/z', 'a/z', false, true],
  ['a/**/z', 'a/b/c/z', false, true],
  ['file?.ts', 'file1.ts', false, true],
  ['file?.ts', 'file.ts', false, false],
  ['[ab].ts', 'a.ts', false, true],
  ['[!ab].ts', 'a.ts', false, false],
  ['[!ab].ts', 'c.ts', false, true],
  ['# comment', '# comment', false, false],
  ['\\#literal', '#literal', false, true],
  ['trailing  ', 'trailing', false, true],
  ['a.b', 'axb', false, false],
]

for (const [pattern, path, isFolder, expected] of cases) {
  test(`"${pattern}" ${expected ? 'ignores' : 'leaves'} ${path}${isFolder ? '/' : ''}`, () => {
    const rules = IgnoreRules.none.below('/root', pattern)
    assert.equal(rules.ignores(`/root/${path}`, isFolder), expected)
  })
}

test('the last matching pattern wins, and patterns of inner folders come later', () => {
  const outer = IgnoreRules.none.below('/root', '*.ts\n!keep.ts\n')
  assert.ok(outer.ignores('/root/a.ts', false))
  assert.ok(!outer.ignores('/root/keep.ts', false))
  const inner = outer.below('/root/sub', '!a.ts\nkeep.ts\n')
  assert.ok(!inner.ignores('/root/sub/a.ts', false))
  assert.ok(inner.ignores('/root/sub/keep.ts', false))
  assert.ok(inner.ignores('/root/sub/b.ts', false))
})
