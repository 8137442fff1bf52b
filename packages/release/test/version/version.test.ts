import assert from 'node:assert/strict'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import { planAsPrepared } from '../../src/plan/choose-source.ts'
import { planFromChangesets } from '../../src/plan/from-changesets.ts'
import { planFromCommits } from '../../src/plan/from-commits.ts'
import { planTable } from '../../src/plan/output/plan-table.ts'
import { versionRelease, type VersionReport } from '../../src/version/version.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { Monorepo } from '../support/monorepo.ts'

function repository(fields: Readonly<Record<string, object>> = {}): Monorepo {
  const repo = new Monorepo({ packages: { a: [], b: ['a'], app: [] }, fields })
  repo.git('config', 'user.name', 'Somebody')
  repo.git('config', 'user.email', 'somebody@example.com')
  return repo
}

async function version(
  repo: Monorepo,
  from: 'changesets' | 'commits' = 'changesets',
  exclude: readonly string[] = [],
  more: { readonly message?: string; readonly dryRun?: boolean } = {},
): Promise<VersionReport> {
  return versionRelease(repo.root, {
    ...more,
    plan: async () => {
      const workspace = await readWorkspace(repo.root)
      return from === 'changesets'
        ? planFromChangesets(workspace, { exclude })
        : planFromCommits(workspace, { purpose: 'version' })
    },
  })
}

const readText = (repo: Monorepo, file: string): string =>
  readFileSync(path.join(repo.root, file), 'utf8')

const isThere = (repo: Monorepo, file: string): boolean => existsSync(path.join(repo.root, file))

test('a changeset of a package that gets no version stays, and does not hold up publishing', async () => {
  using repo = repository({ app: { private: true } })
  repo.write('.changeset/config.json', {})
  repo.write('.changeset/x.md', '---\n"a": minor\n---\n\nx\n')
  repo.write('.changeset/y.md', '---\n"app": minor\n---\n\nonly of the app\n')
  repo.write('.changeset/z.md', '---\n"b": minor\n---\n\nof what is excluded\n')
  repo.commit('changes')
  const { packages, kept } = await version(repo, 'changesets', ['b'])
  assert.deepEqual(
    packages.map(({ name }) => name),
    ['a'],
  )
  assert.deepEqual(kept, [
    { file: '.changeset/y.md', packages: ['app'] },
    { file: '.changeset/z.md', packages: ['b'] },
  ])
  const left = ['x', 'y', 'z'].filter((name) => isThere(repo, `.changeset/${name}.md`))
  assert.deepEqual(left, ['y', 'z'])
  assert.equal(repo.status, '')
  const plan = await planAsPrepared(await readWorkspace(repo.root), { exclude: ['b'] })
  assert.equal(plan.source, 'manifests')
  assert.equal(plan.packages.get('a')!.status, 'included')
})

test('a changeset of an excluded package beside a released one is refused, and nothing is written', async () => {
  using repo = repository()
  repo.write('.changeset/config.json', {})
  repo.write('.changeset/x.md', '---\n"a": minor\n"app": patch\n---\n\nx\n')
  repo.commit('changes')
  await assert.rejects(
    version(repo, 'changesets', ['app']),
    (error) => isError(error, 'HDL_WORKSPACE_INVALID') && /Split it/.test(error.message),
  )
  assert.equal(repo.status, '')
})

test('a version that another branch has tagged is not made again from changesets', async () => {
  using repo = repository()
  repo.write('.changeset/config.json', {})
  repo.commit('start')
  repo.git('branch', 'other')
  repo.write('.changeset/one.md', '---\n"a": minor\n---\n\none\n')
  repo.commit('one')
  assert.equal((await version(repo)).packages[0]!.version, '1.1.0')
  repo.git('tag', 'a@1.1.0')
  repo.git('switch', '--quiet', 'other')
  repo.write('.changeset/two.md', '---\n"a": minor\n---\n\ntwo\n')
  repo.commit('two')
  await assert.rejects(version(repo), (error) => isError(error, 'HDL_VERSION_TAGGED'))
  assert.ok(isThere(repo, '.changeset/two.md'))
  assert.equal(repo.status, '')
})

