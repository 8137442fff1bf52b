/** What the registry gives out decides: archives that come late, differ, or were never stored. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startFaultProxy, type FaultProxy } from '../../src/testing/fault-proxy.ts'
import type { FaultRule } from '../../src/testing/fault-rules.ts'
import { startVerdaccio, type Verdaccio } from '../../src/testing/verdaccio.ts'
import { Monorepo } from '../support/monorepo.ts'
import { outcomesOf, publishManifests } from '../support/publish.ts'

let registry: Verdaccio
before(async () => {
  registry = await startVerdaccio()
})
after(() => registry.close())

const proxyWith = (...rules: FaultRule[]): Promise<FaultProxy> =>
  startFaultProxy({ target: registry.url, rules })

test('an archive that never comes: not published, dependents are blocked, the next call finishes', async () => {
  using repo = new Monorepo({ packages: { 'late-a': [], 'late-b': ['late-a'] } })
  await using proxy = await proxyWith({ path: /late-a-1\.0\.0\.tgz$/, status: 404 })
  const first = await publishManifests(repo, proxy.url, { visibilityBudget: 0 })
  assert.equal(first.ok, false)
  assert.deepEqual(outcomesOf(first), { 'late-a': 'accepted-not-visible', 'late-b': 'blocked' })
  assert.match(first.packages[0]!.problems[0]!.message, /does not show its archive/)
  proxy.rules.clear()
  const second = await publishManifests(repo, proxy.url)
  assert.equal(second.ok, true)
  assert.equal(proxy.uploads.get('late-a@1.0.0')?.sent, 1)
})

test('a node waits for an archive that comes late, and so do its dependents', async () => {
  using repo = new Monorepo({ packages: { 'soon-a': [], 'soon-b': ['soon-a'] } })
  await using proxy = await proxyWith({ path: /soon-a-1\.0\.0\.tgz$/, status: 404, times: 1 })
  const report = await publishManifests(repo, proxy.url)
  assert.equal(report.ok, true)
  const paths = proxy.log.map(({ path, isUpload }) => (isUpload ? `PUT ${path}` : path))
  const fetched = paths.lastIndexOf('/soon-a/-/soon-a-1.0.0.tgz')
  assert.ok(fetched < paths.indexOf('PUT /soon-b'), paths.join('\n'))
})

test('an archive with other bytes is a conflict, never published', async () => {
  using repo = new Monorepo({ packages: { 'wrong-a': [], 'wrong-b': ['wrong-a'] } })
  await using proxy = await proxyWith({ path: /wrong-a-1\.0\.0\.tgz$/, status: 200, body: 'x' })
  const report = await publishManifests(repo, proxy.url, { visibilityBudget: 0 })
  assert.equal(report.ok, false)
  assert.deepEqual(outcomesOf(report), { 'wrong-a': 'conflict', 'wrong-b': 'blocked' })
  assert.equal(report.packages[0]!.problems[0]!.code, 'HDL_ARCHIVE_DIFFERS')
})

test('201 and nothing stored: after the budget the next call uploads the same archive again', async () => {
  using repo = new Monorepo({ packages: { 'lost-a': [], 'lost-b': ['lost-a'] } })
  const lost = { method: 'PUT', package: 'lost-a', status: 201, body: { ok: true } }
  await using proxy = await proxyWith({ ...lost, times: 1 })
  const first = await publishManifests(repo, proxy.url, { visibilityBudget: 0 })
  assert.deepEqual(outcomesOf(first), { 'lost-a': 'accepted-not-visible', 'lost-b': 'blocked' })
  const second = await publishManifests(repo, proxy.url)
  assert.equal(second.ok, true, JSON.stringify(second.packages))
  assert.deepEqual(proxy.uploads.get('lost-a@1.0.0'), { sent: 2, accepted: 1 })
  assert.equal(second.packages[0]!.integrity, first.packages[0]!.integrity)
})
