/** Two-phase releases: everything is staged, then approved in the order of dependencies. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Run } from '@heddle/core'
import { planFromManifests } from '../../src/plan/from-manifests.ts'
import { npmRegistry } from '../../src/registry/npm/npm-registry.ts'
import { openRegistries } from '../../src/registry/open-registries.ts'
import type { ReleaseReport } from '../../src/report/report.ts'
import type { ReleaseOptions } from '../../src/stages/release-options.ts'
import { publishRelease } from '../../src/stages/release.ts'
import { startFaultProxy } from '../../src/testing/fault-proxy.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { until } from '../../../core/test/kernel/until.ts'
import { Monorepo } from '../support/monorepo.ts'
import { startStagingRegistry, type StagingRegistry } from '../support/staging-registry.ts'

async function publish(
  repo: Monorepo,
  url: string,
  options: Partial<ReleaseOptions> = {},
): Promise<ReleaseReport> {
  await using registries = await openRegistries({ folder: repo.root, npm: url, env: {} })
  const { registryOf } = registries
  const plan = await planFromManifests(await readWorkspace(repo.root))
  const all = { registryOf, staged: true, smoke: false, settle: 50, ...options }
  // Awaited here: the registries are closed behind it.
  return await publishRelease(plan, all)
}

const outcomes = ({ packages }: ReleaseReport): unknown[] =>
  packages.map(({ name, outcome }) => [name, outcome])

const posts = ({ calls }: StagingRegistry): string[] =>
  calls.filter(({ method }) => method === 'POST').map(({ path }) => path)

test('nothing is approved before everything is staged, and dependencies come first', async () => {
  await using server = await startStagingRegistry()
  using repo = new Monorepo({ packages: { a: [], b: ['a'], c: ['b'] } })
  const report = await publish(repo, server.url)
  assert.equal(report.ok, true, JSON.stringify(report.packages))
  const sent = posts(server)
  assert.ok(sent.slice(0, 3).every((path) => path.startsWith('/-/stage/package/')))
  assert.equal(sent.slice(3).filter((path) => path.endsWith('/approve')).length, 3)
  assert.equal(repo.tags.length, 3)
})

test('a rejected package blocks its dependents, and nothing else', async () => {
  await using server = await startStagingRegistry()
  using repo = new Monorepo({ packages: { a: [], b: ['a'], c: [] } })
  await using registry = npmRegistry({ url: server.url })
  let run: Run | undefined
  let rejected: Promise<void> | undefined
  const reject = async (): Promise<void> => {
    const [staged] = await registry.stages.list('a')
    await registry.stages.reject(staged!.id)
    run!.scheduler.resume()
  }
  const report = await publish(repo, server.url, {
    onStart: (started) => (run = started),
    observer: (event) => {
      if (event.type !== 'node' || event.name !== 'a upload' || event.state !== 'succeeded') return
      // Nothing starts from here on, so nothing is approved before it is rejected.
      run!.scheduler.pause()
      rejected = reject()
    },
  })
  await rejected
  assert.deepEqual(outcomes(report), [
    ['a', 'accepted-not-visible'],
    ['c', 'published'],
    ['b', 'accepted-not-visible'],
  ])
  assert.equal(report.packages[0]!.problems[0]!.stage, 'approve')
  assert.equal(report.packages[2]!.blockedBy, 'a')
})

test('an approval that happened and was not written down is found by the next release', async () => {
  await using server = await startStagingRegistry()
  await using proxy = await startFaultProxy({
    target: server.url,
    rules: [{ method: 'POST', path: '/approve', afterCommit: true, hang: true, times: 1 }],
  })
  using repo = new Monorepo({ packages: { a: [], b: ['a'] } })
  const giveUp = new AbortController()
  const first = publish(repo, proxy.url, { signal: giveUp.signal })
  await until(() => posts(server).some((path) => path.endsWith('/approve')))
  giveUp.abort()
  assert.equal((await first).isCancelled, true)
  const again = await publish(repo, proxy.url)
  assert.deepEqual(outcomes(again), [
    ['a', 'published'],
    ['b', 'published'],
  ])
  assert.equal(again.ok, true, JSON.stringify(again.packages))
})
