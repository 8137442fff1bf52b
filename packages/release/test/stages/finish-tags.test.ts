import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { Lease } from '../../src/lock/lease.ts'
import { planFromCommits } from '../../src/plan/from-commits.ts'
import { openRegistries } from '../../src/registry/open-registries.ts'
import type { ReleaseReport } from '../../src/report/report.ts'
import { publishRelease } from '../../src/stages/release.ts'
import { startVerdaccio, type Verdaccio } from '../../src/testing/verdaccio.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { Monorepo } from '../support/monorepo.ts'
import { outcomesOf, publishManifests } from '../support/publish.ts'

let registry: Verdaccio
before(async () => {
  registry = await startVerdaccio()
})
after(() => registry.close())

/** Ends the release as soon as a package is uploaded: before its tag is made. */
async function publishUntil(
  name: string,
  publish: (options: object) => Promise<ReleaseReport>,
): Promise<ReleaseReport> {
  const stop = new AbortController()
  return publish({
    signal: stop.signal,
    observer: (event: { type: string; name?: string; state?: string }) => {
      if (event.name === `${name} upload` && event.state === 'succeeded') stop.abort()
    },
  })
}

const commitOf = (repo: Monorepo, tag: string): string =>
  repo.git('rev-parse', `${tag}^{commit}`).trim()

test('FT2 a release that was ended before its tag, then a new commit: the tag is made where it belongs', async () => {
  using repo = new Monorepo({ packages: { fta: [], ftb: ['fta'] } })
  await publishUntil('fta', (options) => publishManifests(repo, registry.url, options))
  assert.deepEqual(repo.tags, [])
  const uploadedFrom = repo.git('rev-parse', 'HEAD').trim()
  repo.write('packages/ftb/index.js', 'later\n')
  repo.commit('later')
  const notices: string[] = []
  const onNotice = (text: string): void => void notices.push(text)
  const report = await publishManifests(repo, registry.url, { onNotice })
  assert.deepEqual(outcomesOf(report), { fta: 'already-published', ftb: 'published' })
  assert.deepEqual(repo.tags, ['fta@1.0.0', 'ftb@1.0.0'])
  assert.equal(commitOf(repo, 'fta@1.0.0'), uploadedFrom)
  assert.match(notices.join('\n'), /^made fta@1\.0\.0 on /)
})

test('FT2 a plan from commits is made again after such a tag', async () => {
  using repo = new Monorepo({ packages: { ftc: [] } })
  await publishManifests(repo, registry.url)
  const release = async (options: object = {}): Promise<ReleaseReport> => {
    await using registries = await openRegistries({ folder: repo.root, npm: registry.url, env: {} })
    const replan = async (): ReturnType<typeof planFromCommits> =>
      planFromCommits(await readWorkspace(repo.root))
    const { registryOf } = registries
    return await publishRelease(await replan(), { registryOf, replan, smoke: false, ...options })
  }
  repo.write('packages/ftc/index.js', '1\n')
  repo.commit('feat: one')
  await publishUntil('ftc', release)
  assert.deepEqual(repo.tags, ['ftc@1.0.0'])
  repo.write('packages/ftc/index.js', '2\n')
  repo.commit('fix: two')
  const report = await release()
  assert.equal(report.ok, true, JSON.stringify(report.packages))
  assert.deepEqual(repo.tags, ['ftc@1.0.0', 'ftc@1.1.0', 'ftc@1.1.1'])
  assert.equal(commitOf(repo, 'ftc@1.1.0'), repo.git('rev-parse', 'HEAD~1').trim())
})

test('FT1 a fresh clone makes the tags that a killed holder of the lease left unfinished, and no others', async () => {
  using repo = new Monorepo({ packages: { ftd: [], fte: [], ftf: [] } })
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-left-'))
  const git = (cwd: string, ...args: string[]): string =>
    execFileSync('git', args, { cwd, encoding: 'utf8', stdio: 'pipe' })
  try {
    const [remote, one, two] = ['remote.git', 'one', 'two'].map((each) => path.join(folder, each))
    git(folder, 'clone', '--quiet', '--bare', repo.root, remote!)
    for (const clone of [one!, two!]) git(folder, 'clone', '--quiet', remote!, clone)
    const head = repo.git('rev-parse', 'HEAD').trim()
    // Simulates a registry that does not keep the commit of a version, and a tool that published
    // `fte`.
    const published = { tag: false, lease: false, allowDirty: true } as const
    repo.write('packages/ftd/.npmignore', '')
    repo.write('packages/ftf/package.json', { name: 'ftf', version: '1.0.0', private: true })
    await publishManifests(repo, registry.url, published)
    const asleep = { clock: new VirtualClock(), random: seededRandom(1) }
    const own = path.join(one!, '.git/heddle')
    execFileSync('mkdir', ['-p', own])
    const options = { root: one!, folder: own, remote: 'origin', kernel: asleep }
    const killed = await Lease.take(options)
    await killed.record({ [head]: ['ftd@1.0.0', 'ftf@1.0.0'] })
    const notices: string[] = []
    const report = await publishManifests({ root: two! }, registry.url, {
      push: 'origin',
      leaseTtl: 400,
      onNotice: (text) => notices.push(text),
    })
    assert.equal(report.ok, true, JSON.stringify(report.packages))
    assert.deepEqual(outcomesOf(report), {
      ftd: 'already-published',
      fte: 'already-published',
      ftf: 'published',
    })
    assert.deepEqual(git(remote!, 'tag').trim().split('\n'), ['ftd@1.0.0', 'ftf@1.0.0'])
    assert.match(report.warnings.join('\n'), /without a Git tag: fte@1\.0\.0\./)
    await killed[Symbol.asyncDispose]()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
