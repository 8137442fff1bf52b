import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import { makeReleaseFolder, releaseFolder } from '../../src/lock/release-folder.ts'
import { versionRelease } from '../../src/version/version.ts'
import { Tree } from '../plan-kit.ts'
import { Monorepo } from '../support/monorepo.ts'
import { publishManifests } from '../support/publish.ts'

/** The error names the file and says what to do with it. */
function isRefusal(error: unknown, file: string): boolean {
  assert.ok(isError(error, 'HDL_STORE_FAILED'), String(error))
  assert.ok(error.message.startsWith(`${file} could not be used: `), error.message)
  assert.match(error.message, /it is not a folder.*Move it away/)
  return true
}

test('a file in place of .git/heddle is refused by publish, version and all that only reads', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  repo.write('.git/heddle', 'a file\n')
  const file = path.join(repo.root, '.git/heddle')
  // Nothing is asked before: no registry listens there.
  const published = publishManifests(repo, 'http://127.0.0.1:9/')
  await assert.rejects(published, (error) => isRefusal(error, file))
  const options = { plan: () => assert.fail('nothing is planned') }
  const versioned = versionRelease(repo.root, options)
  await assert.rejects(versioned, (error) => isRefusal(error, file))
  await assert.rejects(releaseFolder(repo.root), (error) => isRefusal(error, file))
})

test('the same for .heddle in a folder without Git', async () => {
  using tree = new Tree()
  tree.write('.heddle', 'a file\n')
  await assert.rejects(releaseFolder(tree.path), (error) => isRefusal(error, tree.at('.heddle')))
})

test('a folder that cannot be made is refused with the reason of the system', async () => {
  using tree = new Tree()
  symlinkSync(tree.at('nowhere'), tree.at('.heddle'))
  await assert.rejects(
    makeReleaseFolder(tree.path),
    (error) => isError(error, 'HDL_STORE_FAILED') && error.message.includes('could not be made'),
  )
})
