import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { startVerdaccio, type Verdaccio } from '@heddle/release/testing'
import { FlowRepository, outcomesOf } from './flow-kit.ts'

let registry: Verdaccio
before(async () => {
  registry = await startVerdaccio()
})
after(() => registry.close())

const intent = (bumps: Readonly<Record<string, string>>, text: string): string =>
  [
    '---',
    ...Object.entries(bumps).map(([name, bump]) => `'${name}': ${bump}`),
    '---',
    '',
    text,
    '',
  ].join('\n')

function changesetsRepository(scope: string): FlowRepository {
  const repo = new FlowRepository(registry.url)
  repo.write('package.json', { name: 'root', private: true, workspaces: ['packages/*'] })
  repo.write('.changeset/config.json', {})
  repo.write('packages/a/package.json', { name: `${scope}/a`, version: '1.0.0' })
  repo.write('packages/b/package.json', {
    name: `${scope}/b`,
    version: '1.0.0',
    dependencies: { [`${scope}/a`]: '^1.0.0' },
  })
  const link = (folder: string): object => ({ resolved: folder, link: true })
  repo.write('package-lock.json', {
    name: 'root',
    lockfileVersion: 3,
    packages: {
      '': { name: 'root', workspaces: ['packages/*'] },
      [`node_modules/${scope}/a`]: link('packages/a'),
      [`node_modules/${scope}/b`]: link('packages/b'),
      'packages/a': { name: `${scope}/a`, version: '1.0.0' },
      'packages/b': {
        name: `${scope}/b`,
        version: '1.0.0',
        dependencies: { [`${scope}/a`]: '^1.0.0' },
      },
    },
  })
  repo.commit('first')
  return repo
}

test('L5 a first release with a pending changeset: it is refused for the changeset, not for its dependencies', async () => {
  using repo = changesetsRepository('@fresh')
  repo.write('.changeset/one.md', intent({ '@fresh/b': 'minor' }, 'Add x.'))
  repo.commit('x')
  for (const more of [[], ['--from', 'changesets']]) {
    const { code, stderr } = await repo.release('publish', ...more)
    assert.equal(code, 2)
    assert.match(stderr, /heddle release version[^]*HDL_CHANGES_PENDING/)
  }
})

test('changesets, three releases: each is versioned, published and read back; none is lost', async () => {
  using repo = changesetsRepository('@flow')
  const first = await repo.release('publish')
  assert.equal(first.code, 0, first.stderr)
  for (const name of ['@flow/a', '@flow/b']) {
    assert.deepEqual((await repo.onRegistry(name)).versions, ['1.0.0'], name)
  }

  repo.write('.changeset/one.md', intent({ '@flow/a': 'minor' }, 'Add x.\n\nAnd say more.'))
  repo.write('packages/a/index.js', 'exports.x = 1\n')
  repo.commit('x')
  const early = await repo.release('publish')
  assert.equal(early.code, 2)
  assert.match(early.stderr, /HDL_CHANGES_PENDING/)
  assert.match(early.stderr, /@flow\/a 1\.0\.0 → 1\.1\.0/)
  const versioned = await repo.release('version')
  assert.equal(versioned.code, 0, versioned.stderr)
  assert.equal(repo.status, '')
  assert.ok(!existsSync(path.join(repo.root, '.changeset/one.md')))
  const added = repo.git('rev-parse', 'HEAD~1').slice(0, 7)
  assert.equal(
    repo.read('packages/a/CHANGELOG.md'),
    `# @flow/a\n\n## 1.1.0\n\n### Minor Changes\n\n- ${added}: Add x.\n\n  And say more.\n`,
  )
  const lock = JSON.parse(repo.read('package-lock.json')) as {
    packages: Record<string, { version?: string }>
  }
  assert.equal(lock.packages['packages/a']!.version, '1.1.0')
  const second = await repo.release('publish')
  assert.equal(second.code, 0, second.stderr)
  assert.deepEqual(outcomesOf(second), { '@flow/a': 'published', '@flow/b': 'already-published' })
  assert.deepEqual((await repo.onRegistry('@flow/a')).versions, ['1.0.0', '1.1.0'])

  repo.write('.changeset/two.md', intent({ '@flow/a': 'major', '@flow/b': 'patch' }, 'Remove y.'))
  repo.write('packages/a/index.js', 'exports.x = 2\n')
  repo.commit('no y')
  assert.equal((await repo.release('version')).code, 0)
  assert.equal((await repo.release('version')).result.packages.length, 0)
  const third = await repo.release('publish')
  assert.equal(third.code, 0, third.stderr)
  assert.deepEqual(outcomesOf(third), { '@flow/a': 'published', '@flow/b': 'published' })
  const a = await repo.onRegistry('@flow/a')
  assert.deepEqual([a.versions, a.tags], [['1.0.0', '1.1.0', '2.0.0'], { latest: '2.0.0' }])
  const b = await repo.onRegistry('@flow/b')
  assert.deepEqual(b.versions, ['1.0.0', '1.0.1'])
  assert.deepEqual(b.dependencies['1.0.1'], { '@flow/a': '^2.0.0' })
  assert.match(
    repo.read('packages/b/CHANGELOG.md'),
    /- Updated dependencies \[\w{7}\]\n {2}- @flow\/a@2\.0\.0/,
  )
  const tagged = repo.git('rev-parse', '@flow/a@2.0.0^{commit}')
  assert.equal(tagged, repo.git('rev-parse', 'HEAD'))
  assert.match(repo.git('show', '@flow/a@2.0.0:packages/a/package.json'), /"version": "2\.0\.0"/)
  assert.equal(repo.status, '')
})

