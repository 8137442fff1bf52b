import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { HeddleError } from '@heddle/core'
import { releaseFolder } from '../../src/lock/release-folder.ts'
import {
  finishVersions,
  hashOf,
  writeVersions,
  type VersionNote,
} from '../../src/version/write-files.ts'
import { Monorepo } from '../support/monorepo.ts'

interface Scene extends Disposable {
  readonly repo: Monorepo
  readonly note: VersionNote
  readonly file: (name: string) => string
}

/** `one` changes, `two` is removed, `three` is new. */
function scene(): Scene {
  const repo = new Monorepo({ packages: {} })
  repo.git('config', 'user.name', 'Somebody')
  repo.git('config', 'user.email', 'somebody@example.com')
  repo.write('one', '1\n')
  repo.write('two', '2\n')
  repo.commit('files')
  return {
    repo,
    note: {
      base: repo.git('rev-parse', 'HEAD').trim(),
      message: 'versions',
      files: [
        { file: 'one', before: hashOf('1\n'), after: '1.1\n' },
        { file: 'two', before: hashOf('2\n'), after: null },
        { file: 'three', before: null, after: '3\n' },
      ],
    },
    file: (name) => path.join(repo.root, name),
    [Symbol.dispose]: () => repo[Symbol.dispose](),
  }
}

const commits = (repo: Monorepo): number => Number(repo.git('rev-list', '--count', 'HEAD'))

test('WF1 WF3 cut short after each step, the next call finishes it with one commit', async () => {
  for (const steps of [0, 1, 2, 3, 'committed'] as const) {
    using each = scene()
    const { repo, note, file } = each
    const folder = await releaseFolder(repo.root)
    const before = commits(repo)
    if (steps === 'committed') {
      await writeVersions(repo.root, folder, note)
    } else {
      if (steps > 0) writeFileSync(file('one'), '1.1\n')
      if (steps > 1) repo.git('rm', '--quiet', '--cached', 'two')
      if (steps > 1) await import('node:fs/promises').then(({ rm }) => rm(file('two')))
      if (steps > 2) writeFileSync(file('three'), '3\n')
    }
    repo.write('.git/heddle/version.json', JSON.stringify(note))
    const finished = await finishVersions(repo.root, folder)
    assert.equal(finished?.commit, repo.git('rev-parse', 'HEAD').trim(), String(steps))
    assert.equal(commits(repo), before + 1)
    assert.equal(repo.status, '')
    assert.equal(readFileSync(file('one'), 'utf8'), '1.1\n')
    assert.ok(!existsSync(file('two')) && existsSync(file('three')))
    assert.equal(await finishVersions(repo.root, folder), undefined)
  }
})

test('WF2 a file that the user edited in between is not overwritten', async () => {
  using each = scene()
  const { repo, note, file } = each
  const folder = await releaseFolder(repo.root)
  repo.write('.git/heddle/version.json', JSON.stringify(note))
  writeFileSync(file('one'), 'mine\n')
  await assert.rejects(
    finishVersions(repo.root, folder),
    (error) => error instanceof HeddleError && error.code === 'HDL_VERSION_EDITED',
  )
  assert.equal(readFileSync(file('one'), 'utf8'), 'mine\n')
})

test('a note of a branch that was left is dropped, and nothing of it is written', async () => {
  using each = scene()
  const { repo, note, file } = each
  const folder = await releaseFolder(repo.root)
  repo.write('.git/heddle/version.json', JSON.stringify(note))
  repo.write('other', 'x\n')
  repo.commit('other')
  assert.equal(await finishVersions(repo.root, folder), undefined)
  assert.equal(readFileSync(file('one'), 'utf8'), '1\n')
  assert.equal(repo.status, '')
})

test('WF4 a file that a killed process had half written is removed, and nothing else', async () => {
  using each = scene()
  const { repo, note, file } = each
  const folder = await releaseFolder(repo.root)
  writeFileSync(file('.one.4943-8l1zbdwgdb.tmp'), '1.')
  await writeVersions(repo.root, folder, note)
  assert.equal(repo.git('status', '--porcelain'), '')
  writeFileSync(file('.other.1-a.tmp'), 'of another program')
  await finishVersions(repo.root, folder)
  assert.equal(repo.git('status', '--porcelain').trim(), '?? .other.1-a.tmp')
})

test('WF5 a note is finished in the work tree that it was made in, from whichever the next call comes', async () => {
  using each = scene()
  const { repo, note, file } = each
  const other = path.join(repo.root, '.git', 'other')
  repo.git('worktree', 'add', '--quiet', '-b', 'other', other)
  const folder = await releaseFolder(other)
  // Killed after the note was durable.
  mkdirSync(folder.folder, { recursive: true })
  writeFileSync(folder.versions, JSON.stringify({ ...note, root: realpathSync(repo.root) }))
  const finished = await finishVersions(other, folder)
  assert.equal(finished?.root, realpathSync(repo.root))
  assert.equal(readFileSync(file('one'), 'utf8'), '1.1\n')
  assert.equal(readFileSync(path.join(other, 'one'), 'utf8'), '1\n')
  assert.equal(commits(repo), 1 + Number(repo.git('-C', other, 'rev-list', '--count', 'HEAD')))
  assert.equal(existsSync(folder.versions), false)
})

test('WF5 the note of a work tree that was removed is dropped', async () => {
  using each = scene()
  const { repo, note, file } = each
  const folder = await releaseFolder(repo.root)
  mkdirSync(folder.folder, { recursive: true })
  writeFileSync(folder.versions, JSON.stringify({ ...note, root: file('gone') }))
  assert.equal(await finishVersions(repo.root, folder), undefined)
  assert.equal(readFileSync(file('one'), 'utf8'), '1\n')
  assert.equal(existsSync(folder.versions), false)
})
