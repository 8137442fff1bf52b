/** Releases as `heddle.release.json` says, from the commands that users type. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { json } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { startFaultProxy, startVerdaccio, type Verdaccio } from '@heddle/release/testing'
import { FlowRepository, outcomesOf } from './flow-kit.ts'

let registry: Verdaccio
before(async () => {
  registry = await startVerdaccio()
})
after(() => registry.close())

/** Packages by folder: `{ b: ['a'] }`, b depends on a. */
function repository(
  scope: string,
  packages: Readonly<Record<string, readonly string[]>>,
  config: object,
): FlowRepository {
  const repo = new FlowRepository(registry.url)
  repo.write('package.json', { name: 'root', private: true, workspaces: ['packages/*'] })
  repo.write('heddle.release.json', config)
  for (const [folder, needed] of Object.entries(packages)) {
    repo.write(`packages/${folder}/package.json`, {
      name: `${scope}/${folder}`,
      version: '1.0.0',
      dependencies: Object.fromEntries(needed.map((each) => [`${scope}/${each}`, 'workspace:^'])),
    })
  }
  repo.commit('feat: first')
  return repo
}

test('exclude, tag format, branches and order of the config; flags come first', async () => {
  const config = {
    exclude: ['@conf/x'],
    tagFormat: '{name}-v{version}',
    branches: ['main'],
    order: { '@conf/a': ['@conf/z'] },
  }
  using repo = repository('@conf', { a: [], x: [], z: [] }, config)
  const plan = JSON.parse((await repo.release('plan')).stdout) as {
    packages: { name: string; status: string; after: string[] }[]
  }
  const of = (name: string): unknown => {
    const found = plan.packages.find((each) => each.name === name)!
    return [found.status, found.after]
  }
  assert.deepEqual(of('@conf/a'), ['included', ['@conf/z']])
  assert.deepEqual(of('@conf/x'), ['excluded', []])
  repo.git('switch', '--quiet', '--create', 'side')
  const refused = await repo.release('publish')
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /branch: side is checked out\. Release from main/)
  const released = await repo.release('publish', '--branch', 'side')
  assert.deepEqual(outcomesOf(released), { '@conf/a': 'published', '@conf/z': 'published' })
  assert.deepEqual(repo.git('tag').trim().split('\n'), ['@conf/a-v1.0.0', '@conf/z-v1.0.0'])
})

test('a group in lockstep: its packages get the same version, other packages their own', async () => {
  const config = { from: 'commits', groups: [['@grp/{a,b}']] }
  using repo = repository('@grp', { a: [], b: [], c: ['b'], d: [] }, config)
  assert.equal((await repo.release('publish')).code, 0)
  repo.write('packages/a/x.js', '1\n')
  repo.commit('feat: x')
  const versioned = await repo.release('version')
  assert.equal(versioned.code, 0, versioned.stderr)
  const published = await repo.release('publish')
  assert.equal(published.code, 0, published.stderr)
  const versions = async (name: string): Promise<readonly string[]> =>
    (await repo.onRegistry(name)).versions
  assert.deepEqual(await versions('@grp/a'), ['1.0.0', '1.1.0'])
  assert.deepEqual(await versions('@grp/b'), ['1.0.0', '1.1.0'])
  assert.deepEqual(await versions('@grp/c'), ['1.0.0', '1.0.1'], 'it needs b')
  assert.deepEqual(await versions('@grp/d'), ['1.0.0'])
  assert.equal(repo.status, '')
})

test('each scope has a registry, and the dist-tag follows the branch', async () => {
  await using other = await startFaultProxy({ target: registry.url })
  const registries = { '@scoped': other.url, npm: registry.url }
  using repo = repository('@scoped', { a: [] }, { registries, distTags: { '1.x': 'line-1' } })
  repo.write('packages/plain/package.json', { name: 'plain-of-settings', version: '1.0.0' })
  repo.commit('plain')
  repo.git('switch', '--quiet', '--create', '1.x')
  const { code, stderr } = await repo.releaseAsConfigured('publish')
  assert.equal(code, 0, stderr)
  assert.deepEqual([...other.uploads.keys()], ['@scoped/a@1.0.0'])
  assert.equal((await repo.onRegistry('@scoped/a')).tags['line-1'], '1.0.0')
  assert.equal((await repo.onRegistry('plain-of-settings')).tags['line-1'], '1.0.0')
})

test('S1, S3 snapshots and canaries: versions of the commit, nothing else changes, a rerun uploads nothing', async () => {
  using repo = repository('@snap', { a: [], b: ['a'] }, {})
  assert.equal((await repo.release('publish')).code, 0)
  repo.write('.changeset/one.md', "---\n'@snap/a': minor\n---\n\nAdd x.\n")
  repo.commit('an intent')
  const first = await repo.release('publish', '--snapshot', 'pr-7')
  assert.equal(first.code, 0, first.stderr)
  const short = repo.git('rev-parse', 'HEAD').slice(0, 7)
  const [, version] = (await repo.onRegistry('@snap/a')).versions
  assert.match(version!, new RegExp(`^0\\.0\\.0-pr-7-\\d{14}-${short}$`))
  const a = await repo.onRegistry('@snap/a')
  assert.deepEqual(a.tags, { latest: '1.0.0', 'pr-7': version })
  const again = await repo.release('publish', '--snapshot', 'pr-7')
  assert.deepEqual(
    [again.code, outcomesOf(again)],
    [0, { '@snap/a': 'already-published' }],
    again.stderr,
  )
  const canary = await repo.release('publish', '--canary')
  assert.equal(canary.code, 0, canary.stderr)
  assert.match((await repo.onRegistry('@snap/a')).tags['canary']!, /^1\.1\.0-canary\.\d{14}\.g/)
  const all = await repo.release('publish', '--from', 'manifests', '--canary', 'next')
  assert.equal(all.code, 0, all.stderr)
  const next = (await repo.onRegistry('@snap/b')).tags['next']!
  assert.match(next, /^1\.0\.1-next\./)
  assert.deepEqual((await repo.onRegistry('@snap/b')).dependencies[next], { '@snap/a': next })
  assert.equal(repo.git('tag').trim(), '@snap/a@1.0.0\n@snap/b@1.0.0')
  assert.equal(repo.status, '')
  assert.match(repo.read('.changeset/one.md'), /Add x/)
  assert.equal((await repo.release('version', '--canary')).code, 2)
})

