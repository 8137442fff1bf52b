/** Versions that are on the registry before the release begins: of other tools, other clones, other commits. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { HeddleError, isError } from '@heddle/core'
import { planFromCommits } from '../../src/plan/from-commits.ts'
import { planFromManifests } from '../../src/plan/from-manifests.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { openRegistries } from '../../src/registry/open-registries.ts'
import { publishRelease } from '../../src/stages/release.ts'
import { startFaultProxy } from '../../src/testing/fault-proxy.ts'
import { startVerdaccio, type Verdaccio } from '../../src/testing/verdaccio.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { Monorepo } from '../support/monorepo.ts'
import { outcomesOf, publishManifests } from '../support/publish.ts'

let registry: Verdaccio
before(async () => {
  registry = await startVerdaccio()
})
after(() => registry.close())

/** Publishes with npm alone, without our code. */
function publishWithNpm(repo: Monorepo, name: string): void {
  const { host } = new URL(registry.url)
  const token = `--//${host}/:_authToken=anybody`
  const args = ['publish', '--registry', registry.url, token, '--ignore-scripts']
  execFileSync('npm', args, { cwd: path.join(repo.root, 'packages', name), stdio: 'ignore' })
}

for (const tag of ['v1.0.0', undefined]) {
  test(`a repository that another tool released, ${tag ?? 'without tags'}: only the new version is published`, async () => {
    const [a, b] = tag === undefined ? ['na', 'nb'] : ['ta', 'tb']
    using repo = new Monorepo({ packages: { [a]: [], [b]: [] } })
    publishWithNpm(repo, a)
    publishWithNpm(repo, b)
    if (tag !== undefined) repo.git('tag', tag)
    repo.write(`packages/${a}/index.js`, 'changed since, and not to be released\n')
    repo.write(`packages/${b}/package.json`, {
      name: b,
      version: '1.1.0',
      dependencies: { [a]: '^1.0.0' },
    })
    repo.commit('b 1.1.0')
    for (const dryRun of [true, false]) {
      const report = await publishManifests(repo, registry.url, { dryRun })
      assert.equal(report.ok, true, JSON.stringify(report.packages))
      const wanted = dryRun ? 'skipped' : 'published'
      assert.deepEqual(outcomesOf(report), { [a]: 'already-published', [b]: wanted })
    }
  })
}

