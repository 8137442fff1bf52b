import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { planFromManifests } from '../../src/plan/from-manifests.ts'
import { openRegistries } from '../../src/registry/open-registries.ts'
import { publishRelease } from '../../src/stages/release.ts'
import { smokeInstall } from '../../src/stages/smoke.ts'
import { startVerdaccio } from '../../src/testing/verdaccio.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { Monorepo } from '../support/monorepo.ts'
import { startStub } from '../support/servers.ts'

test('a private registry gets the token of the workspace; its settings do not lead elsewhere', async () => {
  await using registry = await startVerdaccio()
  using repo = new Monorepo({ packages: {} })
  repo.write('packages/a/package.json', { name: '@smoke/a', version: '1.0.0' })
  repo.commit('add a')
  await using registries = await openRegistries({ folder: repo.root, npm: registry.url, env: {} })
  const plan = await planFromManifests(await readWorkspace(repo.root))
  await publishRelease(plan, { registryOf: registries.registryOf, smoke: false })

  await using closed = await startStub(async ({ url, headers }, response) => {
    if (headers.authorization !== 'Bearer known') return void response.writeHead(401).end()
    // With its own address configured, it answers with addresses that lead back here.
    const forwarded = { 'x-forwarded-proto': 'http', 'x-forwarded-host': headers.host! }
    const answer = await fetch(`${registry.url}${url}`, { headers: forwarded })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type')! })
    response.end(new Uint8Array(await answer.arrayBuffer()))
  })
  const { host } = new URL(closed.url)
  repo.write('.npmrc', `//${host}/:_authToken=known\n@smoke:registry=http://127.0.0.1:1/\n`)
  const where = { registry: closed.url, root: repo.root }
  const { signal } = new AbortController()
  await smokeInstall({ name: '@smoke/a', version: '1.0.0' }, where, signal)

  rmSync(`${repo.root}/.npmrc`)
  await assert.rejects(smokeInstall({ name: '@smoke/a', version: '1.0.0' }, where, signal), {
    code: 'HDL_COMMAND_FAILED',
  })
})

test('dependencies of a scoped package come from the registry of packages without a scope', async () => {
  await using ofScope = await startVerdaccio()
  await using others = await startVerdaccio()
  const release = async (
    repo: Monorepo,
    options: Partial<Parameters<typeof openRegistries>[0]>,
    smoke: boolean,
  ): Promise<boolean> => {
    await using registries = await openRegistries({ folder: repo.root, env: {}, ...options })
    const plan = await planFromManifests(await readWorkspace(repo.root))
    const { registryOf } = registries
    return (await publishRelease(plan, { registryOf, smoke })).ok
  }
  using first = new Monorepo({ packages: { needed: [] } })
  assert.equal(await release(first, { npm: others.url }, false), true)

  using repo = new Monorepo({ packages: {} })
  const dependencies = { needed: '^1.0.0' }
  repo.write('packages/a/package.json', { name: '@split/a', version: '1.0.0', dependencies })
  repo.commit('add a')
  const registries = { '@split': ofScope.url, npm: others.url }
  assert.equal(await release(repo, { registries }, true), true)
})
