import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { planFromChangesets } from '../../src/plan/from-changesets.ts'
import { versionRelease } from '../../src/version/version.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { Monorepo } from '../support/monorepo.ts'

const experimental = '___experimentalUnsafeOptions_WILL_CHANGE_IN_PATCH'

interface Asked {
  readonly bump?: string
  /** Whether the package has a changeset of its own. */
  readonly own?: boolean
}

async function manifestAfter(
  config: object,
  fields: object,
  asked: Asked = {},
): Promise<Record<string, unknown>> {
  return (await versionedBy(config, fields, asked)).manifest
}

/** Versions a package by a changeset, and returns what that made of another one. */
async function versionedBy(
  config: object,
  fields: object,
  { bump = 'patch', own = true }: Asked = {},
): Promise<{ readonly manifest: Record<string, unknown>; readonly changelog: string }> {
  using repo = new Monorepo({ packages: { a: [], b: [], c: [] }, fields: { b: fields } })
  repo.git('config', 'user.name', 'Somebody')
  repo.git('config', 'user.email', 'somebody@example.com')
  repo.write('.changeset/config.json', config)
  repo.write('.changeset/x.md', `---\n"a": ${bump}\n"c": patch\n---\n\nx\n`)
  if (own) repo.write('.changeset/y.md', '---\n"b": patch\n---\n\ny\n')
  repo.commit('changes')
  await versionRelease(repo.root, {
    plan: async () => planFromChangesets(await readWorkspace(repo.root)),
  })
  const read = (file: string): string =>
    readFileSync(path.join(repo.root, 'packages/b', file), 'utf8')
  const hasChangelog = existsSync(path.join(repo.root, 'packages/b/CHANGELOG.md'))
  return {
    manifest: JSON.parse(read('package.json')) as Record<string, unknown>,
    changelog: hasChangelog ? read('CHANGELOG.md') : '',
  }
}

test('a peer range that allows the new version is not narrowed, where the config says so', async () => {
  const fields = { peerDependencies: { a: '^1.0.0' }, devDependencies: { a: '1.0.0' } }
  const config = { [experimental]: { onlyUpdatePeerDependentsWhenOutOfRange: true } }
  const kept = await manifestAfter(config, fields)
  assert.deepEqual(kept['peerDependencies'], { a: '^1.0.0' })
  assert.deepEqual(kept['devDependencies'], { a: '1.0.1' })
  const moved = await manifestAfter({}, fields)
  assert.deepEqual(moved['peerDependencies'], { a: '^1.0.1' })
  const outside = await manifestAfter(config, fields, { bump: 'major' })
  assert.deepEqual(outside['peerDependencies'], { a: '^2.0.0' })
})

test('a peer whose range stays is not named in the changelog', async () => {
  const fields = { peerDependencies: { a: '^1.0.0' }, dependencies: { c: '^1.0.0' } }
  const config = { [experimental]: { onlyUpdatePeerDependentsWhenOutOfRange: true } }
  const { changelog } = await versionedBy(config, fields)
  assert.match(changelog, /c@1\.0\.1/)
  assert.doesNotMatch(changelog, /a@1\.0\.1/)
  const outside = await versionedBy(config, fields, { bump: 'major' })
  assert.match(outside.changelog, /a@2\.0\.0/)
  for (const range of ['workspace:*', '1.0.0']) {
    const developed = { ...fields, devDependencies: { a: range } }
    assert.doesNotMatch((await versionedBy(config, developed)).changelog, /a@1\.0\.1/)
  }
})

test('updateInternalDependencies "minor" keeps ranges that allow a patch', async () => {
  const fields = { dependencies: { a: '^1.0.0', c: '~1.0.0' } }
  const config = { updateInternalDependencies: 'minor' }
  const patch = await manifestAfter(config, fields)
  assert.deepEqual(patch['dependencies'], { a: '^1.0.0', c: '~1.0.0' })
  const minor = await manifestAfter(config, fields, { bump: 'minor' })
  assert.deepEqual(minor['dependencies'], { a: '^1.1.0', c: '~1.0.0' })
})

test('bumpVersionsWithWorkspaceProtocolOnly leaves other ranges as they are written', async () => {
  const config = { bumpVersionsWithWorkspaceProtocolOnly: true }
  const fields = { dependencies: { a: '^1.0.0', c: 'workspace:^1.0.0' } }
  const { dependencies } = await manifestAfter(config, fields)
  assert.deepEqual(dependencies, { a: '^1.0.0', c: 'workspace:^1.0.1' })
})

test('a package without a version of its own names the new ones, as Changesets writes it', async () => {
  const dependencies = { a: '^1.0.0' }
  const isPrivate = await manifestAfter({}, { private: true, dependencies }, { own: false })
  assert.deepEqual([isPrivate['version'], isPrivate['dependencies']], ['1.0.0', { a: '^1.0.1' }])
  const exact = { dependencies, devDependencies: { c: '1.0.0' } }
  const developed = await manifestAfter({}, exact, { own: false })
  assert.deepEqual(developed['dependencies'], { a: '^1.0.1' })
  assert.deepEqual(developed['devDependencies'], { c: '1.0.1' })
  const allowed = { dependencies, devDependencies: { c: '^1.0.0' } }
  const left = await manifestAfter({}, allowed, { own: false })
  assert.deepEqual(left['dependencies'], { a: '^1.0.0' })
})
