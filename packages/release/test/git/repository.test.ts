import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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

test('a user without a Git name can still make tags', async () => {
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

test('a branch is named as it is, beside a tag of the same name; a detached commit has no branch', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  const repository = (await Repository.open(repo.root))!
  repo.git('tag', 'main')
  assert.equal(await repository.branch(), 'main')
  repo.git('checkout', '--quiet', '-b', 'release/HEAD')
  assert.equal(await repository.branch(), 'release/HEAD')
  repo.git('checkout', '--quiet', '--detach')
  assert.equal(await repository.branch(), undefined)
})

/** A program that signs whatever it gets, and finds every signature good. */
function signWithStub(repo: Monorepo): void {
  const program = path.join(repo.root, '.git', 'sign')
  const signature = '-----BEGIN PGP SIGNATURE-----\n\nnone\n-----END PGP SIGNATURE-----\n'
  const script = [
    `process.stderr.write('gpg: Signature made today\\n\\n[GNUPG:] SIG_CREATED \\n')`,
    `process.stdout.write(${JSON.stringify(signature)})`,
  ]
  writeFileSync(`${program}.js`, script.join('\n'))
  writeFileSync(program, `#!/bin/sh\nexec ${process.execPath} ${program}.js "$@"\n`)
  chmodSync(program, 0o755)
  repo.git('config', 'gpg.program', program)
  repo.git('config', 'user.name', 'Somebody')
  repo.git('config', 'user.email', 'somebody@example.com')
}

test('a signature that Git would print is not taken for the time of the commit', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  signWithStub(repo)
  repo.git('commit', '--quiet', '--allow-empty', '--gpg-sign', '--message', 'signed')
  repo.git('config', 'log.showSignature', 'true')
  const repository = (await Repository.open(repo.root))!
  assert.equal(String(await repository.committedAt()).length, 13)
})

test('tags are signed where Git is asked to sign all of them', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  signWithStub(repo)
  repo.git('config', 'tag.gpgSign', 'true')
  const repository = (await Repository.open(repo.root))!
  assert.deepEqual([...(await repository.makeTags(one))], ['a@1.0.0'])
  assert.match(repo.git('cat-file', '-p', 'refs/tags/a@1.0.0'), /BEGIN PGP SIGNATURE/)
  assert.deepEqual([...(await repository.makeTags(one))], [])
  assert.deepEqual([...(await repository.tags())], [['a@1.0.0', repository.head]])
})
