import assert from 'node:assert/strict'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { isError } from '@heddle/core'
import { runCommand } from '@heddle/core/lowlevel'
import { planFromCommits } from '../../src/plan/from-commits.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { makeTree, manifest } from '../workspace/tree.ts'
import { Repository } from './repository.ts'

/** a 1.0.0 <- b 1.0.0 <- c 0.5.0, d alone; all released. */
async function released(t: TestContext): Promise<Repository> {
  const repository = await Repository.create(t, {
    'package.json': { name: 'root', private: true, workspaces: ['packages/*'] },
    'packages/a/package.json': manifest('a'),
    'packages/b/package.json': manifest('b', '1.0.0', { dependencies: { a: 'workspace:^' } }),
    'packages/c/package.json': manifest('c', '0.5.0', { dependencies: { b: 'workspace:^' } }),
    'packages/d/package.json': manifest('d', '1.0.0', { devDependencies: { a: 'workspace:^' } }),
  })
  await repository.tag('a@1.0.0', 'b@1.0.0', 'c@0.5.0', 'd@1.0.0')
  return repository
}

test('without changes nothing is released', async (t) => {
  const repository = await released(t)
  const { packages, source } = await repository.plan()
  assert.equal(source, 'commits')
  assert.ok(
    [...packages.values()].every(({ status }) => status === 'unchanged' || status === 'private'),
  )
  assert.equal(packages.get('a')!.reason, 'no changes')
})

test('P3, P4: a commit counts where its files are; dependents get a patch, development does not spread', async (t) => {
  const repository = await released(t)
  await repository.change('a', 'feat: add x')
  await repository.change('d', 'docs: explain')
  const { packages } = await repository.plan()
  assert.deepEqual(await repository.versions(), { a: '1.1.0', b: '1.0.1', c: '0.5.1' })
  assert.equal(packages.get('a')!.reason, 'feat: add x')
  assert.equal(packages.get('b')!.reason, 'depends on a')
  assert.deepEqual(packages.get('c')!.after, ['b'])
  assert.equal(packages.get('d')!.status, 'unchanged')
})

test('a release that was cut short after some tags keeps its plan', async (t) => {
  const repository = await released(t)
  await repository.change('a', 'feat: add x')
  const whole = await repository.versions()
  await repository.tag('a@1.1.0', 'nightly')
  assert.deepEqual(await repository.versions(), whole)
  await repository.tag('b@1.0.1', 'c@0.5.1')
  assert.deepEqual(await repository.versions(), {})
  await repository.git('tag', '--delete', 'b@1.0.1', 'a@1.1.0')
  // A version that the user chose is not part of the plan.
  await repository.tag('a@2.0.0')
  assert.deepEqual(await repository.versions(), {})
})

for (const tagFormat of [
  '{name}-v{version}',
  'release/{name}_{version}',
  '{name}/{version}/done',
]) {
  test(`tags as ${tagFormat} are the base, and a release that was cut short keeps its plan`, async (t) => {
    const repository = await released(t)
    const tagOf = (name: string, version: string): string =>
      tagFormat.replace('{name}', name).replace('{version}', version)
    await repository.git('tag', '--delete', 'a@1.0.0', 'b@1.0.0', 'c@0.5.0', 'd@1.0.0')
    await repository.tag(tagOf('a', '1.0.0'), tagOf('b', '1.0.0'), tagOf('c', '0.5.0'))
    await repository.tag(tagOf('d', '1.0.0'))
    assert.deepEqual(await repository.versions({ tagFormat }), {})
    await repository.change('a', 'feat: add x')
    const whole = { a: '1.1.0', b: '1.0.1', c: '0.5.1' }
    assert.deepEqual(await repository.versions({ tagFormat }), whole)
    await repository.tag(tagOf('a', '1.1.0'))
    assert.deepEqual(await repository.versions({ tagFormat }), whole)
    await repository.tag(tagOf('b', '1.0.1'), tagOf('c', '0.5.1'))
    assert.deepEqual(await repository.versions({ tagFormat }), {})
  })
}