test('P7 a version that another branch has tagged is left out when commits make versions', async () => {
  using repo = repository()
  repo.git('tag', 'a@1.0.0')
  repo.git('tag', 'b@1.0.0')
  repo.git('branch', 'hotfix')
  repo.write('packages/a/index.js', '2\n')
  repo.commit('feat!: drop x')
  await version(repo, 'commits')
  for (const tag of ['a@2.0.0', 'b@1.0.1']) repo.git('tag', tag)
  repo.git('switch', '--quiet', 'hotfix')
  repo.write('packages/a/index.js', '3\n')
  repo.commit('fix: an old fault')
  const { packages, warnings } = await version(repo, 'commits')
  const made = packages.map(({ name, version: to }) => `${name}@${to}`)
  assert.deepEqual(made, ['a@1.0.1', 'b@1.0.2'])
  assert.deepEqual(warnings, ['b gets 1.0.2: another branch has the tag of 1.0.1.'])
})

test('a commit that a hook refuses is finished with another first line; a dry run finishes nothing', async () => {
  using repo = repository()
  repo.write('.changeset/config.json', {})
  repo.write('.changeset/one.md', '---\n"a": minor\n---\n\none\n')
  repo.commit('one')
  repo.write(
    '.git/hooks/commit-msg',
    '#!/bin/sh\ngrep -q "^chore: " "$1" || { echo no type; exit 1; }\n',
  )
  chmodSync(path.join(repo.root, '.git/hooks/commit-msg'), 0o755)
  await assert.rejects(
    version(repo),
    (error) => isError(error, 'HDL_COMMIT_REFUSED') && /no type/.test(error.message),
  )
  const before = repo.git('rev-parse', 'HEAD')
  await assert.rejects(
    version(repo, 'changesets', [], { dryRun: true, message: 'chore: x' }),
    (error) => isError(error, 'HDL_VERSION_UNFINISHED'),
  )
  assert.equal(repo.git('rev-parse', 'HEAD'), before)
  const report = await version(repo, 'changesets', [], { message: 'chore: release' })
  assert.equal(report.isFinished, true)
  assert.match(
    repo.git('log', '-1', '--format=%B'),
    /^chore: release\n\nHeddle-Versions: a@1\.1\.0\n/,
  )
  assert.equal(repo.status, '')
})

test('a new changeset is consumed by the commit; other changes of the tree are refused', async () => {
  using repo = repository()
  repo.write('.changeset/config.json', {})
  repo.commit('start')
  repo.write('.changeset/one.md', '---\n"a": minor\n---\n\none\n')
  repo.write('packages/a/übung.js', 'not committed\n')
  await assert.rejects(
    version(repo),
    // R10: as the file is called, not as Git escapes it.
    (error) =>
      isError(error, 'HDL_TREE_DIRTY') && /one file: .*packages\/a\/übung\.js/.test(error.message),
  )
  repo.git('clean', '--force', '--quiet', 'packages')
  assert.equal((await version(repo)).packages[0]!.version, '1.1.0')
  assert.equal(repo.status, '')
  assert.match(readText(repo, 'packages/a/CHANGELOG.md'), /\n- one\n/)
})

test('changelogs name the commit of each changeset, as Changesets does; another format is named once', async () => {
  using repo = repository()
  repo.write('.changeset/config.json', { changelog: ['@changesets/changelog-github', {}] })
  repo.write('.changeset/one.md', '---\n"a": minor\n---\n\nFirst line.\n\nMore.\n')
  repo.write('.changeset/two.md', '---\n"b": patch\n---\n\nOf b.\n')
  repo.commit('changes')
  const commit = repo.git('rev-parse', 'HEAD').slice(0, 7)
  const { warnings } = await version(repo)
  assert.match(warnings.join('\n'), /changelog-github, which is not run/)
  assert.equal(
    readText(repo, 'packages/a/CHANGELOG.md'),
    `# a\n\n## 1.1.0\n\n### Minor Changes\n\n- ${commit}: First line.\n\n  More.\n`,
  )
  assert.equal(
    readText(repo, 'packages/b/CHANGELOG.md'),
    `# b\n\n## 1.0.1\n\n### Patch Changes\n\n- ${commit}: Of b.\n- Updated dependencies [${commit}]\n  - a@1.1.0\n`,
  )
})

