import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { changedSince, parseDiff } from '../../../src/frontend/targets/git-changes.ts'
import { tempFolder, writeFiles, type Files } from '../../support/temp-folder.ts'

interface Repository {
  readonly root: string
  git(...args: readonly string[]): string
  changes(revision: string): Promise<Readonly<Record<string, unknown>>>
}

function repository(t: TestContext, files: Files): Repository {
  const root = tempFolder(t, files)
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'start')
  const changes = async (revision: string): Promise<Readonly<Record<string, unknown>>> =>
    Object.fromEntries(
      [...(await changedSince(revision, { root }))].map(([file, lines]) => [
        path.relative(root, file),
        lines,
      ]),
    )
  return { root, git, changes }
}

const tenLines = '1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n'

test('changed, added and removed lines, new files and files git does not know', async (t) => {
  const repo = repository(t, { 'a.ts': tenLines, 'b.ts': tenLines, 'same.ts': 'x' })
  writeFiles(repo.root, {
    'a.ts': tenLines.replace('2\n', 'two\n').replace('9\n', '9\n9.5\n9.7\n'),
    'b.ts': tenLines.replace('5\n6\n', ''),
    'new.ts': 'x\n',
    'unknown.ts': 'x\n',
  })
  repo.git('add', 'new.ts')
  assert.deepEqual(await repo.changes('HEAD'), {
    'a.ts': [
      [2, 2],
      [10, 11],
    ],
    'b.ts': [[4, 5]],
    'new.ts': 'all',
    'unknown.ts': 'all',
  })
})

test('changes on the base revision since the branch point are not ours', async (t) => {
  const repo = repository(t, { 'a.ts': tenLines, 'b.ts': tenLines })
  repo.git('checkout', '-qb', 'feature')
  writeFiles(repo.root, { 'a.ts': tenLines.replace('3', 'three') })
  repo.git('commit', '-qam', 'ours')
  repo.git('checkout', '-q', 'main')
  writeFiles(repo.root, { 'b.ts': tenLines.replace('7', 'seven') })
  repo.git('commit', '-qam', 'theirs')
  repo.git('checkout', '-q', 'feature')
  assert.deepEqual(await repo.changes('main'), { 'a.ts': [[3, 3]] })
})

test('a file that was moved has only its own changes; one that was deleted has none', async (t) => {
  const repo = repository(t, { 'old.ts': tenLines.repeat(3), 'gone.ts': 'a\nb\nc\n' })
  renameSync(path.join(repo.root, 'old.ts'), path.join(repo.root, 'name with é.ts'))
  writeFiles(repo.root, { 'name with é.ts': tenLines.repeat(3).replace('4', 'four') })
  rmSync(path.join(repo.root, 'gone.ts'))
  repo.git('add', '-A')
  assert.deepEqual(await repo.changes('HEAD'), { 'name with é.ts': [[4, 4]] })
})

test('names that git quotes are read back', () => {
  const diff = [
    'diff --git "a/a\\tb\\"c.ts" "b/a\\tb\\"c.ts"',
    '--- "a/a\\tb\\"c.ts"',
    '+++ "b/a\\tb\\"c.ts"',
    '@@ -1 +1 @@',
    '-x',
    '+++ /dev/null is what this line of code says',
  ].join('\n')
  assert.deepEqual([...parseDiff(diff)], [['a\tb"c.ts', [[1, 1]]]])
})

test('no repository, no revision, and an option in its place are refused', async (t) => {
  const repo = repository(t, { 'a.ts': '' })
  await assert.rejects(repo.changes('nowhere'), { code: 'HDL_BAD_TARGET' })
  await assert.rejects(repo.changes('--output=x'), { code: 'HDL_BAD_TARGET' })
  const plain = tempFolder(t)
  await assert.rejects(changedSince('HEAD', { root: plain }), { code: 'HDL_BAD_TARGET' })
})

test('an aborted question ends git', async (t) => {
  const { root } = repository(t, { 'a.ts': '' })
  const signal = AbortSignal.abort(new Error('enough'))
  await assert.rejects(changedSince('HEAD', { root, signal }))
})
