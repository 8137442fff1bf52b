/** The parts of a release that a second call reuses, and those that it repeats. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { publishRelease } from '../../src/stages/release.ts'
import type { ReleaseOptions } from '../../src/stages/release-options.ts'
import { planFromManifests } from '../../src/plan/from-manifests.ts'
import { openRegistries } from '../../src/registry/open-registries.ts'
import type { ReleaseReport } from '../../src/report/report.ts'
import { startFaultProxy } from '../../src/testing/fault-proxy.ts'
import { startVerdaccio, type Verdaccio } from '../../src/testing/verdaccio.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { Monorepo } from '../support/monorepo.ts'

let registry: Verdaccio
before(async () => {
  registry = await startVerdaccio()
})
after(() => registry.close())

async function publish(
  repo: Monorepo,
  url: string,
  options: Partial<ReleaseOptions & { readonly distTag: string }> = {},
): Promise<ReleaseReport> {
  const { distTag, ...rest } = options
  await using registries = await openRegistries({ folder: repo.root, npm: url, env: {} })
  const workspace = await readWorkspace(repo.root)
  const plan = await planFromManifests(workspace, {
    ...(distTag !== undefined && { distTag }),
  })
  const { registryOf } = registries
  // Awaited here: the registries are closed behind it.
  return await publishRelease(plan, { registryOf, smoke: false, settle: 50, ...rest })
}

const outcomes = ({ packages }: ReleaseReport): unknown[] =>
  packages.map(({ name, outcome }) => [name, outcome])

async function textOnRegistry(name: string): Promise<string> {
  const answer = await fetch(`${registry.url}/${name}/1.0.0`)
  return ((await answer.json()) as { description: string }).description
}

for (const where of ['in a changed work tree', 'in a folder without Git'] as const) {
  test(`G4 ${where}, corrected files are uploaded`, async () => {
    const [a, b] = where.endsWith('Git') ? ['ra', 'rb'] : ['rc', 'rd']
    using repo = new Monorepo({ packages: { [a]: [], [b]: [a] } })
    if (where.endsWith('Git')) rmSync(path.join(repo.root, '.git'), { recursive: true })
    await using proxy = await startFaultProxy({
      target: registry.url,
      rules: [{ method: 'PUT', package: b, status: 400, body: { error: 'no description' } }],
    })
    const manifest = (name: string, description: string, dependencies = {}): void =>
      repo.write(`packages/${name}/package.json`, {
        name,
        version: '1.0.0',
        description,
        dependencies,
      })
    manifest(a, 'first')
    manifest(b, 'first', { [a]: 'workspace:^' })
    const first = await publish(repo, proxy.url, { allowDirty: true })
    assert.deepEqual(outcomes(first), [
      [a, 'published'],
      [b, 'failed'],
    ])
    proxy.rules.clear()
    manifest(b, 'corrected', { [a]: 'workspace:^' })
    const second = await publish(repo, proxy.url, { allowDirty: true })
    assert.deepEqual(outcomes(second), [
      [a, 'published'],
      [b, 'published'],
    ])
    assert.equal(await textOnRegistry(b), 'corrected')
    assert.equal(proxy.uploads.get(`${a}@1.0.0`)?.sent, 1)
  })
}

test('G4 at the same commit nothing is built or packed twice', async () => {
  using repo = new Monorepo({
    packages: { re: [], rf: ['re'] },
    fields: { rf: { scripts: { build: 'echo x >> ../../.git/builds' } } },
  })
  const rules = [{ method: 'PUT', package: 're', status: 403 }]
  await using proxy = await startFaultProxy({ target: registry.url, rules })
  await publish(repo, proxy.url)
  proxy.rules.clear()
  const packed: string[] = []
  const report = await publish(repo, proxy.url, {
    observer: (event) => {
      if (event.type === 'node' && event.state === 'running') packed.push(event.name)
    },
  })
  assert.equal(report.ok, true)
  assert.ok(packed.includes('re upload') && !packed.some((node) => /build|pack/.test(node)))
})

test('a release that is finished with a remote pushes the tags of its first run too', async () => {
  using repo = new Monorepo({ packages: { rp: [], rq: ['rp'] } })
  const remote = mkdtempSync(path.join(os.tmpdir(), 'heddle-remote-'))
  try {
    repo.git('init', '--quiet', '--bare', remote)
    repo.git('remote', 'add', 'origin', remote)
    repo.git('push', '--quiet', 'origin', 'main')
    const rules = [{ method: 'PUT', package: 'rq', status: 403 }]
    await using proxy = await startFaultProxy({ target: registry.url, rules })
    await publish(repo, proxy.url)
    proxy.rules.clear()
    assert.equal((await publish(repo, proxy.url, { push: 'origin' })).ok, true)
    const pushed = repo.git('ls-remote', '--tags', '--refs', 'origin')
    assert.match(pushed, /refs\/tags\/rp@1\.0\.0/)
    assert.match(pushed, /refs\/tags\/rq@1\.0\.0/)
    assert.equal(proxy.uploads.get('rp@1.0.0')?.sent, 1)
  } finally {
    rmSync(remote, { recursive: true, force: true })
  }
})

test('a release that ends well removes the archives of abandoned releases', async () => {
  using repo = new Monorepo({ packages: { rt: [] } })
  const rules = [{ method: 'PUT', status: 403 }]
  await using proxy = await startFaultProxy({ target: registry.url, rules })
  await publish(repo, proxy.url)
  const packed = path.join(repo.root, '.git/heddle/packed')
  assert.equal(readdirSync(packed).length, 1)
  proxy.rules.clear()
  repo.write('packages/rt/package.json', { name: 'rt', version: '1.0.1' })
  repo.commit('given up, and again')
  assert.equal((await publish(repo, proxy.url)).ok, true)
  assert.equal(existsSync(packed), false)
})

test('without its archives a release packs packages that are not uploaded, and leaves the others unchanged', async () => {
  // Builds that give something else every time are common.
  const scripts = { build: 'node -p "process.hrtime()" > out.txt' }
  using repo = new Monorepo({ packages: { rj: [], rk: ['rj'] }, fields: { rj: { scripts } } })
  repo.write('.gitignore', 'node_modules\n')
  repo.write('packages/rj/.npmignore', 'nothing\n')
  repo.write('.git/info/exclude', 'out.txt\n')
  const rules = [{ method: 'PUT', package: 'rk', status: 500 }]
  await using proxy = await startFaultProxy({ target: registry.url, rules })
  repo.commit('ignored output')
  await publish(repo, proxy.url, { retries: 0 })
  rmSync(path.join(repo.root, '.git/heddle/packed'), { recursive: true })
  proxy.rules.clear()
  const report = await publish(repo, proxy.url)
  assert.deepEqual(outcomes(report), [
    ['rj', 'published'],
    ['rk', 'published'],
  ])
  assert.equal(proxy.uploads.get('rj@1.0.0')?.sent, 1)
})

test('G2 an upload that was refused has ended: the next release does not wait for it to show', async () => {
  using repo = new Monorepo({ packages: { rg: [] } })
  const rules = [{ method: 'PUT', status: 401 }]
  await using proxy = await startFaultProxy({ target: registry.url, rules })
  await publish(repo, proxy.url)
  proxy.rules.clear()
  // An hour: if it waited, the test would not end.
  const report = await publish(repo, proxy.url, { settle: 3_600_000 })
  assert.deepEqual(outcomes(report), [['rg', 'published']])
})

test('a release of an older version never takes "latest" unasked, and nothing else is uploaded', async () => {
  using newer = new Monorepo({ packages: { rh: [] }, version: '2.0.0' })
  await publish(newer, registry.url)
  using repo = new Monorepo({ packages: { rh: [], ri: [] }, version: '1.9.0' })
  await using proxy = await startFaultProxy({ target: registry.url })
  const refused = await publish(repo, proxy.url)
  assert.deepEqual(outcomes(refused), [
    ['rh', 'failed'],
    ['ri', 'blocked'],
  ])
  assert.equal(refused.packages[0]!.problems[0]!.code, 'HDL_TAG_BACKWARDS')
  assert.ok(proxy.log.every(({ isUpload }) => !isUpload))

  const report = await publish(repo, proxy.url, { distTag: 'line-1' })
  assert.equal(report.ok, true)
  const tags: unknown = await (await fetch(`${registry.url}/-/package/rh/dist-tags`)).json()
  assert.deepEqual(tags, { latest: '2.0.0', 'line-1': '1.9.0' })
  // It is there now: releasing the same commit without the tag moves nothing.
  assert.equal((await publish(repo, proxy.url)).packages[0]!.outcome, 'already-published')
})
