import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planFromFile } from '../../src/plan/publish-plan.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { makeTree, manifest, problemsOf, type Content } from '../workspace/tree.ts'

const files: Readonly<Record<string, Content>> = {
  'package.json': { name: 'root', private: true, workspaces: ['packages/*'] },
  'packages/a/package.json': manifest('a', '1.1.0'),
  'packages/b/package.json': manifest('b', '2.0.0', { dependencies: { a: '^1.0.0' } }),
  'packages/c/package.json': manifest('c', '1.0.0'),
  'packages/app/package.json': manifest('app', '1.0.0', { private: true }),
}

test('reads the publish plan of Changesets 3', async (t) => {
  const release = { kind: 'publish', access: 'public' }
  const plan = [
    [
      {
        ...release,
        name: 'a',
        version: '1.1.0',
        tag: 'next',
        tarball: { path: 'packages/a.tgz', integrity: 'sha256-x' },
      },
    ],
    [
      { ...release, name: 'b', version: '2.0.0', tag: 'latest' },
      { kind: 'tag-only', name: 'app', version: '1.0.0' },
    ],
  ]
  const folder = await makeTree(t, { ...files, 'out/plan.json': { version: 1, plan } })
  const { source, packages } = await planFromFile(await readWorkspace(folder), 'out/plan.json')
  assert.equal(source, 'publish-plan')
  assert.deepEqual(
    [...packages.values()].map((each) => [
      each.package.name,
      each.status,
      each.version,
      each.distTag,
      each.access,
    ]),
    [
      ['a', 'included', '1.1.0', 'next', 'public'],
      ['app', 'private', '1.0.0', 'latest', undefined],
      ['b', 'included', '2.0.0', 'latest', 'public'],
      ['c', 'unchanged', '1.0.0', 'latest', undefined],
      ['root', 'private', '0.0.0', 'latest', undefined],
    ],
  )
  assert.deepEqual(packages.get('b')!.after, ['a'])
  assert.equal(packages.get('c')!.reason, 'not listed in plan.json')
})

test('a plan that does not fit the workspace is refused, with every fault', async (t) => {
  const plan = [
    { kind: 'publish', name: 'a', version: '1.0.0' },
    { kind: 'publish', name: 'bb', version: '1.0.0' },
    { kind: 'publish', name: 'app', version: '1.0.0' },
    { kind: 'later', name: 'c' },
  ]
  const folder = await makeTree(t, { ...files, 'plan.json': { version: 2, plan } })
  await assert.rejects(planFromFile(await readWorkspace(folder), 'plan.json'), (error) => {
    assert.deepEqual(problemsOf(error), [
      'plan.json it has an entry that is not a release: {"kind":"later","name":"c"}',
      'plan.json it releases a@1.0.0, but the manifest says 1.1.0',
      'plan.json it releases app, which is private',
      'plan.json its version is 2, this reader knows version 1',
      'plan.json the workspace has no package "bb"',
    ])
    return true
  })
})

test('missing, broken and empty files are reported', async (t) => {
  const folder = await makeTree(t, {
    ...files,
    'broken.json': '{',
    'empty.json': '{}',
    'none.json': { version: 1, plan: [] },
  })
  const workspace = await readWorkspace(folder)
  await assert.rejects(
    planFromFile(workspace, 'missing.json'),
    /missing\.json: it is not there\. Make the plan again/,
  )
  await assert.rejects(planFromFile(workspace, 'broken.json'), { code: 'HDL_WORKSPACE_INVALID' })
  await assert.rejects(planFromFile(workspace, 'empty.json'), /it has no list `plan`/)
  const { packages } = await planFromFile(workspace, 'none.json')
  assert.ok([...packages.values()].every(({ status }) => status !== 'included'))
})