test('a version that a commit has made and that has a tag of another format is released', async (t) => {
  const repository = await released(t)
  const trailer = 'chore: versions\n\nHeddle-Versions: a@1.1.0'
  await repository.commit(trailer, { 'packages/a/package.json': manifest('a', '1.1.0') })
  assert.deepEqual(await repository.versions({ exclude: ['b', 'c'] }), { a: '1.1.0' })
  await repository.tag('a-v1.1.0')
  assert.deepEqual(await repository.versions({ exclude: ['b', 'c'] }), {})
})

test('kinds of changes', async (t) => {
  const repository = await released(t)
  const kinds: [string, string | undefined][] = [
    ['chore: x', undefined],
    ['whatever', undefined],
    ['fix: x', '1.0.1'],
    ['perf(core): x', '1.0.1'],
    ['feat(core,ui): x', '1.1.0'],
    ['Feat: x', '1.1.0'],
    ['fix!: x', '2.0.0'],
    ['refactor(core)!: x', '2.0.0'],
  ]
  for (const [message, version] of kinds) {
    await repository.git('reset', '-q', '--hard', 'a@1.0.0')
    await repository.change('a', message)
    assert.equal((await repository.versions())['a'], version, message)
  }
})

test('the whole message is read', async (t) => {
  const repository = await released(t)
  const messages: [string, string][] = [
    ['fix: x\n\nLonger text.\n\nBREAKING CHANGE: y is gone', '2.0.0'],
    ['fix: x\n\nBREAKING-CHANGE: y is gone\nReviewed-by: Z', '2.0.0'],
    ['chore: x\n\nBREAKING CHANGE: y', '2.0.0'],
    ['fix: x\n\nThis is no breaking change: it only looks like one', '1.0.1'],
    ['fix: x\n\nbreaking change: none', '1.0.1'],
    ['fix: x\n\n-notes-\nwhatever', '1.0.1'],
    ['fix: x\n\nfeat: y', '1.0.1'],
  ]
  for (const [message, version] of messages) {
    await repository.git('reset', '-q', '--hard', 'a@1.0.0')
    await repository.change('a', message)
    assert.equal((await repository.versions())['a'], version, message)
  }
})

test('0.x: breaking is minor unless majorOnZero', async (t) => {
  const repository = await released(t)
  await repository.change('c', 'feat!: x')
  assert.deepEqual(await repository.versions(), { c: '0.6.0' })
  assert.deepEqual(await repository.versions({ majorOnZero: true }), { c: '1.0.0' })
})

test('commits of merged branches count', async (t) => {
  const repository = await released(t)
  await repository.git('checkout', '-q', '-b', 'side')
  await repository.change('a', 'feat: on the side')
  await repository.git('checkout', '-q', 'main')
  await repository.change('d', 'fix: meanwhile')
  await repository.git('merge', '-q', '--no-ff', 'side', '-m', "Merge branch 'side'")
  assert.deepEqual(await repository.versions({ exclude: ['b', 'c'] }), { a: '1.1.0', d: '1.0.1' })
})

test('H4: the title of a merged request counts where its commits say nothing', async (t) => {
  const repository = await released(t)
  await repository.git('checkout', '-q', '-b', 'side')
  await repository.change('a', 'wip')
  await repository.change('d', 'fix: a detail')
  await repository.git('checkout', '-q', 'main')
  await repository.git(
    'merge',
    '-q',
    '--no-ff',
    'side',
    '-m',
    'Merge pull request #1 from x/side\n\nfeat: the title',
  )
  assert.deepEqual(await repository.versions({ exclude: ['b', 'c'] }), { a: '1.1.0', d: '1.0.1' })
})

