/** Provenance and trusted publishing in GitLab CI. In a file of its own: npm's library looks once where it runs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planFromManifests } from '../../src/plan/from-manifests.ts'
import { openRegistries } from '../../src/registry/open-registries.ts'
import { publishRelease } from '../../src/stages/release.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { startBuildService } from '../support/build-service.ts'
import { Monorepo } from '../support/monorepo.ts'
import { startPaperRegistry } from '../support/paper-registry.ts'

test('trusted publishing on GitLab: no token is needed, and the provenance names the job', async () => {
  using repo = new Monorepo({
    packages: { signed: [] },
    fields: { signed: { publishConfig: { provenance: true, access: 'public' } } },
  })
  await using service = await startBuildService()
  await using registry = await startPaperRegistry((method, url, { authorization }) => {
    if (method !== 'POST' || !url.startsWith('/-/npm/v1/oidc/')) return undefined
    assert.equal(authorization, 'Bearer identity-of-the-job')
    return { token: 'minted-on-gitlab' }
  })
  const { SIGSTORE_FULCIO_URL, SIGSTORE_REKOR_URL } = service.env
  const payload = Buffer.from('{"sub":"job","aud":"sigstore"}').toString('base64url')
  const env = {
    GITLAB_CI: 'true',
    CI_PROJECT_URL: 'https://gitlab.com/acme/mono',
    CI_COMMIT_SHA: '0'.repeat(40),
    CI_JOB_URL: 'https://gitlab.com/acme/mono/-/jobs/1',
    SIGSTORE_ID_TOKEN: `e30.${payload}.x`,
    NPM_ID_TOKEN: 'identity-of-the-job',
    SIGSTORE_FULCIO_URL: SIGSTORE_FULCIO_URL!,
    SIGSTORE_REKOR_URL: SIGSTORE_REKOR_URL!,
  }
  // The libraries of npm and Sigstore read the environment of the process, once.
  Object.assign(process.env, env)
  delete process.env['GITHUB_ACTIONS']
  await using registries = await openRegistries({ folder: repo.root, npm: registry.url, env })
  const plan = await planFromManifests(await readWorkspace(repo.root))
  const { registryOf } = registries
  const report = await publishRelease(plan, { registryOf, smoke: false, settle: 50, env })
  assert.equal(report.ok, true, JSON.stringify(report.packages))
  const [upload] = registry.uploads
  assert.equal(upload!.headers.authorization, 'Bearer minted-on-gitlab')
  const bundle = JSON.parse(upload!.sent._attachments['signed-1.0.0.sigstore']!.data) as {
    dsseEnvelope: { payload: string }
  }
  const statement = Buffer.from(bundle.dsseEnvelope.payload, 'base64').toString()
  assert.match(statement, /gitlab\.com\/acme\/mono/)
})