test('conventional commits with a prerelease and a hotfix: versions, dist-tags and tags', async () => {
  using repo = new FlowRepository(registry.url)
  repo.write('package.json', { name: 'root', private: true, workspaces: ['packages/*'] })
  repo.write('packages/a/package.json', { name: '@cc/a', version: '1.0.0' })
  repo.write('packages/b/package.json', {
    name: '@cc/b',
    version: '1.0.0',
    dependencies: { '@cc/a': 'workspace:^' },
  })
  repo.commit('feat: first')
  assert.equal((await repo.release('publish')).code, 0)
  assert.deepEqual((await repo.onRegistry('@cc/a')).tags, { latest: '1.0.0' })
  repo.git('branch', 'hotfix')

  repo.write('packages/a/index.js', 'exports.x = 1\n')
  repo.commit('feat: add x')
  const from = ['--from', 'commits']
  const rc = await repo.release('version', ...from, '--preid', 'rc')
  assert.equal(rc.code, 0, rc.stderr)
  // The same command again makes nothing twice.
  assert.equal((await repo.release('version', ...from, '--preid', 'rc')).result.packages.length, 0)
  const published = await repo.release('publish')
  assert.equal(published.code, 0, published.stderr)
  assert.deepEqual((await repo.onRegistry('@cc/a')).tags, { latest: '1.0.0', rc: '1.1.0-rc.0' })
  assert.deepEqual((await repo.onRegistry('@cc/b')).tags, { latest: '1.0.0', rc: '1.0.1-rc.0' })

  repo.write('packages/a/index.js', 'exports.x = 2\n')
  repo.commit('fix: x is 2')
  assert.equal((await repo.release('version', ...from)).code, 0)
  assert.match(
    repo.read('packages/a/CHANGELOG.md'),
    /## 1\.1\.0\n\n### Minor Changes\n\n- feat: add x\n/,
  )
  const stable = await repo.release('publish')
  assert.equal(stable.code, 0, stable.stderr)
  assert.deepEqual((await repo.onRegistry('@cc/a')).tags, { latest: '1.1.0', rc: '1.1.0-rc.0' })

  repo.git('switch', '--quiet', 'hotfix')
  repo.write('packages/a/fix.js', '1\n')
  repo.commit('fix: an old fault')
  assert.equal((await repo.release('version', ...from)).code, 0)
  const refused = await repo.release('publish')
  assert.equal(refused.code, 1, 'latest would go back to an older line')
  assert.deepEqual((await repo.onRegistry('@cc/a')).versions, ['1.0.0', '1.1.0-rc.0', '1.1.0'])
  const hotfix = await repo.release('publish', '--dist-tag', 'line-1.0')
  assert.equal(hotfix.code, 0, hotfix.stderr)
  const a = await repo.onRegistry('@cc/a')
  assert.deepEqual(a.versions, ['1.0.0', '1.1.0-rc.0', '1.1.0', '1.0.1'])
  assert.deepEqual(a.tags, { latest: '1.1.0', rc: '1.1.0-rc.0', 'line-1.0': '1.0.1' })
  assert.deepEqual(outcomesOf(hotfix), { '@cc/a': 'published', '@cc/b': 'published' })
  const b = await repo.onRegistry('@cc/b')
  assert.deepEqual(b.dependencies['1.0.1'], { '@cc/a': '^1.1.0' })
  assert.deepEqual(b.dependencies['1.0.2'], { '@cc/a': '^1.0.1' }, '1.0.1 is that of main')
  assert.equal(repo.status, '')
})

test('lockstep: all packages get the same version, and the registry has it', async () => {
  using repo = new FlowRepository(registry.url)
  repo.write('package.json', { name: 'root', private: true, workspaces: ['packages/*'] })
  repo.write('packages/a/package.json', { name: '@lock/a', version: '1.0.0' })
  repo.write('packages/b/package.json', {
    name: '@lock/b',
    version: '1.0.0',
    dependencies: { '@lock/a': 'workspace:^' },
  })
  repo.commit('feat: first')
  assert.equal((await repo.release('publish')).code, 0)
  assert.deepEqual((await repo.onRegistry('@lock/b')).versions, ['1.0.0'])
  repo.write('packages/b/index.js', 'exports.y = 1\n')
  repo.commit('feat: y')
  const flags = ['--from', 'commits', '--lockstep']
  assert.equal((await repo.release('version', ...flags)).code, 0)
  assert.equal((await repo.release('version', ...flags)).result.packages.length, 0)
  const published = await repo.release('publish')
  assert.equal(published.code, 0, published.stderr)
  for (const name of ['@lock/a', '@lock/b']) {
    const found = await repo.onRegistry(name)
    assert.deepEqual([found.versions, found.tags], [['1.0.0', '1.1.0'], { latest: '1.1.0' }], name)
  }
  assert.deepEqual((await repo.onRegistry('@lock/b')).dependencies['1.1.0'], {
    '@lock/a': '^1.1.0',
  })
  assert.equal(repo.status, '')
})

test('version refuses a dirty tree, and a dry run writes nothing', async () => {
  using repo = changesetsRepository('@dirty')
  repo.write('.changeset/one.md', intent({ '@dirty/a': 'minor' }, 'Add x.'))
  repo.write('packages/a/index.js', 'not committed\n')
  const refused = await repo.release('version')
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /HDL_TREE_DIRTY/)
  repo.commit('an intent')
  const rehearsed = await repo.release('version', '--dry-run')
  assert.deepEqual(rehearsed.result.packages, [
    { name: '@dirty/a', from: '1.0.0', version: '1.1.0' },
  ])
  assert.equal(repo.status, '')
  assert.match(repo.read('packages/a/package.json'), /"1\.0\.0"/)
})
