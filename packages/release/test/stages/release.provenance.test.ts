/** Provenance and trusted publishing, against stand-ins for the build service, Fulcio and Rekor. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import { planFromManifests } from '../../src/plan/from-manifests.ts'
import { openRegistries } from '../../src/registry/open-registries.ts'
import type { ReleaseReport } from '../../src/report/report.ts'
import { publishRelease } from '../../src/stages/release.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { startBuildService } from '../support/build-service.ts'
import { Monorepo } from '../support/monorepo.ts'
import { startPaperRegistry } from '../support/paper-registry.ts'

type Env = Readonly<Record<string, string>>

async function publish(repo: Monorepo, url: string, env: Env): Promise<ReleaseReport> {
  await using registries = await openRegistries({ folder: repo.root, npm: url, env })
  const plan = await planFromManifests(await readWorkspace(repo.root))
  const { registryOf } = registries
  return await publishRelease(plan, { registryOf, smoke: false, settle: 50, env })
}

const withProvenance = (more: object = {}): Monorepo =>
  new Monorepo({
    packages: { signed: [] },
    fields: { signed: { publishConfig: { provenance: true, ...more } } },
  })

test('publishConfig.provenance outside of a build service is refused, as npm refuses it', async () => {
  using repo = withProvenance({ access: 'public' })
  await using registry = await startPaperRegistry()
  for (const [env, said] of [
    [{}, /GitHub Actions and GitLab CI only/],
    [{ GITHUB_ACTIONS: 'true' }, /"write" access to the "id-token" permission/],
    [{ GITLAB_CI: 'true' }, /"SIGSTORE_ID_TOKEN" with "sigstore" audience/],
  ] as const) {
    await assert.rejects(publish(repo, registry.url, env), (error) => {
      assert.ok(isError(error, 'HDL_PREFLIGHT'))
      assert.match(error.message, said)
      return true
    })
  }
  assert.equal(registry.uploads.length, 0)
})

test('provenance=true in the .npmrc of the workspace asks for provenance too', async () => {
  using repo = new Monorepo({
    packages: { signed: [], unsigned: [] },
    fields: {
      signed: { publishConfig: { access: 'public' } },
      unsigned: { publishConfig: { access: 'public', provenance: false } },
    },
  })
  repo.write('.npmrc', 'provenance=true\n')
  repo.commit('ask for provenance')
  await using registry = await startPaperRegistry()
  await assert.rejects(publish(repo, registry.url, {}), (error) => {
    assert.ok(isError(error, 'HDL_PREFLIGHT'))
    assert.match(error.message, /GitHub Actions and GitLab CI only/)
    return true
  })
  assert.equal(registry.uploads.length, 0)
})

test('a package that is not public gets no provenance', async () => {
  using repo = withProvenance()
  await using service = await startBuildService()
  await using registry = await startPaperRegistry()
  await assert.rejects(publish(repo, registry.url, service.env), /signed is new or private/)
})

test('in a build service: the statement is signed, logged and sent; the token is exchanged', async () => {
  using repo = withProvenance({ access: 'public' })
  await using service = await startBuildService()
  const exchanges: (string | undefined)[] = []
  await using registry = await startPaperRegistry((method, url, { authorization }) => {
    if (method !== 'POST' || url !== '/-/npm/v1/oidc/token/exchange/package/signed')
      return undefined
    exchanges.push(authorization)
    return { token: 'minted-for-signed' }
  })
  // The libraries of npm and Sigstore read the environment of the process.
  Object.assign(process.env, service.env)
  const report = await publish(repo, registry.url, service.env)
  assert.equal(report.ok, true, JSON.stringify(report.packages))
  const [upload] = registry.uploads
  assert.equal(upload!.headers.authorization, 'Bearer minted-for-signed')
  assert.equal(exchanges.length, 1)
  const audience = Buffer.from(exchanges[0]!.split('.')[1]!, 'base64url').toString()
  assert.match(audience, /"aud":"npm:127\.0\.0\.1"/)
  const attached = upload!.sent._attachments['signed-1.0.0.sigstore']!
  assert.match(attached.content_type, /application\/vnd\.dev\.sigstore\.bundle/)
  const bundle = JSON.parse(attached.data) as { dsseEnvelope: { payload: string } }
  const statement = JSON.parse(Buffer.from(bundle.dsseEnvelope.payload, 'base64').toString()) as {
    subject: { name: string; digest: { sha512: string } }[]
    predicateType: string
  }
  assert.equal(statement.subject[0]!.name, 'pkg:npm/signed@1.0.0')
  assert.match(statement.predicateType, /slsa\.dev\/provenance/)
  const sha512 = Buffer.from(statement.subject[0]!.digest.sha512, 'hex').toString('base64')
  assert.equal(`sha512-${sha512}`, report.packages[0]!.integrity)
  assert.equal(service.entries.length, 1)
})

test('trusted publishing: the token that setup-node leaves in .npmrc, unset or unknown, does not stop it', async () => {
  await using service = await startBuildService()
  for (const token of ['${NODE_AUTH_TOKEN}', 'XXXXX-XXXXX-XXXXX-XXXXX']) {
    using repo = new Monorepo({ packages: { plain: [] } })
    await using registry = await startPaperRegistry((method, url) => {
      if (url === '/-/whoami') return 401
      return method === 'POST' && url.startsWith('/-/npm/v1/oidc/')
        ? { token: 'minted' }
        : undefined
    })
    const host = registry.url.replace('http:', '')
    repo.write('.npmrc', `${host}/:_authToken=${token}\n`)
    repo.commit('settings')
    const report = await publish(repo, registry.url, service.env)
    assert.equal(report.ok, true, JSON.stringify(report.packages))
    assert.equal(registry.uploads[0]!.headers.authorization, 'Bearer minted')
    await assert.rejects(publish(repo, registry.url, {}), { code: 'HDL_PREFLIGHT' })
  }
})
