import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { Repository } from '../../src/git/repository.ts'
import { Monorepo } from '../support/monorepo.ts'

const one = new Map([['a@1.0.0', 'a 1.0.0']])

test('outside of a repository, and in one without a commit, there is none', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-no-git-'))
  assert.equal(await Repository.open(folder), undefined)
  rmSync(folder, { recursive: true })
})

test('a tag is made once, on the released commit, and found with its commit', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  const repository = (await Repository.open(repo.root))!
  assert.deepEqual([...(await repository.makeTags(one))], ['a@1.0.0'])
  repo.write('later.txt', 'later')
  repo.commit('later')
  assert.deepEqual([...(await repository.makeTags(one))], [])
  assert.deepEqual([...(await repository.tags())], [['a@1.0.0', repository.head]])
})

test('who has no name makes tags all the same', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  repo.git('config', 'user.useConfigOnly', 'true')
  repo.git('config', 'user.name', '')
  const repository = (await Repository.open(repo.root))!
  assert.deepEqual([...(await repository.makeTags(one))], ['a@1.0.0'])
  assert.deepEqual(repo.tags, ['a@1.0.0'])
})

test('changes are those of files that Git knows', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  const repository = (await Repository.open(repo.root))!
  repo.write('new.txt', 'new')
  assert.deepEqual(await repository.changes(), [])
  repo.write('packages/a/index.js', 'changed')
  assert.deepEqual(await repository.changes(), [' M packages/a/index.js'])
})

test('tags are pushed to a remote', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  const remote = mkdtempSync(path.join(os.tmpdir(), 'heddle-remote-'))
  repo.git('init', '--quiet', '--bare', remote)
  repo.git('remote', 'add', 'origin', remote)
  const repository = (await Repository.open(repo.root))!
  await repository.makeTags(one)
  await repository.push('origin', ['a@1.0.0'])
  assert.match(repo.git('ls-remote', '--tags', 'origin'), /refs\/tags\/a@1\.0\.0/)
  rmSync(remote, { recursive: true })
})