test('a range with several parts that excludes the new version is refused, and nothing is written', async () => {
  using repo = repository({ b: { dependencies: { a: '>=1.0.0 <2.0.0' } } })
  repo.write('.changeset/config.json', {})
  repo.write('.changeset/one.md', '---\n"a": major\n---\n\none\n')
  repo.commit('changes')
  await assert.rejects(
    version(repo),
    (error) =>
      isError(error, 'HDL_PLAN_INVALID') &&
      /b: "a": ">=1\.0\.0 <2\.0\.0" in dependencies does not allow 2\.0\.0 of a/.test(
        error.message,
      ),
  )
  assert.equal(repo.status, '')
  const table = planTable(await planAsPrepared(await readWorkspace(repo.root)))
  assert.match(table, /error: b cannot be released: "a" in dependencies is ">=1\.0\.0 <2\.0\.0"/)
})

test('a uv workspace: versions, ranges that exclude a new version, and uv.lock', async () => {
  using repo = new Monorepo({ packages: {} })
  repo.git('config', 'user.name', 'Somebody')
  repo.git('config', 'user.email', 'somebody@example.com')
  repo.git('rm', '--quiet', 'package.json')
  repo.write('pyproject.toml', '[tool.uv.workspace]\nmembers = ["py/*"]\n')
  const python = (name: string, more: string): void =>
    repo.write(
      `py/${name}/pyproject.toml`,
      `[project]\nname = "${name}"\nversion = "1.0.0"\n${more}`,
    )
  python('aa', '')
  python(
    'bb',
    'dependencies = ["aa[x]>=1.0,<2 ; python_version < \'4\'", "requests>=2"]\n[dependency-groups]\ndev = ["aa==1.0.0"]\n',
  )
  const locked = (name: string, at: string): string =>
    `[[package]]\nname = "${name}"\nversion = "${at}"\nsource = { editable = "py/${name}" }\n\n`
  const other =
    '[[package]]\nname = "requests"\nversion = "1.0.0"\nsource = { registry = "https://pypi.org/simple" }\n'
  repo.write('uv.lock', `version = 1\n\n${locked('aa', '1.0.0')}${locked('bb', '1.0.0')}${other}`)
  repo.commit('chore: start')
  repo.git('tag', 'aa@1.0.0')
  repo.git('tag', 'bb@1.0.0')
  repo.write('py/aa/aa.py', 'x = 1\n')
  repo.commit('feat!: drop y')
  const { packages } = await version(repo, 'commits')
  assert.deepEqual(
    packages.map(({ name, version: to }) => `${name}@${to}`),
    ['aa@2.0.0', 'bb@1.0.1'],
  )
  assert.match(
    readText(repo, 'py/bb/pyproject.toml'),
    /"aa\[x\]>=2\.0\.0,<3 ; python_version < '4'", "requests>=2"\]/,
  )
  assert.match(readText(repo, 'py/bb/pyproject.toml'), /dev = \["aa==2\.0\.0"\]/)
  assert.equal(
    readText(repo, 'uv.lock'),
    `version = 1\n\n${locked('aa', '2.0.0')}${locked('bb', '1.0.1')}${other}`,
  )
  assert.equal(repo.status, '')
})

test('a dry run refuses leftovers of an interrupted release, and repairs nothing', async () => {
  using repo = repository()
  repo.write('.git/heddle/scripts/a.json', { name: 'a', folder: repo.root, manifest: {} })
  await assert.rejects(version(repo, 'changesets', [], { dryRun: true }), (error) =>
    isError(error, 'HDL_RELEASE_UNFINISHED'),
  )
  assert.ok(isThere(repo, '.git/heddle/scripts/a.json'))
})