test('H1: a revert removes a commit from the plan, and a revert of the revert restores it', async (t) => {
  const repository = await released(t)
  await repository.change('a', 'feat: x')
  await repository.git('revert', '--no-edit', 'HEAD')
  assert.deepEqual(await repository.versions(), {})
  await repository.git('revert', '--no-edit', 'HEAD')
  assert.equal((await repository.versions())['a'], '1.1.0')
  await repository.git('revert', '--no-edit', 'HEAD')
  assert.deepEqual(await repository.versions(), {})
})

test('H1: only the reverted commit is cancelled', async (t) => {
  const repository = await released(t)
  await repository.change('a', 'fix: stays')
  const feature = await repository.change('a', 'feat: goes')
  await repository.change('a', `revert: feat: goes\n\nThis reverts commit ${feature.slice(0, 10)}.`)
  assert.equal((await repository.versions())['a'], '1.0.1')
})

test('H1: GitHub names the title, not the commit', async (t) => {
  const repository = await released(t)
  await repository.change('a', 'feat: x (#12)')
  await repository.change('a', 'Revert "feat: x (#12)" (#13)\n\nReverts acme/whole#12')
  assert.deepEqual(await repository.versions(), {})
  await repository.change(
    'a',
    'Revert "Revert "feat: x (#12)" (#13)" (#14)\n\nReverts acme/whole#13',
  )
  assert.equal((await repository.versions())['a'], '1.1.0')
})

test('H1: a feature that also takes something back is still a feature', async (t) => {
  const repository = await released(t)
  const bad = await repository.change('a', 'fix!: bad idea')
  await repository.change('a', `feat: better idea\n\nThis reverts commit ${bad}.`)
  assert.equal((await repository.versions())['a'], '1.1.0')
})

test('H2: taking back a merge takes back all that it brought, and only that', async (t) => {
  const repository = await released(t)
  await repository.change('a', 'fix: before')
  await repository.git('checkout', '-q', '-b', 'side')
  await repository.change('a', 'feat: one')
  await repository.change('d', 'feat!: two')
  await repository.git('checkout', '-q', 'main')
  await repository.change('a', 'fix: meanwhile')
  await repository.git('merge', '-q', '--no-ff', 'side', '-m', "Merge branch 'side'")
  assert.deepEqual(await repository.versions({ exclude: ['b', 'c'] }), { a: '1.1.0', d: '2.0.0' })
  await repository.git('revert', '--no-edit', '-m', '1', 'HEAD')
  assert.deepEqual(await repository.versions({ exclude: ['b', 'c'] }), { a: '1.0.1' })
})

test('H3: reverting a released commit is a fix', async (t) => {
  const repository = await released(t)
  await repository.change('a', 'feat: x')
  await repository.git('tag', 'a@1.1.0')
  await repository.git('revert', '--no-edit', 'HEAD')
  assert.equal((await repository.versions())['a'], '1.1.1')
})

test('prereleases count on, and the release after them has all of their changes', async (t) => {
  const repository = await released(t)
  const only = { exclude: ['b', 'c'] }
  await repository.change('a', 'feat: x')
  assert.deepEqual(await repository.versions({ ...only, prerelease: 'rc' }), { a: '1.1.0-rc.0' })
  await repository.tag('a@1.1.0-rc.0')
  assert.deepEqual(await repository.versions({ ...only, prerelease: 'rc' }), {}, 'nothing new')
  await repository.change('a', 'fix: y')
  assert.deepEqual(await repository.versions({ ...only, prerelease: 'rc' }), { a: '1.1.0-rc.1' })
  assert.equal((await repository.plan({ prerelease: 'rc' })).packages.get('a')!.distTag, 'rc')
  await repository.tag('a@1.1.0-rc.1')
  assert.deepEqual(await repository.versions(only), { a: '1.1.0' })
  await repository.change('a', 'feat!: z')
  assert.deepEqual(await repository.versions({ ...only, prerelease: 'rc' }), { a: '2.0.0-rc.0' })
  assert.deepEqual(await repository.versions(only), { a: '2.0.0' })
})

