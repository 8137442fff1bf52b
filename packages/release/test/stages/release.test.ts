/** Whole releases against a real registry, with realistic faults in between. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { HeddleError, type Run } from '@heddle/core'
import { publishRelease } from '../../src/stages/release.ts'
import type { ReleaseOptions } from '../../src/stages/release-options.ts'
import { planFromManifests } from '../../src/plan/from-manifests.ts'
import { openRegistries } from '../../src/registry/open-registries.ts'
import type { PackageReport, ReleaseReport } from '../../src/report/report.ts'
import { startFaultProxy, type FaultProxy } from '../../src/testing/fault-proxy.ts'
import type { FaultRule } from '../../src/testing/fault-rules.ts'
import { startPypi } from '../../src/testing/pypi.ts'
import { startVerdaccio, type Verdaccio } from '../../src/testing/verdaccio.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { Monorepo } from '../support/monorepo.ts'

let registry: Verdaccio
before(async () => {
  registry = await startVerdaccio()
})
after(() => registry.close())

/** Five packages with names that no other test has: the registry is shared. */
let released = 0
const letters = ['a', 'b', 'c', 'd', 'e']
function fivePackages(): { readonly repo: Monorepo; readonly of: (letter: string) => string } {
  const of = (letter: string): string => `${letter}${released}`
  released++
  const [a, b, c, d, e] = letters.map(of) as [string, string, string, string, string]
  return {
    repo: new Monorepo({ packages: { [a]: [], [b]: [a], [c]: [b], [d]: [], [e]: [d] } }),
    of,
  }
}

async function publish(
  repo: Monorepo,
  url: string,
  options: Partial<ReleaseOptions> = {},
): Promise<ReleaseReport> {
  await using registries = await openRegistries({ folder: repo.root, npm: url, env: {} })
  const plan = await planFromManifests(await readWorkspace(repo.root))
  // Awaited here: the registries are closed behind it.
  return await publishRelease(plan, {
    registryOf: registries.registryOf,
    smoke: false,
    retryBaseDelay: 1,
    settle: 50,
    ...options,
  })
}

const proxyWith = (...rules: FaultRule[]): Promise<FaultProxy> =>
  startFaultProxy({ target: registry.url, rules })

const outcomes = ({ packages }: ReleaseReport): Record<string, string> =>
  Object.fromEntries(packages.map(({ name, outcome }) => [name.slice(0, 1), outcome]))

const find = ({ packages }: ReleaseReport, name: string): PackageReport =>
  packages.find((each) => each.name === name)!

test('a release publishes in the order of dependencies, tags, and restores the tree', async () => {
  const { repo, of } = fivePackages()
  using _repo = repo
  await using proxy = await proxyWith()
  const report = await publish(repo, proxy.url)
  assert.equal(report.ok, true)
  assert.deepEqual(new Set(report.packages.map(({ outcome }) => outcome)), new Set(['published']))
  assert.deepEqual(
    repo.tags,
    letters.map((letter) => `${of(letter)}@1.0.0`),
  )
  assert.equal(repo.status, '')
  const uploads = proxy.log.filter(({ isUpload }) => isUpload).map(({ package: name }) => name)
  const order = (letter: string): number => uploads.indexOf(of(letter))
  assert.ok(order('a') < order('b') && order('b') < order('c') && order('d') < order('e'))
})

test('a second release of the same commit uploads nothing', async () => {
  const { repo } = fivePackages()
  using _repo = repo
  await publish(repo, registry.url)
  await using proxy = await proxyWith()
  const again = await publish(repo, proxy.url)
  assert.equal(again.ok, true)
  assert.deepEqual(
    outcomes(again),
    Object.fromEntries(letters.map((l) => [l, 'already-published'])),
  )
  assert.equal(proxy.log.filter(({ isUpload }) => isUpload).length, 0)
})

