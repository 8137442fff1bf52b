import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { npmRegistry } from '../../../src/registry/npm/npm-registry.ts'
import { stageOnce } from '../../../src/registry/stage-once.ts'
import { waitInstallable, waitVisible } from '../../../src/registry/visible.ts'
import { paperPackage } from '../../support/model-registry.ts'
import { startStub, type StubServer } from '../../support/servers.ts'
import { startStagingRegistry } from '../../support/staging-registry.ts'

const archive = 'what was packed'
const hash = (name: string, form: 'base64' | 'hex', content = archive): string =>
  createHash(name).update(content).digest(form)
const sri = (name: string, content = archive): string => `${name}-${hash(name, 'base64', content)}`

const ours = sri('sha512')
const theirs = sri('sha512', 'something else')

const paper = paperPackage()
const artifact = {
  ...paper.artifacts[0]!,
  integrity: ours,
  sha1: hash('sha1', 'hex'),
  sha256: hash('sha256', 'hex'),
}
const packed = { ...paper, artifacts: [artifact] }

/** A registry with the packed archive, which it describes with these hashes. */
function startHolder(dist: { integrity?: unknown; shasum?: string }): Promise<StubServer> {
  return startStub(({ url, headers }, response) => {
    if (url === '/a.tgz') return void response.end(archive)
    const tarball = `http://${headers.host}/a.tgz`
    response.end(JSON.stringify({ version: '1.0.0', dist: { ...dist, tarball } }))
  })
}

const same: [string, { integrity?: unknown; shasum?: string }][] = [
  ['two SHA-512, the second is ours', { integrity: `${theirs} ${ours}` }],
  ['two SHA-512, the first is ours', { integrity: `${ours} ${theirs}` }],
  ['options', { integrity: `${ours}?foo` }],
  ['several options', { integrity: `${theirs}?a?b=c ${ours}?foo?bar` }],
  ['spaces and line ends around the hashes', { integrity: `\n ${theirs}\t\n${ours} ` }],
  ['a weaker hash that is not ours', { integrity: `${sri('sha1', 'x')} ${ours}` }],
  ['an unknown algorithm', { integrity: `sha9999-xx ${ours}` }],
  ['SHA-256 alone', { integrity: sri('sha256') }],
  ['SHA-1 alone, as SRI', { integrity: sri('sha1') }],
  ['SHA-1 alone, as hexadecimal digits', { shasum: artifact.sha1 }],
  ['SHA-384 alone, which is compared by the archive', { integrity: sri('sha384') }],
  ['a hash that is not text', { integrity: 5, shasum: artifact.sha1 }],
]

for (const [what, dist] of same) {
  test(`R3: our own version is recognized: ${what}`, async () => {
    await using stub = await startHolder(dist)
    await using registry = npmRegistry({ url: stub.url })
    assert.equal((await registry.compare(packed)).is, 'ours')
    assert.equal((await waitVisible(registry, packed, { budget: 0 })).is, 'visible')
    assert.equal((await waitInstallable(registry, packed, { budget: 0 })).is, 'visible')
  })
}

const different: [string, { integrity?: unknown; shasum?: string }, string][] = [
  ['two SHA-512', { integrity: `${theirs} ${theirs}?foo` }, `${theirs} ${theirs}`],
  ['ours only in a weaker algorithm', { integrity: `${sri('sha256')} ${theirs}` }, theirs],
  ['ours only as SHA-1', { integrity: theirs, shasum: artifact.sha1 }, theirs],
  ['ours only as an option', { integrity: `${theirs}?${ours}` }, theirs],
]

for (const [what, dist, found] of different) {
  test(`R6: different content is a conflict: ${what}`, async () => {
    await using stub = await startHolder(dist)
    await using registry = npmRegistry({ url: stub.url })
    assert.deepEqual(await registry.compare(packed), { is: 'different', expected: ours, found })
  })
}

test('a version that waits for approval is recognised by any of its SHA-512 hashes', async () => {
  await using server = await startStagingRegistry()
  await using registry = npmRegistry({ url: server.url, token: 't' })
  const id = server.stage('a', '1.0.0', `${theirs} ${ours}?foo`)
  const result = await stageOnce(registry, packed, { distTag: 'latest' })
  assert.ok(result.is === 'staged')
  assert.equal(result.staged.id, id)
})