test('without a tag of the current version, the nearest one that is reachable', async (t) => {
  const repository = await released(t)
  await repository.change('a', 'feat!: before')
  await repository.commit('chore: version 2', { 'packages/a/package.json': manifest('a', '2.0.0') })
  await repository.change('a', 'fix: after')
  const { packages, warnings } = await repository.plan({ exclude: ['b', 'c'] })
  assert.equal(packages.get('a')!.version, '3.0.0', '2.0.0 is not known')
  assert.match(
    warnings![0]!,
    /a is at 2\.0\.0, which was not tagged; its changes are counted from a@1\.0\.0/,
  )
  await repository.git('tag', 'a@2.0.0', 'HEAD~1')
  assert.equal((await repository.versions())['a'], '2.0.1')
})

test('P2: tags of other branches do not count; a merged older line does not hide a newer release', async (t) => {
  const repository = await released(t)
  await repository.git('checkout', '-q', '-b', 'other')
  await repository.change('a', 'feat!: elsewhere')
  await repository.tag('a@5.0.0')
  await repository.git('checkout', '-q', 'main')
  await repository.change('a', 'feat: here')
  assert.equal((await repository.versions())['a'], '1.1.0')

  await repository.tag('a@1.1.0')
  await repository.git('checkout', '-q', '-b', 'old', 'a@1.0.0')
  await repository.change('a', 'fix: for the old line')
  // Two commits here, one there: by distance the tag of the old line is the nearer one.
  await repository.change('a', 'fix: for the old line, too')
  await repository.tag('a@1.0.1')
  await repository.git('checkout', '-q', 'main')
  await repository.git('merge', '-q', '--no-ff', 'old', '-m', "Merge branch 'old'")
  assert.equal(
    (await repository.versions())['a'],
    '1.1.1',
    'the fixes are new here, the feature is not',
  )
})

test('packages with different last releases in one plan', async (t) => {
  const repository = await released(t)
  await repository.change('a', 'feat!: one')
  await repository.tag('a@2.0.0')
  await repository.change('d', 'feat: two')
  await repository.change('a', 'fix: three')
  assert.deepEqual(await repository.versions({ exclude: ['b', 'c'] }), { a: '2.0.1', d: '1.1.0' })
})

test('first releases: the version as written; 0.0.0 is none; `since` counts instead', async (t) => {
  const repository = await Repository.create(t, {
    'package.json': { name: 'root', private: true, workspaces: ['packages/*'] },
    'packages/new/package.json': manifest('new', '0.1.0'),
    'packages/zero/package.json': manifest('zero', '0.0.0'),
  })
  await repository.change('zero', 'feat: x')
  assert.deepEqual(await repository.versions(), { new: '0.1.0', zero: '0.1.0' })
  assert.match((await repository.plan()).packages.get('new')!.reason, /first release: no tag new@/)
  assert.deepEqual(await repository.versions({ prerelease: 'rc' }), {
    new: '0.1.0-rc.0',
    zero: '0.1.0-rc.0',
  })
  assert.deepEqual(await repository.versions({ since: 'HEAD~1' }), { zero: '0.1.0' })
  await assert.rejects(repository.versions({ since: 'nowhere' }), { code: 'HDL_BAD_OPTION' })
})

test('a package alone is tagged v1.2.3, and owns all files', async (t) => {
  const repository = await Repository.create(t, { 'package.json': manifest('alone', '1.2.3') })
  await repository.git('tag', '-a', 'v1.2.3', '-m', 'a tag that is an object of its own')
  await repository.commit('feat: x', { 'src/index.js': '' })
  assert.deepEqual(await repository.versions(), { alone: '1.3.0' })
})