test('GitHub gets a release with the notes of each package, once', async () => {
  const made: Record<string, unknown>[] = []
  const server = http.createServer((request, response) => {
    const tag = decodeURIComponent(request.url!.split('/').at(-1)!)
    if (request.method === 'GET') {
      const isThere = made.some(({ tag_name: name }) => name === tag)
      return void response.writeHead(isThere ? 200 : 404).end('{}')
    }
    void json(request).then((body) => {
      made.push(body as Record<string, unknown>)
      response.writeHead(201).end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    using repo = repository('@noted', { a: [], b: ['a'] }, { notes: 'github' })
    const remote = path.join(repo.root, '.git/remote.git')
    execFileSync('git', ['init', '--quiet', '--bare', remote])
    repo.git('remote', 'add', 'origin', remote)
    repo.write('packages/a/CHANGELOG.md', '# a\n\n## 1.0.0\n\n- The first one.\n')
    repo.commit('notes')
    repo.git('push', '--quiet', 'origin', 'main')
    for (const more of [[], ['--dry-run']]) {
      const unable = await repo.release('publish', ...more)
      assert.equal(unable.code, 2)
      assert.match(unable.stderr, /notes: GITHUB_TOKEN is not set/)
    }
    Object.assign(repo.env, {
      GITHUB_TOKEN: 'secret',
      GITHUB_REPOSITORY: 'acme/all',
      GITHUB_API_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    })
    for (const _ of [1, 2]) {
      const { code, stderr, stdout } = await repo.release('publish')
      assert.equal(code, 0, stderr + stdout)
    }
    const commit = repo.git('rev-parse', 'HEAD').trim()
    const common = { target_commitish: commit, prerelease: false }
    assert.deepEqual(
      made.toSorted((x, y) => String(x['name']).localeCompare(String(y['name']))),
      [
        { ...common, tag_name: '@noted/a@1.0.0', name: '@noted/a 1.0.0', body: '- The first one.' },
        { ...common, tag_name: '@noted/b@1.0.0', name: '@noted/b 1.0.0', body: '' },
      ],
    )
    const tags = execFileSync('git', ['tag'], { cwd: remote, encoding: 'utf8' })
    assert.deepEqual(tags.trim().split('\n'), ['@noted/a@1.0.0', '@noted/b@1.0.0'])
  } finally {
    server.close()
    server.closeAllConnections()
  }
})

test('the smoke test imports each entry point', async () => {
  using repo = repository('@imp', { a: [] }, { smoke: { installOnly: ['@imp/browser'] } })
  const exports = { '.': './index.js', './part': './part.js' }
  repo.write('packages/a/package.json', { name: '@imp/a', version: '1.0.0', exports })
  repo.write('packages/a/index.js', '')
  repo.write('packages/a/part.js', `require('./missing.js')\n`)
  repo.write('packages/browser/package.json', { name: '@imp/browser', version: '1.0.0' })
  repo.write('packages/browser/index.js', 'window.open()\n')
  repo.commit('an entry point that lacks a file')
  repo.hasSmoke = true
  const { code, result } = await repo.release('publish')
  assert.equal(code, 1)
  const problems = result.packages.flatMap((each) =>
    (each as unknown as { problems: { stage: string; message: string }[] }).problems.map(
      ({ stage, message }) => `${each.name} ${stage} ${message}`,
    ),
  )
  assert.equal(problems.length, 1)
  assert.match(
    problems[0]!,
    /^@imp\/a smoke .*import of "@imp\/a\/part" failed: Cannot find module/,
  )
})

test('a name in both ecosystems: the flag or the config says which one is released', async () => {
  using repo = repository('@both', { a: [] }, {})
  repo.write('pyproject.toml', '[tool.uv.workspace]\nmembers = ["packages/*"]\n')
  repo.write('packages/b/package.json', { name: 'both-b', version: '1.0.0' })
  repo.write('packages/b/pyproject.toml', '[project]\nname = "both-b"\nversion = "2.0.0"\n')
  repo.commit('feat: both')
  const planned = async (...args: string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await repo.release('plan', ...args)
    assert.equal(code, 0, stderr)
    const { packages } = JSON.parse(stdout) as { packages: { name: string; version: string }[] }
    return packages.map(({ name, version }) => `${name}@${version}`)
  }
  const refused = await repo.release('plan')
  assert.equal(refused.code, 2)
  assert.match(
    refused.stderr,
    /"both-b" is taken by .*\. Add --ecosystem npm or --ecosystem python/,
  )
  assert.deepEqual(await planned('--ecosystem', 'python'), ['both-b@2.0.0'])
  repo.write('heddle.release.json', { ecosystem: 'python' })
  assert.deepEqual(await planned(), ['both-b@2.0.0'])
  assert.deepEqual(await planned('--ecosystem', 'npm'), [
    '@both/a@1.0.0',
    'both-b@1.0.0',
    'root@0.0.0',
  ])
})