test('500 forever: its dependents are blocked, the rest is published; a rerun finishes it', async () => {
  const { repo, of } = fivePackages()
  using _repo = repo
  await using proxy = await proxyWith({ method: 'PUT', package: of('b'), status: 500 })
  const report = await publish(repo, proxy.url, { retries: 1 })
  assert.equal(report.ok, false)
  assert.deepEqual(outcomes(report), {
    a: 'published',
    b: 'failed',
    c: 'blocked',
    d: 'published',
    e: 'published',
  })
  assert.equal(find(report, of('c')).blockedBy, of('b'))
  assert.match(find(report, of('b')).problems[0]!.message, /500/)
  assert.equal(repo.status, '')

  proxy.rules.clear()
  const again = await publish(repo, proxy.url)
  assert.equal(again.ok, true)
  assert.deepEqual(repo.tags.length, 5)
  for (const letter of 'abcde') {
    assert.equal(proxy.uploads.get(`${of(letter)}@1.0.0`)?.accepted, 1, letter)
  }
})

test('a lost response: the registry is read, one upload, published', async () => {
  const { repo, of } = fivePackages()
  using _repo = repo
  await using proxy = await proxyWith({
    method: 'PUT',
    package: of('b'),
    status: 504,
    afterCommit: true,
    times: 1,
  })
  const report = await publish(repo, proxy.url)
  assert.equal(report.ok, true)
  assert.deepEqual(proxy.uploads.get(`${of('b')}@1.0.0`), { sent: 1, accepted: 1 })
  assert.ok(repo.tags.includes(`${of('b')}@1.0.0`))
})

test('a transient 409 is tried again, never taken for "already published"', async () => {
  const { repo, of } = fivePackages()
  using _repo = repo
  await using proxy = await proxyWith({
    method: 'PUT',
    package: of('b'),
    status: 409,
    body: { error: 'Failed to save packument. A common cause is if you try to publish too fast.' },
    times: 1,
  })
  const report = await publish(repo, proxy.url)
  assert.equal(report.ok, true)
  assert.equal(proxy.uploads.get(`${of('b')}@1.0.0`)?.accepted, 1)
})

test('a registry that refuses us: no second try, dependents blocked, a hint', async () => {
  const { repo, of } = fivePackages()
  using _repo = repo
  await using proxy = await proxyWith({ method: 'PUT', package: of('a'), status: 403 })
  const report = await publish(repo, proxy.url)
  assert.deepEqual(outcomes(report), {
    a: 'failed',
    b: 'blocked',
    c: 'blocked',
    d: 'published',
    e: 'published',
  })
  assert.equal(proxy.uploads.get(`${of('a')}@1.0.0`)?.sent, 1)
  assert.equal(find(report, of('a')).problems[0]!.code, 'HDL_REGISTRY_AUTH')
})

test('a version that does not show: accepted-not-visible, dependents wait for the next release', async () => {
  const { repo, of } = fivePackages()
  using _repo = repo
  await using proxy = await startFaultProxy({
    target: registry.url,
    visibleAfter: { [of('a')]: Infinity },
  })
  const report = await publish(repo, proxy.url, { visibilityBudget: 0 })
  assert.equal(report.ok, false)
  assert.deepEqual(outcomes(report), {
    a: 'accepted-not-visible',
    b: 'blocked',
    c: 'blocked',
    d: 'published',
    e: 'published',
  })
  proxy.showAll()
  const again = await publish(repo, proxy.url)
  assert.equal(again.ok, true)
  assert.equal(proxy.uploads.get(`${of('a')}@1.0.0`)?.accepted, 1)
})

test('a dry run packs and checks for real, and uploads nothing', async () => {
  const { repo } = fivePackages()
  using _repo = repo
  await using proxy = await proxyWith()
  const report = await publish(repo, proxy.url, { dryRun: true })
  assert.equal(report.ok, true)
  assert.ok(report.packages.every(({ integrity }) => integrity?.startsWith('sha512-')))
  assert.ok(proxy.log.every(({ method }) => method === 'GET'))
  assert.deepEqual(repo.tags, [])
  assert.equal(repo.status, '')
  const left = readdirSync(path.join(repo.root, '.git', 'heddle'), { recursive: true })
  assert.ok(
    left.every((file) => /^pins$|^packed$|\.lock$/.test(String(file))),
    left.join(),
  )
})