test('a package in a package: a file belongs to the inner one', async (t) => {
  const repository = await Repository.create(t, {
    'package.json': manifest('outer', '1.0.0', { private: false, workspaces: ['packages/*'] }),
    'packages/inner/package.json': manifest('inner'),
  })
  await repository.tag('outer@1.0.0', 'inner@1.0.0')
  await repository.change('inner', 'feat: x')
  assert.deepEqual(await repository.versions(), { inner: '1.1.0' })
  await repository.commit('fix: y', { 'lib/y.js': '' })
  assert.deepEqual(await repository.versions(), { inner: '1.1.0', outer: '1.0.1' })
})

test('a file that moves from one package to another changes both; names of files may be anything', async (t) => {
  const repository = await released(t)
  await repository.commit('chore: add', {
    'packages/a/Ünï "c" \t\n.txt': 'content that is long enough to be found',
  })
  await repository.tag('a@1.0.1')
  await repository.git('mv', 'packages/a/Ünï "c" \t\n.txt', 'packages/d/moved.txt')
  await repository.git('commit', '-q', '-m', 'fix: move')
  assert.deepEqual(await repository.versions({ exclude: ['b', 'c'] }), { a: '1.0.2', d: '1.0.1' })
})

test('synchronised: one version for all, from the highest, by the biggest change', async (t) => {
  const repository = await released(t)
  await repository.change('d', 'feat: x')
  assert.deepEqual(await repository.versions({ mode: 'synchronised' }), {
    a: '1.1.0',
    b: '1.1.0',
    c: '1.1.0',
    d: '1.1.0',
  })
  const { packages } = await repository.plan({ mode: 'synchronised' })
  assert.equal(packages.get('a')!.reason, 'together with d')
  await repository.tag('v1.1.0')
  assert.deepEqual(await repository.versions({ mode: 'synchronised' }), {})
})

test('several ecosystems: each in its own spelling', async (t) => {
  const repository = await Repository.create(t, {
    'package.json': { name: 'root', private: true, workspaces: ['packages/js'] },
    'pyproject.toml': '[tool.uv.workspace]\nmembers = ["packages/py"]\n',
    'packages/js/package.json': manifest('js'),
    'packages/py/pyproject.toml': '[project]\nname = "py"\nversion = "1.0"\n',
  })
  await repository.tag('js@1.0.0', 'py@1.0')
  await repository.commit('feat: x', { 'packages/js/x': '', 'packages/py/x': '' })
  assert.deepEqual(await repository.versions({ prerelease: 'beta' }), {
    js: '1.1.0-beta.0',
    py: '1.1.0b0',
  })
})

test('the workspace may be a folder of the repository', async (t) => {
  const repository = await Repository.create(t, {
    'js/package.json': { name: 'root', private: true, workspaces: ['packages/*'] },
    'js/packages/a/package.json': manifest('a'),
    'packages/a/decoy.txt': '',
  })
  await repository.tag('a@1.0.0')
  await repository.commit('feat: not here', { 'packages/a/x': '' })
  const workspace = await readWorkspace(path.join(repository.folder, 'js'))
  assert.equal((await planFromCommits(workspace)).packages.get('a')!.status, 'unchanged')
  await repository.commit('fix: here', { 'js/packages/a/x': '' })
  assert.equal((await planFromCommits(workspace)).packages.get('a')!.version, '1.0.1')
})

test('P5: a shallow clone is enough when it reaches the last release, and refused otherwise', async (t) => {
  const repository = await released(t)
  await repository.change('a', 'feat: x')
  await repository.change('a', 'fix: y')
  const folder = await makeTree(t, {})
  const clone = async (depth: number): Promise<Repository> => {
    const cloned = new Repository(path.join(folder, String(depth)))
    await repository.git(
      'clone',
      '-q',
      '--depth',
      String(depth),
      `file://${repository.folder}`,
      cloned.folder,
    )
    await cloned.git('fetch', '-q', '--tags', '--depth', String(depth))
    return cloned
  }
  assert.equal((await (await clone(3)).versions())['a'], '1.1.0')
  const short = await clone(2)
  await assert.rejects(short.versions(), (error) => {
    assert.ok(isError(error, 'HDL_HISTORY_CUT'))
    assert.deepEqual(error.details.packages, ['a', 'b', 'c', 'd'])
    return true
  })
})

