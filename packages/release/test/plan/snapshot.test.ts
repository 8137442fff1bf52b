import assert from 'node:assert/strict'
import { test } from 'node:test'
import { releaseManifest } from '../../src/manifest/npm-manifest.ts'
import { checkPlan } from '../../src/plan/check-plan.ts'
import { planFromManifests } from '../../src/plan/from-manifests.ts'
import { planSnapshot } from '../../src/plan/snapshot.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { makeTree, manifest } from '../workspace/tree.ts'

const at = {
  commit: '0123456789abcdef0123456789abcdef01234567',
  committedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
}

test('S1, S2 versions belong to the commit, and packages of one snapshot need exactly each other', async (t) => {
  const root = await makeTree(t, {
    'package.json': { name: 'root', private: true, workspaces: ['packages/*'] },
    'packages/a/package.json': manifest('a', '1.2.3'),
    'packages/b/package.json': manifest('b', '2.0.0-rc.1', {
      dependencies: { a: '^1.0.0' },
      peerDependencies: { c: 'workspace:^' },
    }),
    'packages/c/package.json': manifest('c', '1.0.0'),
    'packages/p/pyproject.toml': '[project]\nname = "p"\nversion = "1.2.3"\n',
  })
  const plan = await planFromManifests(await readWorkspace(root), { exclude: ['c'] })
  const snapshot = planSnapshot(plan, { kind: 'snapshot', name: 'pr-12', ...at })
  const versions = Object.fromEntries(
    [...snapshot.packages].map(([name, { version }]) => [name, version]),
  )
  const version = '0.0.0-pr-12-20260102030405-0123456'
  assert.deepEqual(versions, { a: version, b: version, c: '1.0.0', root: '0.0.0', ...versions })
  const b = releaseManifest(snapshot.packages.get('b')!, snapshot)
  assert.deepEqual(b['dependencies'], { a: version })
  assert.deepEqual(b['peerDependencies'], { c: '^1.0.0' }, 'what is left out keeps its range')
  assert.equal(snapshot.packages.get('b')!.distTag, 'pr-12')
  assert.deepEqual(checkPlan(snapshot), [])

  const canary = planSnapshot(plan, { kind: 'canary', ...at })
  assert.equal(canary.packages.get('a')!.version, '1.2.4-canary.20260102030405.g0123456')
  assert.equal(canary.packages.get('b')!.version, '2.0.0-rc.1.canary.20260102030405.g0123456')
  const tried = planSnapshot(plan, { kind: 'canary', distTag: 'next', ...at })
  assert.equal(tried.packages.get('a')!.distTag, 'next')
  assert.throws(() => planSnapshot(plan, { kind: 'canary', distTag: 'latest', ...at }), {
    code: 'HDL_BAD_OPTION',
  })
  for (const name of ['1.x', 'x', 'latest']) {
    assert.throws(() => planSnapshot(plan, { kind: 'canary', name, ...at }), {
      code: 'HDL_BAD_OPTION',
    })
  }
})

test('S1 Python versions of snapshots are valid', async (t) => {
  const root = await makeTree(t, {
    'pyproject.toml': '[project]\nname = "p"\nversion = "1.2.3"\n',
  })
  const plan = await planFromManifests(await readWorkspace(root))
  const versionOf = (kind: 'snapshot' | 'canary'): string =>
    planSnapshot(plan, { kind, ...at }).packages.get('p')!.version
  assert.equal(versionOf('snapshot'), '0.0.0.dev20260102030405')
  assert.equal(versionOf('canary'), '1.2.3.dev20260102030405')
})