test('a dry run without a build refuses a package that was not built, as the release does', async () => {
  using repo = new Monorepo({
    packages: { unbuilt: [], built: ['unbuilt'] },
    fields: { unbuilt: { main: 'dist/index.js', types: 'dist/index.d.ts', files: ['dist'] } },
  })
  await using proxy = await proxyWith()
  const ways = [true, false].flatMap((dryRun) => [true, false].map((smoke) => ({ dryRun, smoke })))
  for (const { dryRun, smoke } of ways) {
    const options = { dryRun, build: false, smoke, tag: false } as const
    const report = await publish(repo, proxy.url, options)
    assert.equal(report.ok, false)
    const { outcome, problems } = find(report, 'unbuilt')
    assert.equal(outcome, 'failed')
    assert.equal(problems[0]!.stage, 'pack')
    assert.match(problems[0]!.message, /its archive lacks dist\/index\.js \("main"\)/)
    assert.equal(find(report, 'built').outcome, dryRun ? 'skipped' : 'blocked')
  }
  assert.equal(proxy.uploads.has('unbuilt@1.0.0'), false)
  const { ok, warnings } = await publish(repo, proxy.url, {
    dryRun: true,
    build: false,
    installOnly: ['unbuilt'],
  })
  assert.equal(ok, true, 'what Node does not import may lack it')
  assert.match(warnings.join(), /the archives lack: unbuilt: dist\/index\.js \("main"\), dist/)
})

test('a build that fails ends its package with its output; nothing of it is uploaded', async () => {
  const { repo, of } = fivePackages()
  using _repo = repo
  repo.write(`packages/${of('b')}/package.json`, {
    name: of('b'),
    version: '1.0.0',
    dependencies: { [of('a')]: 'workspace:^' },
    scripts: { build: 'echo no compiler here >&2; exit 3' },
  })
  repo.commit('a build')
  const report = await publish(repo, registry.url)
  const { outcome, problems } = find(report, of('b'))
  assert.equal(outcome, 'failed')
  assert.equal(problems[0]!.stage, 'build')
  assert.match(problems[0]!.message, /exit code 3.*no compiler here/s)
})

test('a local range is reported before anything is uploaded', async () => {
  const { repo, of } = fivePackages()
  using _repo = repo
  repo.write(`packages/${of('e')}/package.json`, {
    name: of('e'),
    version: '1.0.0',
    dependencies: { leftpad: 'file:../leftpad' },
  })
  repo.commit('a local range')
  await using proxy = await proxyWith()
  const report = await publish(repo, proxy.url)
  const { outcome, problems } = find(report, of('e'))
  assert.equal(outcome, 'failed')
  assert.equal(problems[0]!.code, 'HDL_LOCAL_RANGE')
  for (const letter of 'abcd') assert.equal(find(report, of(letter)).blockedBy, of('e'))
  assert.ok(proxy.log.every(({ isUpload }) => !isUpload))
})

test('while a release is under way another one is refused with its holder', async () => {
  const { repo } = fivePackages()
  using _repo = repo
  let refused: unknown
  const report = await publish(repo, registry.url, {
    onStart: ({ scheduler }) => {
      scheduler.pause()
      publish(repo, registry.url)
        .catch((error: unknown) => (refused = error))
        .finally(() => scheduler.resume())
    },
  })
  assert.equal(report.ok, true)
  assert.ok(refused instanceof HeddleError && refused.code === 'HDL_LOCKED')
  assert.match(refused.message, new RegExp(`${process.pid}`))
})

test('seed 000: with --pin in-place the build reads exact versions, and the tree is restored', async () => {
  const { repo, of } = fivePackages()
  using _repo = repo
  const seen = path.join(repo.root, '.git', 'seen')
  repo.write(`packages/${of('b')}/package.json`, {
    name: of('b'),
    version: '1.0.0',
    dependencies: { [of('a')]: 'workspace:^' },
    scripts: { build: `cp package.json '${seen}'` },
  })
  repo.commit('a build that reads its manifest')
  const report = await publish(repo, registry.url, { pin: 'in-place' })
  assert.equal(report.ok, true)
  const manifest = JSON.parse(readFileSync(seen, 'utf8')) as { dependencies: object }
  assert.deepEqual(manifest.dependencies, { [of('a')]: '1.0.0' })
  const answer = await fetch(`${registry.url}/${of('b')}/1.0.0`)
  const published = (await answer.json()) as { dependencies: object }
  assert.deepEqual(published.dependencies, { [of('a')]: '1.0.0' })
  assert.equal(repo.status, '')
})