test('a fresh clone finishes a half-done release, although its builds give other bytes', async () => {
  const scripts = { build: 'node -p "process.hrtime.bigint()" > out.txt' }
  using repo = new Monorepo({
    packages: { fa: [], fb: ['fa'] },
    fields: { fa: { scripts }, fb: { scripts } },
  })
  repo.write('.gitignore', 'out.txt\n')
  repo.write('packages/fa/.npmignore', 'nothing\n')
  repo.write('packages/fb/.npmignore', 'nothing\n')
  repo.commit('ignored output')
  const rules = [{ method: 'PUT', package: 'fb', status: 403 }]
  await using proxy = await startFaultProxy({ target: registry.url, rules })
  const first = await publishManifests(repo, proxy.url)
  assert.deepEqual(outcomesOf(first), { fa: 'published', fb: 'failed' })
  proxy.rules.clear()
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-clone-'))
  try {
    execFileSync('git', ['clone', '--quiet', repo.root, folder])
    execFileSync('git', ['tag', '--delete', 'fa@1.0.0'], { cwd: folder, stdio: 'ignore' })
    const report = await publishManifests({ root: folder }, proxy.url)
    assert.equal(report.ok, true, JSON.stringify(report.packages))
    assert.deepEqual(outcomesOf(report), { fa: 'already-published', fb: 'published' })
    assert.equal(proxy.uploads.get('fa@1.0.0')?.sent, 1)
    const tags = execFileSync('git', ['tag'], { cwd: folder, encoding: 'utf8' })
    assert.deepEqual(tags.trim().split('\n'), ['fa@1.0.0', 'fb@1.0.0'], 'missing tags are made')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a version that is computed from newer changes than the registry has is refused before a build', async () => {
  using repo = new Monorepo({
    packages: { ca: [] },
    fields: { ca: { scripts: { build: 'touch ../../.git/built' } } },
  })
  await publishManifests(repo, registry.url)
  const release = async (): ReturnType<typeof publishRelease> => {
    await using registries = await openRegistries({ folder: repo.root, npm: registry.url, env: {} })
    const plan = await planFromCommits(await readWorkspace(repo.root))
    return await publishRelease(plan, { registryOf: registries.registryOf, smoke: false })
  }
  repo.write('packages/ca/index.js', '1\n')
  repo.commit('feat: one')
  assert.equal((await release()).ok, true)
  repo.git('tag', '--delete', 'ca@1.1.0')
  rmSync(path.join(repo.root, '.git/built'))
  repo.write('packages/ca/index.js', '2\n')
  repo.commit('feat: two')
  const report = await release()
  assert.equal(report.ok, false)
  assert.deepEqual(outcomesOf(report), { ca: 'conflict' })
  assert.equal(report.packages[0]!.problems[0]!.code, 'HDL_VERSION_TAKEN')
  assert.throws(() => rmSync(path.join(repo.root, '.git/built')), /ENOENT/)
})

test('a dist-tag that the registry left on the version before is moved', async () => {
  using repo = new Monorepo({ packages: { da: [] } })
  await publishManifests(repo, registry.url)
  repo.write('packages/da/package.json', { name: 'da', version: '1.1.0' })
  repo.commit('1.1.0')
  await using registries = await openRegistries({ folder: repo.root, npm: registry.url, env: {} })
  const plan = await planFromManifests(await readWorkspace(repo.root))
  const real = registries.registryOf(plan.packages.get('da')!)
  const upload: Registry['upload'] = async (...args) => {
    const answer = await real.upload(...args)
    await real.setTag('da', 'latest', '1.0.0')
    return answer
  }
  const late = new Proxy(real, {
    get: (target, key) => {
      if (key === 'upload') return upload
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  const report = await publishRelease(plan, { registryOf: () => late, smoke: false })
  assert.equal(report.ok, true, JSON.stringify(report.packages))
  assert.equal((await real.tags('da')).get('latest'), '1.1.0')
})

test('O1 two branches made the same version: the second one is refused, not taken for published', async () => {
  using repo = new Monorepo({ packages: { oa: [], ob: [] } })
  await publishManifests(repo, registry.url)
  const raise = (text: string): void => {
    repo.write('packages/oa/package.json', { name: 'oa', version: '1.1.0', main: 'index.js' })
    repo.write('packages/oa/index.js', text)
    repo.commit('Release oa@1.1.0\n\nHeddle-Versions: oa@1.1.0')
  }
  repo.git('switch', '--quiet', '--create', 'other')
  raise('of the other branch\n')
  repo.git('switch', '--quiet', 'main')
  raise('of main\n')
  assert.equal((await publishManifests(repo, registry.url)).ok, true)
  repo.git('switch', '--quiet', 'other')
  // A dry run ends with the same outcomes.
  const rehearsed = await publishManifests(repo, registry.url, { dryRun: true })
  assert.deepEqual(outcomesOf(rehearsed), { oa: 'conflict', ob: 'already-published' })
  const report = await publishManifests(repo, registry.url)
  assert.deepEqual(outcomesOf(report), { oa: 'conflict', ob: 'already-published' })
  assert.equal(report.packages[0]!.problems[0]!.code, 'HDL_VERSION_TAKEN')
  // The same files in another commit, as after a rebase, are the same release.
  repo.git('switch', '--quiet', '--create', 'rebased', 'main~1')
  raise('of main\n')
  repo.git('commit', '--quiet', '--amend', '--no-edit', '--date=2020-01-01T00:00:00Z')
  const again = await publishManifests(repo, registry.url)
  assert.equal(again.ok, true, JSON.stringify(again.packages))
})

/** `needs` is the branch's range of the package that the other one pins: their own folders do not show it. */
function raiseBoth(
  repo: Monorepo,
  [pinned, pinning]: readonly [string, string],
  needs: string,
): void {
  repo.write(`packages/${pinned}/package.json`, { name: pinned, version: needs, main: 'index.js' })
  repo.write(`packages/${pinning}/package.json`, {
    name: pinning,
    version: '1.0.1',
    main: 'index.js',
    dependencies: { [pinned]: 'workspace:*' },
  })
  const made = `${pinned}@${needs} ${pinning}@1.0.1`
  repo.commit(`Release ${made}\n\nHeddle-Versions: ${made}`)
}

test('O1 two branches made the same version with the same files and another workspace range: it is refused', async () => {
  using repo = new Monorepo({ packages: { ra: [], rb: ['ra'], rc: [] } })
  await publishManifests(repo, registry.url)
  repo.git('switch', '--quiet', '--create', '1.x')
  raiseBoth(repo, ['ra', 'rb'], '1.0.1')
  repo.git('switch', '--quiet', 'main')
  raiseBoth(repo, ['ra', 'rb'], '2.0.0')
  repo.git('switch', '--quiet', '1.x')
  assert.equal((await publishManifests(repo, registry.url)).ok, true)
  repo.git('switch', '--quiet', 'main')
  const report = await publishManifests(repo, registry.url)
  assert.deepEqual(outcomesOf(report), { ra: 'blocked', rb: 'conflict', rc: 'already-published' })
  const { problems } = report.packages.find(({ name }) => name === 'rb')!
  assert.equal(problems[0]!.code, 'HDL_VERSION_TAKEN')
})

test('O1 a squashed release stays the same when a version it pins changes: that is a warning', async () => {
  using repo = new Monorepo({ packages: { qa: [], qb: ['qa'] } })
  await publishManifests(repo, registry.url)
  repo.git('switch', '--quiet', '--create', 'release')
  raiseBoth(repo, ['qa', 'qb'], '1.0.1')
  assert.equal((await publishManifests(repo, registry.url)).ok, true)
  repo.git('switch', '--quiet', 'main')
  raiseBoth(repo, ['qa', 'qb'], '1.0.1')
  repo.git('commit', '--quiet', '--amend', '--no-edit', '--date=2020-01-01T00:00:00Z')
  assert.deepEqual((await publishManifests(repo, registry.url)).warnings, [])
  repo.write('packages/qa/package.json', { name: 'qa', version: '1.0.2', main: 'index.js' })
  repo.commit('qa 1.0.2')
  const report = await publishManifests(repo, registry.url)
  assert.deepEqual(outcomesOf(report), { qa: 'published', qb: 'already-published' })
  assert.deepEqual(report.warnings, [
    'Changed since they were published, with the same version: qb.',
  ])
})

test('O3 a range that still allows the released version is not a change; a catalog with a different range is', async () => {
  using repo = new Monorepo({
    packages: { la: [], lb: ['la'], lc: [] },
    fields: { lc: { peerDependencies: { react: 'catalog:' } } },
  })
  const root = { name: 'root', private: true, workspaces: ['packages/*'] }
  repo.write('package.json', { ...root, catalog: { react: '^18.0.0' } })
  repo.commit('a catalog')
  await publishManifests(repo, registry.url)
  repo.write('packages/la/package.json', { name: 'la', version: '1.0.1', main: 'index.js' })
  repo.commit('la 1.0.1')
  assert.deepEqual((await publishManifests(repo, registry.url)).warnings, [])
  repo.write('package.json', { ...root, catalog: { react: '^19.0.0' } })
  repo.commit('another catalog')
  const { warnings } = await publishManifests(repo, registry.url)
  assert.deepEqual(warnings, ['Changed since they were published, with the same version: lc.'])
})

test('O2 a first release by commits whose version is published, without its tag, is refused when it has changed', async () => {
  using repo = new Monorepo({ packages: { wa: [], wb: [] } })
  await publishManifests(repo, registry.url)
  for (const name of ['wa@1.0.0', 'wb@1.0.0']) repo.git('tag', '--delete', name)
  repo.write('packages/wa/index.js', 'important\n')
  repo.commit('fix: important')
  await using registries = await openRegistries({ folder: repo.root, npm: registry.url, env: {} })
  const plan = await planFromCommits(await readWorkspace(repo.root))
  const report = await publishRelease(plan, { registryOf: registries.registryOf, smoke: false })
  assert.deepEqual(outcomesOf(report), { wa: 'conflict', wb: 'already-published' })
})

test('O3 a package that has changed under a published version is named in a warning', async () => {
  using repo = new Monorepo({ packages: { ka: [], kb: [] } })
  await publishManifests(repo, registry.url)
  repo.write('packages/kb/index.js', 'changed\n')
  repo.commit('kb')
  const { ok, warnings } = await publishManifests(repo, registry.url)
  assert.equal(ok, true)
  assert.deepEqual(warnings, ['Changed since they were published, with the same version: kb.'])
})

test('a tag that only the remote has, on another commit, ends a release with push before a build', async () => {
  using repo = new Monorepo({ packages: { pa: [] } })
  const remote = mkdtempSync(path.join(os.tmpdir(), 'heddle-remote-'))
  try {
    repo.git('init', '--quiet', '--bare', remote)
    repo.git('remote', 'add', 'origin', remote)
    repo.git('tag', '--annotate', '--message', 'pa', 'pa@1.0.0')
    repo.git('push', '--quiet', 'origin', 'pa@1.0.0')
    repo.git('tag', '--delete', 'pa@1.0.0')
    repo.write('packages/pa/index.js', 'later\n')
    repo.commit('later')
    repo.git('push', '--quiet', 'origin', 'main')
    const report = await publishManifests(repo, registry.url, { push: 'origin' })
    assert.equal(report.packages[0]!.problems[0]!.code, 'HDL_TAG_TAKEN')
    assert.equal((await fetch(`${registry.url}/pa/1.0.0`)).status, 404)
  } finally {
    rmSync(remote, { recursive: true, force: true })
  }
})

test('packages that the smoke test only installs must exist', async () => {
  using repo = new Monorepo({ packages: { sa: [] } })
  await assert.rejects(
    publishManifests(repo, registry.url, { installOnly: ['sb'] }),
    (error) => isError(error, 'HDL_BAD_OPTION') && /smoke\.installOnly/.test(error.message),
  )
})

test('a version on the registry without a Git tag is named, where releases have tags', async () => {
  using repo = new Monorepo({ packages: { ua: [] } })
  await publishManifests(repo, registry.url, { tag: false })
  repo.write('packages/ub/package.json', { name: 'ub', version: '1.0.0' })
  repo.commit('ub')
  const report = await publishManifests(repo, registry.url)
  assert.deepEqual(outcomesOf(report), { ua: 'already-published', ub: 'published' })
  assert.match(report.warnings.join('\n'), /without a Git tag: ua@1\.0\.0\./)
  assert.doesNotMatch(report.warnings.join('\n'), /ub@1/)
})

test('a tag on another commit than the one that is published ends the release before a build', async () => {
  using repo = new Monorepo({ packages: { ga: [] } })
  repo.git('tag', 'ga@1.0.0')
  repo.write('packages/ga/index.js', 'later\n')
  repo.commit('later')
  const report = await publishManifests(repo, registry.url)
  assert.equal(report.packages[0]!.problems[0]!.code, 'HDL_TAG_TAKEN')
  assert.equal((await fetch(`${registry.url}/ga/1.0.0`)).status, 404)
})

test('changed since an upload that was cut short: a version that another release published in between is a conflict', async () => {
  using repo = new Monorepo({ packages: { xa: [] } })
  using other = new Monorepo({ packages: { xa: [] }, fields: { xa: { license: 'MIT' } } })
  const rules = [{ method: 'PUT', status: 503 }]
  await using proxy = await startFaultProxy({ target: registry.url, rules })
  await publishManifests(repo, proxy.url, { retries: 0 })
  await publishManifests(other, registry.url)
  const report = await publishManifests(repo, registry.url.replace(registry.url, proxy.url))
  assert.deepEqual(outcomesOf(report), { xa: 'conflict' })
})

test('the note of versions that were cut short is finished before anything is published', async () => {
  using repo = new Monorepo({ packages: { va: [] } })
  const { hashOf } = await import('../../src/version/write-files.ts')
  const file = 'packages/va/package.json'
  repo.git('config', 'user.name', 'Somebody')
  repo.git('config', 'user.email', 'somebody@example.com')
  const text = execFileSync('cat', [path.join(repo.root, file)], { encoding: 'utf8' })
  const versioned = text.replace('1.0.0', '1.1.0')
  repo.write('.git/heddle/version.json', {
    base: repo.git('rev-parse', 'HEAD').trim(),
    message: 'Release va@1.1.0',
    files: [{ file, before: hashOf(text), after: versioned }],
  })
  await assert.rejects(
    publishManifests(repo, registry.url),
    (error) => error instanceof HeddleError && error.code === 'HDL_PLAN_STALE',
  )
  const report = await publishManifests(repo, registry.url)
  assert.equal(report.packages[0]!.version, '1.1.0')
  assert.equal(repo.status, '')
})

test('notes need tags, and a remote that gets them', async () => {
  using repo = new Monorepo({ packages: { 'notes-only': [] } })
  const forge = {
    url: 'http://127.0.0.1:1',
    announce: () => Promise.reject(new Error('is not called')),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
  for (const options of [{}, { push: 'origin', tag: false }, { dryRun: true }]) {
    await assert.rejects(
      publishManifests(repo, registry.url, { ...options, forge }),
      (error) => isError(error, 'HDL_PREFLIGHT') && /notes: they belong to/.test(error.message),
    )
  }
  assert.equal((await fetch(`${registry.url}/notes-only/1.0.0`)).status, 404)
})
