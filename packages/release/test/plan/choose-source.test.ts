import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import { planAsPrepared } from '../../src/plan/choose-source.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { addFiles, makeTree, manifest } from '../workspace/tree.ts'

test('a publish plan, then open changesets, then the manifests', async (t) => {
  const folder = await makeTree(t, { 'package.json': manifest('a'), '.changeset/README.md': 'x' })
  const workspace = await readWorkspace(folder)
  const source = async (): Promise<string> => (await planAsPrepared(workspace)).source
  assert.equal(await source(), 'manifests')

  const pre = { mode: 'pre', tag: 'rc' }
  await addFiles(folder, {
    '.changeset/pre.json': pre,
    '.changeset/pre/old.md': '---\n"a": minor\n---\n',
  })
  assert.equal(await source(), 'manifests', 'the prerelease has been made of it')
  await addFiles(folder, { '.changeset/pre.json': { ...pre, mode: 'exit' } })
  assert.equal(await source(), 'changesets')
  await addFiles(folder, { '.changeset/new.md': '---\n"a": minor\n---\n' })
  assert.equal(await source(), 'changesets')

  await addFiles(folder, { 'publish-plan.json': { version: 1, plan: [] } })
  assert.equal(await source(), 'publish-plan')
})

for (const [title, text] of [
  ['without a part between dashes', 'Somebody wrote this.\n'],
  ['that is empty', ''],
  ['with a name twice', '---\n"a": minor\n"a": major\n---\n\nx\n'],
] as const) {
  test(`a changeset ${title} is refused, not left out`, async (t) => {
    const folder = await makeTree(t, { 'package.json': manifest('a'), '.changeset/x.md': text })
    const workspace = await readWorkspace(folder)
    await assert.rejects(
      planAsPrepared(workspace),
      (error) =>
        isError(error, 'HDL_WORKSPACE_INVALID') && /\.changeset\/x\.md/.test(error.message),
    )
  })
}

test('an empty changeset does not hold up versions in manifests', async (t) => {
  const files = { 'package.json': manifest('a'), '.changeset/x.md': '---\n---\n\nNothing.\n' }
  const workspace = await readWorkspace(await makeTree(t, files))
  assert.equal((await planAsPrepared(workspace)).source, 'manifests')
})
