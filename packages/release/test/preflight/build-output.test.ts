/** Which changes of the work tree belong to a release, and which are edits. */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { startFaultProxy, type FaultProxy } from '../../src/testing/fault-proxy.ts'
import { startVerdaccio, type Verdaccio } from '../../src/testing/verdaccio.ts'
import { Monorepo } from '../support/monorepo.ts'
import { outcomesOf, publishManifests } from '../support/publish.ts'

let registry: Verdaccio
before(async () => {
  registry = await startVerdaccio()
})
after(() => registry.close())

/** Publishes once to a registry that refuses `name`. */
async function failOnce(repo: Monorepo, name: string): Promise<FaultProxy> {
  const rules = [{ method: 'PUT', package: name, status: 400 }]
  const proxy = await startFaultProxy({ target: registry.url, rules })
  const report = await publishManifests(repo, proxy.url)
  assert.equal(outcomesOf(report)[name], 'failed')
  proxy.rules.clear()
  return proxy
}

test('BO2 a file that appears between two calls of a release is refused', async () => {
  const scripts = { build: 'node -p 1 > made.txt' }
  using repo = new Monorepo({ packages: { oa: [], ob: ['oa'] }, fields: { ob: { scripts } } })
  await using proxy = await failOnce(repo, 'ob')
  repo.write('packages/ob/secret.txt', 'secret')
  await assert.rejects(
    publishManifests(repo, proxy.url),
    /differs from its commit in packages\/ob\/secret.txt/,
  )
  rmSync(path.join(repo.root, 'packages/ob/secret.txt'))
  repo.write('packages/ob/made.txt', 'edited')
  await assert.rejects(publishManifests(repo, proxy.url), /made\.txt/)
  repo.write('packages/ob/made.txt', '1\n')
  const report = await publishManifests(repo, proxy.url)
  assert.deepEqual(outcomesOf(report), { oa: 'published', ob: 'published' })
})

test('BO2 tracked files that a build has rewritten do not stop the same command', async () => {
  const scripts = { build: 'node -p "process.hrtime.bigint()" > made.js' }
  using repo = new Monorepo({ packages: { oc: [] }, fields: { oc: { scripts } } })
  repo.write('packages/oc/made.js', '0\n')
  repo.commit('made.js')
  await using proxy = await failOnce(repo, 'oc')
  assert.match(repo.status, /M packages\/oc\/made.js/)
  const report = await publishManifests(repo, proxy.url)
  assert.deepEqual(outcomesOf(report), { oc: 'published' })
})

test('a file that is edited while the release runs is not published', async () => {
  const scripts = { build: 'echo edited > ../oe/index.js' }
  using repo = new Monorepo({ packages: { od: [], oe: ['od'] }, fields: { od: { scripts } } })
  const report = await publishManifests(repo, registry.url)
  assert.deepEqual(outcomesOf(report), { od: 'published', oe: 'failed' })
  assert.equal(report.packages[1]!.problems[0]!.code, 'HDL_TREE_DIRTY')
  assert.equal((await fetch(`${registry.url}/oe/1.0.0`)).status, 404)
})