test('G3 a version that was released from an earlier commit is left alone', async () => {
  const { repo, of } = fivePackages()
  using _repo = repo
  await publish(repo, registry.url)
  repo.write(`packages/${of('a')}/index.js`, 'changed, but not to be released yet\n')
  repo.write(`packages/${of('e')}/package.json`, { name: of('e'), version: '1.1.0' })
  repo.commit('a new version of e alone')
  const report = await publish(repo, registry.url)
  assert.equal(report.ok, true)
  assert.equal(find(report, of('a')).outcome, 'already-published')
  assert.equal(find(report, of('e')).outcome, 'published')
  assert.ok(repo.tags.includes(`${of('e')}@1.1.0`))
})

test('a cancel lets uploads finish, reports the published packages, and the next release finishes the rest', async () => {
  const { repo, of } = fivePackages()
  using _repo = repo
  await using proxy = await proxyWith()
  let run: Run | undefined
  const report = await publish(repo, proxy.url, {
    onStart: (started) => (run = started),
    observer: (event) => {
      if (
        event.type === 'node' &&
        event.name === `${of('a')} upload` &&
        event.state === 'running'
      ) {
        run!.scheduler.cancel()
      }
    },
  })
  assert.equal(report.ok, false)
  assert.equal(report.isCancelled, true)
  assert.equal(find(report, of('a')).outcome, 'published')
  assert.equal(find(report, of('c')).outcome, 'skipped')
  const again = await publish(repo, proxy.url)
  assert.equal(again.ok, true)
  for (const letter of 'abcde') {
    assert.equal(proxy.uploads.get(`${of(letter)}@1.0.0`)?.accepted, 1, letter)
  }
})

test('Python packages are built, uploaded once and found again', async () => {
  await using pypi = await startPypi()
  using repo = new Monorepo({ packages: {} })
  const project = (name: string, dependencies: readonly string[]): string =>
    [
      '[project]',
      `name = "${name}"`,
      'version = "0.3.0"',
      `dependencies = ${JSON.stringify(dependencies)}`,
      '[build-system]',
      'requires = ["hatchling"]',
      'build-backend = "hatchling.build"',
      '',
    ].join('\n')
  repo.write('pyproject.toml', '[tool.uv.workspace]\nmembers = ["python/*"]\n')
  repo.write('python/base/pyproject.toml', project('acme-base', []))
  repo.write('python/base/src/acme_base/__init__.py', 'x = 1\n')
  repo.write(
    'python/app/pyproject.toml',
    project('acme-app', ['acme-base[fast]>=0.1; python_version > "3"']),
  )
  repo.write('python/app/src/acme_app/__init__.py', 'import acme_base\n')
  repo.commit('python')
  await using registries = await openRegistries({ folder: repo.root, pypi: pypi.url, env: {} })
  const plan = await planFromManifests(await readWorkspace(repo.root))
  const { registryOf } = registries
  const report = await publishRelease(plan, { registryOf, settle: 50 })
  assert.deepEqual(
    report.packages.map(({ name, outcome, problems }) => [name, outcome, problems]),
    [
      ['acme-base', 'published', []],
      ['acme-app', 'published', []],
    ],
  )
  assert.equal(pypi.files.length, 4)
  const again = await publishRelease(plan, { registryOf, settle: 50 })
  assert.ok(again.packages.every(({ outcome }) => outcome === 'already-published'))
  assert.equal(pypi.files.length, 4)
})

test('a dist-tag that installers would take for a version is refused before anything is built', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  const workspace = await readWorkspace(repo.root)
  for (const tag of ['1.x', '1.0.0', '^2', 'a b', 'a/b']) {
    const plan = await planFromManifests(workspace, { distTag: tag })
    const registryOf = (): never => assert.fail('no registry is asked')
    await assert.rejects(publishRelease(plan, { registryOf }), { code: 'HDL_BAD_OPTION' }, tag)
  }
})