test('many commits, read in pages', async (t) => {
  const repository = await released(t)
  await repository.change('a', 'feat: the first')
  const start = await repository.git('rev-parse', 'HEAD')
  const commits = Array.from({ length: 600 }, (_, i) => {
    const from = i === 0 ? `from ${start}\n` : ''
    return `commit refs/heads/main\ncommitter A <a@example.com> 1767225600 +0000\ndata <<END\nchore: ${i}\nEND\n${from}`
  })
  await repository.write('.git/stream', commits.join('\n'))
  await runCommand('sh', ['-c', 'git fast-import --quiet < .git/stream'], {
    cwd: repository.folder,
  })
  assert.equal(await repository.git('rev-list', '--count', 'HEAD'), '602')
  assert.equal((await repository.versions())['a'], '1.1.0')
})

test('two histories without a common start', async (t) => {
  const repository = await released(t)
  await repository.git('checkout', '-q', '--orphan', 'other')
  await repository.git('rm', '-rfq', '.')
  await repository.commit('feat: elsewhere', { 'packages/d/other.txt': '' })
  await repository.tag('d@1.1.0')
  await repository.git('checkout', '-q', 'main')
  await repository.git(
    'merge',
    '-q',
    '--allow-unrelated-histories',
    '-X',
    'ours',
    '-m',
    'Merge branch other',
    'other',
  )
  await repository.change('a', 'fix: x')
  await repository.change('d', 'fix: y')
  assert.deepEqual(await repository.versions({ exclude: ['b', 'c'] }), { a: '1.0.1', d: '1.1.1' })
})

test('the same history gives the same plan', async (t) => {
  const repository = await released(t)
  await repository.change('a', 'feat: x')
  await repository.change('d', 'fix: y')
  const [first, second] = [await repository.plan(), await repository.plan()]
  assert.deepEqual(first, second)
})

test('a plan can be cancelled, and refuses a missing repository and bad options', async (t) => {
  const repository = await released(t)
  const workspace = await readWorkspace(repository.folder)
  await assert.rejects(planFromCommits(workspace, { signal: AbortSignal.abort('no') }), {
    code: 'HDL_CANCELLED',
  })
  await assert.rejects(planFromCommits(workspace, { prerelease: '1' }), { code: 'HDL_BAD_OPTION' })
  await assert.rejects(planFromCommits(workspace, { mode: 'both' as never }), {
    code: 'HDL_BAD_OPTION',
  })
  const nowhere = { ...workspace, root: path.parse(repository.folder).root }
  await assert.rejects(planFromCommits(nowhere), { code: 'HDL_COMMAND_FAILED' })
})

test('changes are counted from tags of other tools', async (t) => {
  for (const tags of [
    ['a-v1.0.0'],
    ['v1.0.0'],
    ['a@1.0.0'],
    ['a@v1.0.0'],
    ['core-v1.0.0', 'pkg/a/1.0.0'],
  ]) {
    const isConfigured = tags.length > 1
    const repository = await Repository.create(t, {
      'package.json': { name: 'root', private: true, workspaces: ['packages/*'] },
      'packages/a/package.json': manifest('a'),
    })
    await repository.change('a', 'feat!: before')
    await repository.tag(...tags)
    await repository.change('a', 'fix: after')
    const plan = await planFromCommits(await readWorkspace(repository.folder), {
      ...(isConfigured && { tagFormat: 'pkg/{name}/{version}' }),
    })
    assert.equal(plan.packages.get('a')!.version, '1.0.1', tags.join())
  }
})
